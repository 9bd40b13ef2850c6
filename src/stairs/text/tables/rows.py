"""The rows of a file as they stand, for whoever adds columns to them: every cell, in its order, converted by nobody."""

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.text.encoding import BYTE_ORDER_MARKS
from stairs.text.input_files import printable
from stairs.text.tables import RECORD_SUFFIXES, RecordTable
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import JsonTable
from stairs.text.tables.lines import check_regular, file_suffix, numbered_lines, open_binary
from stairs.text.tables.parquet_table import ParquetTable

TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".xlsx", *RECORD_SUFFIXES)  # of files of rows; every other one has a text on each line
ABSENT = object()  # the cell of a field that a JSON object does not have
BLOCK = 1 << 20


def is_table_file(path: str | Path) -> bool:
    return file_suffix(path) in TABLE_SUFFIXES


class LineTable:
    """A file with a text on each line, as a table of one column; a blank line is a row, too."""

    columns = ("text",)

    def __init__(self, path: str | Path, encoding: str | None = None) -> None:
        self.path, self.name, self.encoding, self.line = path, printable(path), encoding, 1
        if not any(text.strip() for _, text in numbered_lines(path, encoding)):
            raise BadInput(f"no text in {self.name}; give a file with a text on each line")

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        for line, text in numbered_lines(self.path, self.encoding):
            yield line, [text for _ in names]


def column_names(table: RecordTable | LineTable) -> list[str]:
    """All columns of a table; of JSON objects, the fields that any of them has."""
    if isinstance(table, JsonTable):
        return list(dict.fromkeys(name for _, record in table.objects() for name in record))
    return list(table.columns)


def all_rows(table: RecordTable | LineTable, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    """(line, every cell) of every row. Two columns of a CSV file may have the same name."""
    if isinstance(table, CsvTable):
        return iter(table.reader())
    if isinstance(table, JsonTable):
        return ((line, [record.get(name, ABSENT) for name in columns]) for line, record in table.objects())
    return table.select_columns(columns)


def estimate_rows(path: str | Path, table: RecordTable | LineTable) -> int | None:
    """About how many rows there are, for a progress bar: lines in a text file; None if only reading would tell."""
    if isinstance(table, ParquetTable):
        return table.row_count
    if Path(path).suffix.lower() not in (*TABLE_SUFFIXES, ".txt") or file_suffix(path) in (".xlsx", ".json"):
        return None
    with open_binary(path) as raw:
        return sum(block.count(b"\n") for block in iter(lambda: raw.read(BLOCK), b""))


def comes_from_spreadsheet(path: str | Path) -> bool:
    """Whether a program such as Excel wrote a file: it has a byte-order mark, or is not UTF-8. Such a program reads UTF-8 only behind a mark."""
    if file_suffix(path) == ".xlsx":
        return True
    if file_suffix(path) in RECORD_SUFFIXES:
        return False
    with open_binary(check_regular(path)) as raw:
        head = raw.read(BLOCK)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return head.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS))
