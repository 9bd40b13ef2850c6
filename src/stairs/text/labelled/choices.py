"""Multiple choice out of the rows of a table: a context, the answers to choose from, and the right one.

    context     one column (context, startphrase, premise, ...); beside it there may be a question about it, which is read after it
    choices     a column for each (choice1 choice2, ending0 ending1, option_a option_b, A B C D), where the last ones may be empty; or one column
                with a list (choices, endings, options), or with {"text": [...], "label": [...]}
    the right   its number, its letter, or its text: whatever fits every row. Numbers count from 0 if one of them is 0, from 1 if one of them is
    one         the number of choices, and otherwise as the columns do
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from stairs.errors import preview
from stairs.text.examples import MultipleChoice, text_hash
from stairs.text.input_files import printable
from stairs.text.labelled.column_names import Columns, choose_named, columns_error, likely_columns, list_columns, parse_columns, spellings, word_list
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.table_examples import as_group, as_text
from stairs.text.tables import RecordTable, open_table
from stairs.text.tables.json_table import describe_type
from stairs.text.tables.lines import input_error

CONTEXT = tuple(map(word_list, (
    "context ctx startphrase premise passage article story prompt 上下文 文章 前提",
    "question goal sentence text 问题 题目",
)))  # fmt: skip
QUESTION = word_list("question 问题 题目")
RIGHT = tuple(map(word_list, ("label 标签", "answer answer_key answerkey right correct correct_answer gold target 答案 正确答案")))
LIST = word_list("choices endings options answers candidates alternatives 选项")
NUMBERED = re.compile(r"(choice|ending|option|answer|sol|solution|candidate|alternative|选项)_?(\d{1,2}|[a-h])")
LETTERS = "ABCDEFGH"
MIN_LETTER_COLUMNS = 3  # columns A and B alone are two texts to compare
By = Literal["text", "letter", "number from 0", "number from 1", "name"]


@dataclass(frozen=True)
class ChoiceColumns:
    """Where a table has its context, its choices and the right one."""

    context: str
    question: str | None  # about the context
    choices: tuple[str, ...]  # one column that holds them all, or one for each
    right: str

    @property
    def all(self) -> list[str]:
        return [self.context, *([self.question] if self.question else []), *self.choices, self.right]

    def description(self, by: By) -> str:
        context = " and ".join(repr(column) for column in (self.context, self.question) if column)
        return f"context from {context}, choices from {', '.join(map(repr, self.choices))}, the right one from {self.right!r} by its {by}"


class ChoiceRow(NamedTuple):
    line: int
    context: str
    choices: tuple[str, ...]
    names: tuple[str, ...]  # of the choices, where the row has some: {"text": [...], "label": ["A", ...]}
    right: object
    group: str  # that of a column, or the passage that several questions are about


def read_choices(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[MultipleChoice]]:
    """How the columns were chosen, in words, and the examples."""
    try:
        named = parse_columns(columns, "choose")
    except ValueError as error:
        raise columns_error(printable(path), columns, error) from None
    table = open_table(path, encoding)
    chosen = choose_columns(table, named)
    group_column = None if group is None else choose_named(table.name, table.line, table.columns, group, "group")
    by = how_right_is_given(table, chosen)
    description = chosen.description(by) + ("" if columns else " (guessed)")
    return description, choice_examples(table, chosen, by, notes, group_column)


def is_choice_table(table: RecordTable) -> bool:
    """Whether the names of the columns say that this is multiple choice."""
    choices, right = find_choices(table), likely_columns(table.columns, RIGHT)
    rest = [column for column in table.columns if column not in (*choices, *right)]
    return bool(choices and right and likely_columns(rest, CONTEXT))


def choose_columns(table: RecordTable, named: Mapping[str, str]) -> ChoiceColumns:
    """The columns that the user named, the others by their names."""

    def resolve(name: str, flag: str) -> str:
        return choose_named(table.name, table.line, table.columns, name, flag)

    if "choices" in named:
        one = named["choices"]
        parts = [one] if one in table.columns else [part.strip() for part in one.split(",")]
        choices = tuple(resolve(part, "second-column") for part in parts)
    else:
        choices = find_choices(table)
    rest = [column for column in table.columns if column not in choices]
    rights = [resolve(named["label"], "label")] if "label" in named else likely_columns(rest, RIGHT)
    rest = [column for column in rest if column not in rights]
    contexts = [resolve(named["context"], "text")] if "context" in named else likely_columns(rest, CONTEXT)
    for what, found, flag in (("context", contexts, "text"), ("choices", choices, "second-column"), ("right answer", rights, "label")):
        if not found:
            several = ", or --second-column=NAME,NAME for a column each" if flag == "second-column" else ""
            advice = f"name it with --{flag}=NAME{several}"
            raise input_error(table.name, table.line, f"no column for the {what} among {list_columns(table.columns)}; {advice}")
    question = next((column for column in rest if column != contexts[0] and set(spellings(column)) & set(QUESTION)), None)
    return ChoiceColumns(contexts[0], None if "context" in named else question, choices, rights[0])


def find_choices(table: RecordTable) -> tuple[str, ...]:
    """The columns of the choices by their names, in order; or the one that holds them all."""
    stems: dict[str, list[str]] = {}
    for column in table.columns:
        if match := NUMBERED.fullmatch(spellings(column)[-1]):
            stems.setdefault(match[1], []).append(column)
    for own in stems.values():
        if len(own) > 1:
            return tuple(sorted(own, key=lambda column: (len(column), column.casefold())))
    letters = [letter for letter in LETTERS if letter in table.columns]
    if len(letters) >= MIN_LETTER_COLUMNS and letters == list(LETTERS[: len(letters)]):
        return tuple(letters)
    lists = [column for column in table.columns if spellings(column)[-1] in LIST]
    first: dict[str, Any] = dict(zip(table.columns, next(table.select_columns(table.columns), (0, []))[1], strict=False)) if lists else {}
    return tuple([column for column in lists if isinstance(first.get(column), list | Mapping)][:1])


def choice_rows(table: RecordTable, chosen: ChoiceColumns, group: str | None = None) -> Iterator[ChoiceRow]:
    """Every row, with checked choices."""
    contexts = 2 if chosen.question else 1
    for line, values in table.select_columns([*chosen.all, *([group] if group else [])]):
        parts = [as_text(table.name, line, column, value).strip() for column, value in zip(chosen.all[:contexts], values[:contexts], strict=True)]
        cells = values[contexts : contexts + len(chosen.choices)]
        choices, names = listed_choices(table, line, chosen, cells[0]) if len(chosen.choices) == 1 else (filled_cells(table, line, chosen, cells), ())
        if len(choices) < 2:
            advice = "give at least two, or remove the row"
            raise input_error(table.name, line, f"{len(choices) or 'no'} choice{'' if len(choices) == 1 else 's'} to choose from; {advice}")
        right = values[contexts + len(chosen.choices)]
        own_group = as_group(table.name, line, group, values[-1]) if group else text_hash(parts[0]).hex() if chosen.question else ""
        yield ChoiceRow(line, " ".join(filter(None, parts)), choices, names, right, own_group)


def filled_cells(table: RecordTable, line: int, chosen: ChoiceColumns, cells: Sequence[Any]) -> tuple[str, ...]:
    """The choices of a row with a column for each: the last cells may be empty, where others have more."""
    texts = ["" if cell is None else as_cell(table, line, column, cell) for column, cell in zip(chosen.choices, cells, strict=True)]
    while texts and not texts[-1]:
        texts.pop()
    if "" in texts:
        empty = chosen.choices[texts.index("")]
        raise input_error(table.name, line, f"the choice {preview(empty)} is empty and a later one is not; write what it says, or move the others up")
    return tuple(texts)


def as_cell(table: RecordTable, line: int, column: str, cell: object) -> str:
    """A choice may be a number."""
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    return str(cell) if is_number else as_text(table.name, line, column, cell).strip()


def listed_choices(table: RecordTable, line: int, chosen: ChoiceColumns, cell: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The choices of a row that has them in one list, and their names if it has some."""
    column = chosen.choices[0]
    fields = cell if isinstance(cell, Mapping) else {"text": cell}
    texts, names = fields.get("text"), fields.get("label") or []
    if not isinstance(texts, list) or not isinstance(names, list) or (names and len(names) != len(texts)):
        fault = f"the choices {preview(column)} are {describe_type(cell)}"
        raise input_error(table.name, line, f"{fault}, not a list of texts; give a list, or a column for each")
    choices = tuple(as_cell(table, line, column, text) for text in texts)
    if "" in choices:
        raise input_error(table.name, line, f"choice {choices.index('') + 1} of {preview(column)} is empty; write what it says, or remove it")
    return choices, tuple(str(name).strip() for name in names)


def position(row: ChoiceRow, by: By) -> int | None:
    """The number of the right choice, from 0, if the row names it so; None if no choice is named."""
    named = str(row.right).strip()
    if by in ("text", "name"):
        options = row.choices if by == "text" else row.names
        return options.index(named) if named in options else None
    if by == "letter":
        number = LETTERS.find(named.upper()) if len(named) == 1 else -1
    else:
        whole = re.fullmatch(r"(\d{1,4})(?:\.0)?", named)
        number = int(whole[1]) - int(by == "number from 1") if whole else -1
    return number if 0 <= number < len(row.choices) else None


def how_right_is_given(table: RecordTable, chosen: ChoiceColumns) -> By:
    """The way that fits most rows: all of them, or a row that it does not fit is at fault."""
    starts_at_zero = chosen.choices[0].endswith("0") or (len(chosen.choices) == 1)
    numbers: tuple[By, By] = ("number from 0", "number from 1") if starts_at_zero else ("number from 1", "number from 0")
    ways: tuple[By, ...] = ("name", "text", *numbers, "letter")
    fits = Counter[By](by for row in choice_rows(table, chosen) for by in ways if position(row, by) is not None)
    return max(ways, key=lambda by: fits[by])  # of equal ones the first


def choice_examples(table: RecordTable, chosen: ChoiceColumns, by: By, notes: DataNotes, group: str | None) -> Iterator[MultipleChoice]:
    for row in choice_rows(table, chosen, group):
        if notes.is_blank(table.name, row.line, row.context) or notes.is_unlabelled(table.name, row.line, row.right):
            continue
        right = position(row, by)
        if right is None:
            several = ", ".join(preview(choice, 24) for choice in row.choices)
            fault = f"the right answer {preview(chosen.right)} is {preview(row.right)}, which is none of the {len(row.choices)} choices by its {by}"
            raise input_error(table.name, row.line, f"{fault}: {several}; correct it, or remove the row")
        notes.text(row.context)
        yield MultipleChoice(row.context, row.choices, right, f"{table.name}:{row.line}", row.group)
