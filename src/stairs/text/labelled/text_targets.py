"""Texts with any number of labels, and texts with a number to predict, out of the rows of a table or of fastText's lines."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path

from stairs.errors import BadInput, preview
from stairs.text.examples import MultiLabelText, ScoredText
from stairs.text.input_files import printable
from stairs.text.labelled.column_names import Columns
from stairs.text.labelled.column_profile import is_missing, parse_number
from stairs.text.labelled.label_cells import LabelCells, split_cell, unique
from stairs.text.labelled.label_lines import FASTTEXT, begins_with_labels, is_fasttext
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.table_examples import NumberedRows, as_group, as_label, as_text, describe_choice, open_columns
from stairs.text.tables.json_table import describe_type
from stairs.text.tables.lines import input_error, numbered_lines

LabelSetRow = tuple[int, str, list[str], list[object]]  # line, text, labels and the cell of the group, if there is one
GUESS_ROWS = 20_000  # that are looked at


def guess_target(path: str | Path, encoding: str | None, columns: Columns, group: str | None = None) -> tuple[str, str]:
    """classify, multilabel or regress, by what the column of labels holds, and why, with the flag that says otherwise; empty if it is certain."""
    name = printable(path)
    if is_fasttext(path, encoding):
        if not any(len(labels) > 1 for _, labels, _ in fasttext_lines(path, encoding)):
            return "classify", ""
        return "multilabel", "some lines have several labels, so a text may have any number (multilabel, guessed)"
    if columns is None and begins_with_labels(path, encoding):
        return "classify", ""
    table, chosen = open_columns(path, encoding, "classify", columns, group)
    column = chosen["label"]
    cells = LabelCells(column, (row[0] for _, row in islice(table.select_columns([column]), GUESS_ROWS)))
    otherwise = "take each for a label with --task classify"
    if cells.are_measured:
        if cells.number_rows:
            raise BadInput(f"{name}: {preview(column)} numbers the rows and cannot be learnt; name another column with --label")
        count = len(cells.numbers or ())
        return "regress", f"{preview(column)} has {count:,} different numbers, so a number is predicted (regress, guessed); {otherwise}"
    if cells.are_class_numbers and len(cells.numbers or ()) > 2 and len(cells.values) > 20:
        advice = "predict a number with --task regress"
        return "classify", f"{preview(column)} has {len(cells.values)} different whole numbers, each of which is a label (guessed); {advice}"
    if cells.numbers is None and cells.separator is not None:
        how = f"separated by {cells.separator!r}" if cells.separator else "as lists"
        otherwise = "take each cell for a label with --task classify"
        return "multilabel", f"{preview(column)} has several labels in a cell, {how} (multilabel, guessed); {otherwise}"
    return "classify", ""


def read_label_sets(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[MultiLabelText]]:
    """How the columns were chosen, in words, and the examples."""
    if is_fasttext(path, encoding):
        lines: Iterator[LabelSetRow] = ((line, text, labels, []) for line, labels, text in fasttext_lines(path, encoding))
        return f"labels from {FASTTEXT}, the rest is text", label_set_examples(printable(path), lines, "", notes)
    table, chosen = open_columns(path, encoding, "multilabel", columns, group)
    column = chosen["label"]
    separator = LabelCells(column, (row[0] for _, row in table.select_columns([column]))).likely_separator
    rows = label_set_rows(table.name, table.select_columns(list(chosen.values())), chosen, separator)
    how = f", several separated by {separator!r}" if separator else ""
    return describe_choice(chosen, columns) + how, label_set_examples(table.name, rows, chosen.get("group", ""), notes)


def label_set_rows(name: str, rows: NumberedRows, chosen: dict[str, str], separator: str) -> Iterator[LabelSetRow]:
    column = chosen["label"]
    for line, (text_cell, label_cell, *group) in rows:
        if isinstance(label_cell, list):
            labels = unique(as_label(name, line, column, label) for label in label_cell if label != "")
        elif label_cell is None or isinstance(label_cell, str | int | float):
            labels = split_cell("" if label_cell is None else str(label_cell).strip(), separator)
        else:
            raise input_error(name, line, f"the labels {preview(column)} are {describe_type(label_cell)}; give a list, or a text such as 'a;b'")
        yield line, as_text(name, line, chosen["text"], text_cell), labels, group


def label_set_examples(name: str, rows: Iterator[LabelSetRow], group_column: str, notes: DataNotes) -> Iterator[MultiLabelText]:
    sizes: Counter[int] = Counter()
    counts: Counter[str] = Counter()
    for line, text, labels, group in rows:
        if notes.is_blank(name, line, text):
            continue
        notes.text(text)
        sizes[len(labels)] += 1
        counts.update(labels)
        yield MultiLabelText(text, tuple(labels), f"{name}:{line}", *(as_group(name, line, group_column, cell) for cell in group))
    if sizes and set(sizes) == {1}:
        notes.add_remark("every row has exactly one label; --task classify fits that better")
    elif sizes[0]:
        notes.add_remark(f"{sizes[0]:,} rows have no label, which is taken to mean that none fits")
    if counts.total() >= 20 and len(counts) > counts.total() / 2:
        notes.add_remark(f"{len(counts):,} labels, each about once; is another column the label?")


def fasttext_lines(path: str | Path, encoding: str | None) -> Iterator[tuple[int, list[str], str]]:
    """The number, the labels and the text of each line."""
    for line, row in numbered_lines(path, encoding):
        if not row.strip():
            continue
        marks = list(takewhile(lambda word: word.startswith(FASTTEXT), row.split()))
        labels = unique(mark.removeprefix(FASTTEXT) for mark in marks)
        if not labels:
            raise input_error(printable(path), line, f"{preview(row.split()[0])} where {FASTTEXT}NAME should be; begin each line with its labels")
        yield line, labels, row.split(maxsplit=len(marks))[-1].strip() if len(row.split()) > len(marks) else ""


def read_numbers(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, group: str | None = None
) -> tuple[str, Iterator[ScoredText]]:
    """How the columns were chosen, in words, and the examples."""
    if is_fasttext(path, encoding):
        raise BadInput(f"{printable(path)}: lines that begin with {FASTTEXT} have labels and no number; use --task classify")
    table, chosen = open_columns(path, encoding, "regress", columns, group)
    return describe_choice(chosen, columns), number_examples(table.name, table.select_columns(list(chosen.values())), chosen, notes)


def number_examples(name: str, rows: NumberedRows, chosen: dict[str, str], notes: DataNotes) -> Iterator[ScoredText]:
    missing, first_missing = 0, ""
    for line, (text_cell, cell, *group) in rows:
        text = as_text(name, line, chosen["text"], text_cell)
        if is_missing(cell):
            missing, first_missing = missing + 1, first_missing or f"{name}:{line}"
            continue
        value = parse_number(cell)
        if value is None:
            advice = "write it like 3.8, or leave the cell empty"
            raise input_error(name, line, f"{preview(chosen['label'])} is {preview(cell)}, not a number; {advice}")
        if not notes.is_blank(name, line, text):
            notes.text(text)
            yield ScoredText(text, value, f"{name}:{line}", *(as_group(name, line, chosen["group"], own) for own in group))
    if missing:
        notes.add_remark(f"{missing:,} rows without a number were left out, the first at {first_missing}")
