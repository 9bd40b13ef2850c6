"""Labelled texts, pairs and translations out of the rows of a table."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, preview
from stairs.questions import AmbiguousInput
from stairs.text.examples import LabelledText, TextPair, TranslationPair
from stairs.text.input_files import printable
from stairs.text.labelled.column_choice import GUESSES, choose_columns, describe_columns, detect_header
from stairs.text.labelled.column_names import Columns, choose_named, columns_error, guess_parallel, parse_columns
from stairs.text.labelled.column_profile import SERIALIZED_LIST, is_missing, parse_number
from stairs.text.labelled.label_lines import FASTTEXT, begins_with_labels, is_fasttext, read_label_lines
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables import RecordTable, open_table
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import describe_type
from stairs.text.tables.lines import input_error

SAMPLE = 1000  # rows that tell a score from a label

NumberedRows = Iterable[tuple[int, list[Any]]]


def read_texts(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[LabelledText]]:
    """How the columns were chosen, in words, and the examples; the same for the two functions below."""
    if is_fasttext(path, encoding):
        return f"labels from {FASTTEXT}, the rest is text", read_label_lines(path, encoding, notes, FASTTEXT)
    if columns is None and begins_with_labels(path, encoding):
        return "label from the first word of each line, the rest is text (guessed)", read_label_lines(path, encoding, notes, "")
    table, chosen = open_columns(path, encoding, "classify", columns, group)
    return describe_choice(chosen, columns), text_examples(table.name, table.select_columns(list(chosen.values())), chosen, notes)


def read_pairs(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[TextPair]]:
    table, chosen = open_columns(path, encoding, "compare", columns, group)
    rows = iter(table.select_columns(list(chosen.values())))
    sample = list(islice(rows, SAMPLE))
    are_numbers = "label" in chosen and all(parse_number(values[2]) is not None for _, values in sample if not is_missing(values[2]))
    if are_numbers and any(is_fraction(values[2]) for _, values in sample):
        chosen = {"score" if role == "label" else role: column for role, column in chosen.items()}
    elif are_numbers and len(sample) == SAMPLE:
        rows = refuse_fractions(table.name, rows)
    return describe_choice(chosen, columns), pair_examples(table.name, chain(sample, rows), chosen, notes)


def refuse_fractions(name: str, rows: NumberedRows) -> Iterator[tuple[int, list[Any]]]:
    """Many whole numbers were taken for labels: a fraction after them says that they are scores."""
    for line, values in rows:
        if is_fraction(values[2]):
            advice = "move a row with a fraction to the top, so that all are read as scores"
            raise input_error(name, line, f"{preview(values[2])} after whole numbers that were taken for labels; {advice}")
        yield line, values


def read_translations(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[TranslationPair]]:
    table, chosen = open_columns(path, encoding, "translate", columns, group)
    return describe_choice(chosen, columns), translation_examples(table.name, table.select_columns(list(chosen.values())), chosen, notes)


def open_columns(
    path: str | Path, encoding: str | None, task: str, columns: Columns, group: str | None = None
) -> tuple[RecordTable, dict[str, str]]:
    """The table, and a column for each role; that of the groups is the last."""
    try:
        named = parse_columns(columns, task)
    except ValueError as error:
        raise columns_error(printable(path), columns, error) from None
    table: RecordTable = open_table(path, encoding)
    if task == "translate" and not named and isinstance(table, CsvTable) and table.delimiter == "\t" and not guess_parallel(table.columns):
        table = table.without_header()  # parallel TSV seldom has a header
        if len(table.columns) < 2:
            raise input_error(table.name, table.line, "one field; put the source, a tab and its translation on each line")
        named = dict(zip(("source", "target"), table.columns, strict=False))
    table = detect_header(table, named)
    candidates = list(table.columns)
    if isinstance(columns, Mapping) and "id" in columns:  # neither text nor label
        own = choose_named(table.name, table.line, candidates, columns["id"], "id")
        candidates.remove(own)
    if group is None:
        return table, choose_columns(table, task, named, candidates)
    column = choose_named(table.name, table.line, table.columns, group, "group")
    is_role = column in named.values() or any(guess == [column] for guess in GUESSES[task](candidates).values())  # by its name
    others = [other for other in candidates if other != column or is_role]
    try:
        chosen = choose_columns(table, task, named, others)
    except AmbiguousInput:
        raise
    except BadInput:  # it is the text or the label only if no other column can be
        chosen = choose_columns(table, task, named, candidates)
    return table, {**chosen, "group": column}


def describe_choice(chosen: dict[str, str], columns: Columns) -> str:
    return describe_columns(chosen) + ("" if columns else " (guessed)")


def as_group(name: str, line: int, column: str, value: object) -> str:
    """Empty for an empty cell: such an example is a group by itself."""
    if value is not None and not isinstance(value, str | int | float):
        raise input_error(name, line, f"the group {preview(column)} is {describe_type(value)}; give a string or a number")
    return "" if value is None else str(value).strip()


def as_text(name: str, line: int, column: str, value: object) -> str:
    """Empty for a cell that is."""
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise input_error(name, line, f"the field {preview(column)} is {describe_type(value)}, not text; give a string")
    return value


def as_label(name: str, line: int, column: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        advice = "give one label, or CoNLL columns to tag words" if isinstance(value, list | dict) else "give a string or a number"
        raise input_error(name, line, f"the label {preview(column)} is {describe_type(value)}; {advice}")
    label = value.strip()
    if not label:
        raise input_error(name, line, f"the label {preview(column)} is empty; fill it in or remove the row")
    if SERIALIZED_LIST.fullmatch(label):
        advice = "give one label, or for tags a .jsonl file with a list of words and a list of tags on each line"
        raise input_error(name, line, f"the label {preview(column)} is a list written as text; {advice}")
    return label


def is_fraction(value: object) -> bool:
    number = parse_number(value)
    return number is not None and not number.is_integer()


def as_score(name: str, line: int, column: str, value: object) -> float:
    score = parse_number(value)
    if score is None:
        raise input_error(name, line, f"the score {preview(column)} is {preview(value)}, not a number; write it like 3.8")
    return score


def text_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[LabelledText]:
    for line, (text_cell, label_cell, *group) in rows:
        text = as_text(name, line, chosen["text"], text_cell)
        if notes.is_blank(name, line, text) or notes.is_unlabelled(name, line, label_cell):
            continue
        label = as_label(name, line, chosen["label"], label_cell)
        notes.text(text)
        notes.label(label)
        yield LabelledText(text, label, f"{name}:{line}", *(as_group(name, line, chosen["group"], cell) for cell in group))


def pair_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[TextPair]:
    for line, (first_cell, second_cell, target_cell, *group) in rows:
        first, second = as_text(name, line, chosen["first"], first_cell), as_text(name, line, chosen["second"], second_cell)
        if notes.is_blank(name, line, first, second) or notes.is_unlabelled(name, line, target_cell):
            continue
        if "score" in chosen:
            label, score = None, as_score(name, line, chosen["score"], target_cell)
        else:
            label, score = as_label(name, line, chosen["label"], target_cell), None
            notes.label(label)
        notes.text(first)
        yield TextPair(first, second, label, score, f"{name}:{line}", *(as_group(name, line, chosen["group"], cell) for cell in group))


def translation_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[TranslationPair]:
    for line, (source_cell, target_cell, *group) in rows:
        source, target = as_text(name, line, chosen["source"], source_cell), as_text(name, line, chosen["target"], target_cell)
        if not notes.is_blank(name, line, source, target):
            yield TranslationPair(source, target, f"{name}:{line}", *(as_group(name, line, chosen["group"], cell) for cell in group))
