"""Tables of records: CSV, TSV, Excel workbooks, JSON lines and parquet, row by row, for corpora and labelled data alike."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import JsonTable
from stairs.text.tables.lines import file_suffix
from stairs.text.tables.parquet_table import ParquetTable
from stairs.text.tables.xlsx_table import XLSX_SUFFIXES, XlsxTable

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
RECORD_SUFFIXES = (".parquet", *JSON_SUFFIXES, *XLSX_SUFFIXES)  # of files that cannot be anything but records


class RecordTable(Protocol):
    """Rows with named columns; a cell is a string, or what JSON or parquet hold."""

    name: str  # of the file
    line: int  # of the header, or of the first record
    columns: list[str]

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """(line, the values of the named columns) of every row."""


def open_table(path: str | Path, encoding: str | None) -> CsvTable | JsonTable | ParquetTable:
    """A file as a table, by its suffix."""
    if file_suffix(path) == ".parquet":
        return ParquetTable(path)
    if file_suffix(path) in XLSX_SUFFIXES:
        return XlsxTable(path)
    return JsonTable(path, encoding) if file_suffix(path) in JSON_SUFFIXES else CsvTable(path, encoding)
