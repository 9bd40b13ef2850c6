"""Texts, pairs and translations out of the rows of a table."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.questions import AmbiguousInput
from stairs.text.examples import LabelledText, TextPair, TranslationPair
from stairs.text.labelled import column_choice
from stairs.text.labelled.column_choice import choose_columns, detect_header
from stairs.text.labelled.column_names import Columns, group_column, guess_parallel, parse_columns
from stairs.text.labelled.column_profile import SERIALIZED_LIST, parse_number
from stairs.text.labelled.label_lines import FASTTEXT, begins_with_labels, is_fasttext, read_label_lines
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import JsonTable, describe_type
from stairs.text.tables.lines import file_suffix, input_error
from stairs.text.tables.parquet_table import ParquetTable

SAMPLE = 1000  # rows looked at to tell a score from a label

NumberedRows = Iterable[tuple[int, list[Any]]]


def open_table(path: str | Path, encoding: str | None, task: str = "classify") -> CsvTable | JsonTable | ParquetTable:
    """The file as rows with named columns."""
    kind = file_suffix(path)
    if kind == ".parquet":
        return ParquetTable(path)
    if kind in (".jsonl", ".ndjson", ".json"):
        return JsonTable(path, encoding)
    rows = CsvTable(path, encoding)
    if task == "translate" and not guess_parallel(rows.columns) and rows.delimiter == "\t":  # parallel TSV seldom has a header
        rows = CsvTable(path, encoding, header=False)
    return rows


def read_texts(path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None) -> tuple[str,
    Iterator[LabelledText]]:
    if is_fasttext(path, encoding):
        return f"labels from {FASTTEXT}, the rest is text", read_label_lines(path, encoding, notes, FASTTEXT)
    if columns is None and begins_with_labels(path, encoding):
        return "label from the first word of each line, the rest is text (guessed)", read_label_lines(path, encoding, notes, "")
    rows, chosen = open_rows(path, encoding, "classify", columns, group)
    return describe_choice(chosen, columns), text_examples(rows.name, rows.select_columns(list(chosen.values())), chosen, notes)


def read_pairs(path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None) -> tuple[str,
    Iterator[TextPair]]:
    rows, chosen = open_rows(path, encoding, "compare", columns, group)
    picked = iter(rows.select_columns(list(chosen.values())))
    first = list(islice(picked, SAMPLE))
    if "label" in chosen and any(is_fraction(values[2]) for _, values in first) and all(parse_number(values[2]) is not None for _, values in first):
        chosen = {"score" if role == "label" else role: column for role, column in chosen.items()}
    elif "label" in chosen and len(first) == SAMPLE and all(parse_number(values[2]) is not None for _, values in first):
        picked = refuse_fractions(rows.name, picked)
    return describe_choice(chosen, columns), pair_examples(rows.name, chain(first, picked), chosen, notes)


def refuse_fractions(name: str, rows: NumberedRows) -> Iterator[tuple[int, list[Any]]]:
    """Behind many whole numbers, which were taken for labels, a fraction says that they were scores."""
    for line, values in rows:
        if is_fraction(values[2]):
            cure = "say that they are scores with --columns score=NAME"
            raise input_error(name, line, f"{preview(values[2])} where whole numbers were taken for labels; {cure}")
        yield line, values


def read_translations(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[TranslationPair]]:
    rows, chosen = open_rows(path, encoding, "translate", columns, group)
    return describe_choice(chosen, columns), translation_examples(rows.name, rows.select_columns(list(chosen.values())), chosen, notes)


def open_rows(
    path: str | Path, encoding: str | None, task: str, columns: Columns, group: str | None = None
) -> tuple[CsvTable | JsonTable | ParquetTable, dict[str, str]]:
    """The rows, and a column for each role; that of the groups is the last."""
    try:
        asked = parse_columns(columns, task)
    except ValueError as error:
        raise BadInput(f"columns {preview(columns)} do not fit; {error}") from None
    rows = open_table(path, encoding, "" if asked else task)
    if isinstance(rows, CsvTable) and not rows.header:
        if len(rows.columns) < 2:
            raise input_error(rows.name, rows.line, "one field; put the source, a tab and its translation on each line")
        asked = dict(zip(("source", "target"), rows.columns, strict=False))
    rows = detect_header(rows, asked)
    if group is None:
        return rows, choose_columns(rows, task, asked)
    column = group_column(rows.name, rows.line, rows.columns, group)
    is_role = column in asked.values() or any(found == [column] for found in column_choice.GUESSES[task](rows.columns).values())  # by its name
    others = [other for other in rows.columns if other != column or is_role]
    try:
        chosen = choose_columns(rows, task, asked, others)
    except AmbiguousInput:
        raise
    except BadInput:  # it is the text or the label only if nothing else can be
        chosen = choose_columns(rows, task, asked)
    return rows, {**chosen, "group": column}


def describe_choice(chosen: dict[str, str], columns: Columns) -> str:
    return column_choice.describe_columns(chosen) + ("" if columns else " (guessed)")


def as_group(name: str, line: int, column: str, value: Any) -> str:
    """Nothing for an empty cell: such an example is a group by itself."""
    if value is not None and not isinstance(value, str | int | float):
        raise input_error(name, line, f"the group {preview(column)} is {describe_type(value)}; give a string or a number")
    return "" if value is None else str(value).strip()


def as_text(name: str, line: int, column: str, value: Any) -> str:
    if not isinstance(value, str):
        raise input_error(name, line, f"the field {preview(column)} is {describe_type(value)}, not text; give a string")
    return value


def as_label(name: str, line: int, column: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        cure = "give one label, or for marked stretches of text CoNLL columns" if isinstance(value, list | dict) else "give a string or a number"
        raise input_error(name, line, f"the label {preview(column)} is {describe_type(value)}; {cure}")
    label = value.strip()
    if not label:
        raise input_error(name, line, f"the label {preview(column)} is empty; fill it in or remove the row")
    if SERIALIZED_LIST.fullmatch(label):
        cure = "give one label, or for tags a record with a list of words and one of tags on each line of a .jsonl file"
        raise input_error(name, line, f"the label {preview(column)} is a list written as text; {cure}")
    return label


def is_fraction(value: Any) -> bool:
    found = parse_number(value)
    return found is not None and not found.is_integer()


def as_score(name: str, line: int, column: str, value: Any) -> float:
    score = parse_number(value)
    if score is None:
        raise input_error(name, line, f"the score {preview(column)} is {preview(value)}, not a number; write it like 3.8")
    return score


def text_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[LabelledText]:
    for line, (value, mark, *group) in rows:
        text, label = as_text(name, line, chosen["text"], value), as_label(name, line, chosen["label"], mark)
        if notes.is_blank(name, line, text):
            continue
        notes.text(text)
        notes.label(label)
        yield LabelledText(text, label, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))


def pair_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[TextPair]:
    for line, (one, two, mark, *group) in rows:
        first, second = as_text(name, line, chosen["first"], one), as_text(name, line, chosen["second"], two)
        if "score" in chosen:
            label, score = None, as_score(name, line, chosen["score"], mark)
        else:
            label, score = as_label(name, line, chosen["label"], mark), None
            notes.label(label)
        if not notes.is_blank(name, line, first, second):
            notes.text(first)
            yield TextPair(first, second, label, score, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))


def translation_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[TranslationPair]:
    for line, (one, two, *group) in rows:
        source, target = as_text(name, line, chosen["source"], one), as_text(name, line, chosen["target"], two)
        if not notes.is_blank(name, line, source, target):
            yield TranslationPair(source, target, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))
