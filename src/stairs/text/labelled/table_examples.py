"""Texts, pairs and translations out of the rows of a table."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.questions import AmbiguousInput
from stairs.text.examples import Pair, Text, Translation
from stairs.text.labelled import column_choice
from stairs.text.labelled.column_choice import choose, without_header
from stairs.text.labelled.column_names import Columns, group_column, guess_aligned, named
from stairs.text.labelled.column_profile import LISTED, number
from stairs.text.labelled.label_lines import FASTTEXT, begins_with_labels, is_fasttext, label_lines
from stairs.text.labelled.notes import Notes
from stairs.text.tables.csv_table import Table
from stairs.text.tables.json_table import Records, describe
from stairs.text.tables.lines import ending, fault
from stairs.text.tables.parquet_table import Parquet

SAMPLE = 1000  # rows looked at to tell a score from a label

Rows = Iterable[tuple[int, list[Any]]]


def table(path: str | Path, encoding: str | None, task: str = "classify") -> Table | Records | Parquet:
    """The file as rows with named columns."""
    kind = ending(path)
    if kind == ".parquet":
        return Parquet(path)
    if kind in (".jsonl", ".ndjson", ".json"):
        return Records(path, encoding)
    rows = Table(path, encoding)
    if task == "translate" and not guess_aligned(rows.columns) and rows.delimiter == "\t":  # parallel TSV seldom has a header
        rows = Table(path, encoding, header=False)
    return rows


def read_texts(path: str | Path, encoding: str | None, columns: Columns, notes: Notes, group: str | None = None) -> tuple[str, Iterator[Text]]:
    if is_fasttext(path, encoding):
        return f"labels from {FASTTEXT}, the rest is text", label_lines(path, encoding, notes, FASTTEXT)
    if columns is None and begins_with_labels(path, encoding):
        return "label from the first word of each line, the rest is text (guessed)", label_lines(path, encoding, notes, "")
    rows, chosen = open_rows(path, encoding, "classify", columns, group)
    return shown(chosen, columns), texts(rows.name, rows.pick(list(chosen.values())), chosen, notes)


def read_pairs(path: str | Path, encoding: str | None, columns: Columns, notes: Notes, group: str | None = None) -> tuple[str, Iterator[Pair]]:
    rows, chosen = open_rows(path, encoding, "compare", columns, group)
    picked = iter(rows.pick(list(chosen.values())))
    first = list(islice(picked, SAMPLE))
    if "label" in chosen and any(fraction(values[2]) for _, values in first) and all(number(values[2]) is not None for _, values in first):
        chosen = {"score" if role == "label" else role: column for role, column in chosen.items()}
    elif "label" in chosen and len(first) == SAMPLE and all(number(values[2]) is not None for _, values in first):
        picked = without_fractions(rows.name, picked)
    return shown(chosen, columns), pairs(rows.name, chain(first, picked), chosen, notes)


def without_fractions(name: str, rows: Rows) -> Iterator[tuple[int, list[Any]]]:
    """Behind many whole numbers, which were taken for labels, a fraction says that they were scores."""
    for line, values in rows:
        if fraction(values[2]):
            cure = "say that they are scores with --columns score=NAME"
            raise fault(name, line, f"{preview(values[2])} where whole numbers were taken for labels; {cure}")
        yield line, values


def read_translations(
    path: str | Path, encoding: str | None, columns: Columns, notes: Notes, group: str | None = None
) -> tuple[str, Iterator[Translation]]:
    rows, chosen = open_rows(path, encoding, "translate", columns, group)
    return shown(chosen, columns), translations(rows.name, rows.pick(list(chosen.values())), chosen, notes)


def open_rows(
    path: str | Path, encoding: str | None, task: str, columns: Columns, group: str | None = None
) -> tuple[Table | Records | Parquet, dict[str, str]]:
    """The rows, and a column for each role; that of the groups is the last."""
    try:
        asked = named(columns, task)
    except ValueError as error:
        raise BadInput(f"columns {preview(columns)} do not fit; {error}") from None
    rows = table(path, encoding, "" if asked else task)
    if isinstance(rows, Table) and not rows.header:
        if len(rows.columns) < 2:
            raise fault(rows.name, rows.line, "one field; put the source, a tab and its translation on each line")
        asked = dict(zip(("source", "target"), rows.columns, strict=False))
    rows = without_header(rows, asked)
    if group is None:
        return rows, choose(rows, task, asked)
    column = group_column(rows.name, rows.line, rows.columns, group)
    is_role = column in asked.values() or any(found == [column] for found in column_choice.GUESSES[task](rows.columns).values())  # by its name
    others = [other for other in rows.columns if other != column or is_role]
    try:
        chosen = choose(rows, task, asked, others)
    except AmbiguousInput:
        raise
    except BadInput:  # it is the text or the label only if nothing else can be
        chosen = choose(rows, task, asked)
    return rows, {**chosen, "group": column}


def shown(chosen: dict[str, str], columns: Columns) -> str:
    return column_choice.shown(chosen) + ("" if columns else " (guessed)")


def as_group(name: str, line: int, column: str, value: Any) -> str:
    """Nothing for an empty cell: such an example is a group by itself."""
    if value is not None and not isinstance(value, str | int | float):
        raise fault(name, line, f"the group {preview(column)} is {describe(value)}; give a string or a number")
    return "" if value is None else str(value).strip()


def as_text(name: str, line: int, column: str, value: Any) -> str:
    if not isinstance(value, str):
        raise fault(name, line, f"the field {preview(column)} is {describe(value)}, not text; give a string")
    return value


def as_label(name: str, line: int, column: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        cure = "give one label, or for marked stretches of text CoNLL columns" if isinstance(value, list | dict) else "give a string or a number"
        raise fault(name, line, f"the label {preview(column)} is {describe(value)}; {cure}")
    label = value.strip()
    if not label:
        raise fault(name, line, f"the label {preview(column)} is empty; fill it in or remove the row")
    if LISTED.fullmatch(label):
        cure = "give one label, or for tags a record with a list of words and one of tags on each line of a .jsonl file"
        raise fault(name, line, f"the label {preview(column)} is a list written as text; {cure}")
    return label


def fraction(value: Any) -> bool:
    found = number(value)
    return found is not None and not found.is_integer()


def as_score(name: str, line: int, column: str, value: Any) -> float:
    score = number(value)
    if score is None:
        raise fault(name, line, f"the score {preview(column)} is {preview(value)}, not a number; write it like 3.8")
    return score


def texts(name: str, rows: Rows, chosen: dict[str, str], notes: Notes) -> Iterator[Text]:
    for line, (value, mark, *group) in rows:
        text, label = as_text(name, line, chosen["text"], value), as_label(name, line, chosen["label"], mark)
        if notes.is_blank(name, line, text):
            continue
        notes.text(text)
        notes.label(label)
        yield Text(text, label, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))


def pairs(name: str, rows: Rows, chosen: dict[str, str], notes: Notes) -> Iterator[Pair]:
    for line, (one, two, mark, *group) in rows:
        first, second = as_text(name, line, chosen["first"], one), as_text(name, line, chosen["second"], two)
        if "score" in chosen:
            label, score = None, as_score(name, line, chosen["score"], mark)
        else:
            label, score = as_label(name, line, chosen["label"], mark), None
            notes.label(label)
        if not notes.is_blank(name, line, first, second):
            notes.text(first)
            yield Pair(first, second, label, score, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))


def translations(name: str, rows: Rows, chosen: dict[str, str], notes: Notes) -> Iterator[Translation]:
    for line, (one, two, *group) in rows:
        source, target = as_text(name, line, chosen["source"], one), as_text(name, line, chosen["target"], two)
        if not notes.is_blank(name, line, source, target):
            yield Translation(source, target, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))
