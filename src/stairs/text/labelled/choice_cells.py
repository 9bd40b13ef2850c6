"""The context and the choices of a row of multiple choice whose right answer nobody knows yet. Columns are found as in `choices.py`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from stairs.errors import BadInput
from stairs.text.labelled.choices import CONTEXT, QUESTION, ChoiceColumns, filled_cells, find_choices, listed_choices
from stairs.text.labelled.column_names import choose_named, likely_columns, list_columns, spellings
from stairs.text.labelled.text_columns import TextColumns
from stairs.text.tables import RecordTable
from stairs.text.tables.lines import input_error
from stairs.text.tables.rows import LineTable


class ChoiceCells(NamedTuple):
    table: RecordTable
    names: Sequence[str]  # of all columns
    chosen: ChoiceColumns

    @classmethod
    def find(cls, table: RecordTable | LineTable, names: Sequence[str], named: Mapping[str, str]) -> Self:
        """`named` are the columns that the user named: text is the context, second_column that of the choices, or several with commas between."""
        if isinstance(table, LineTable):
            raise BadInput(f"{table.name}: this run chooses between answers, so give a table with a context and its choices")
        given = [part.strip() for part in named.get("second_column", "").split(",") if part.strip()]
        choices = tuple(choose_named(table.name, table.line, names, part, "second-column") for part in given) or find_choices(table)
        rest = [name for name in names if name not in choices]
        contexts = [choose_named(table.name, table.line, names, named["text"], "text")] if "text" in named else likely_columns(rest, CONTEXT)
        for what, found, flag in (("context", contexts, "--text NAME"), ("choices", choices, "--second-column NAME,NAME")):
            if not found:
                raise input_error(table.name, table.line, f"no column for the {what} among {list_columns(names)}; name it with {flag}")
        question = next((name for name in rest if name != contexts[0] and set(spellings(name)) & set(QUESTION)), None)
        return cls(table, names, ChoiceColumns(contexts[0], None if "text" in named else question, choices, ""))

    @property
    def text_columns(self) -> TextColumns:
        return TextColumns(self.names.index(self.chosen.context))

    def question(self, cells: Sequence[Any]) -> str:
        """What is asked about the context; empty if nothing is."""
        return str(cells[self.names.index(self.chosen.question)] or "").strip() if self.chosen.question else ""

    def of_row(self, line: int, cells: Sequence[Any]) -> tuple[str, ...]:
        own = [cells[self.names.index(name)] for name in self.chosen.choices]
        if len(own) == 1:
            return listed_choices(self.table, line, self.chosen, own[0])[0]
        return filled_cells(self.table, line, self.chosen, own)
