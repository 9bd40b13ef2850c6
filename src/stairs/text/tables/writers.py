"""Tables written row by row, in bounded memory: CSV, TSV, JSON lines, parquet and xlsx.

A cell is written as it came: an id keeps its zeros, a date its form, and what begins like a formula stays text (`safe_cells.py`). Columns of numbers
are numbers where the format has types.
"""

import codecs
import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

from stairs.errors import BadInput
from stairs.text.tables.lines import file_suffix
from stairs.text.tables.rows import ABSENT
from stairs.text.tables.safe_cells import escape_formula

SUFFIXES = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet")
PACKED_SUFFIXES = (".xlsx", ".parquet")  # of formats that compress by themselves
XLSX_ROWS, XLSX_CHARACTERS = 1_048_576, 32_767  # the limits of the format
NOT_PLAIN_IN_XLSX = ("=", "#")  # what begins so would become a formula or an error


class OutputColumn(NamedTuple):
    name: str
    is_number: bool = False
    arrow_type: Any = None  # that of the parquet file it comes from


class TableWriter(Protocol):
    def write(self, rows: Iterable[Sequence[object]]) -> None: ...

    def close(self) -> None: ...


def output_suffix(path: str) -> str:
    """The suffix that says how a file is to be written."""
    suffix, compression = file_suffix(path), Path(path).suffix.lower()
    if suffix not in SUFFIXES or compression not in (suffix, *([".gz"] if suffix not in PACKED_SUFFIXES else [])):
        raise BadInput(f"--out {path} has no suffix that tells its format; give one that ends in {', '.join(SUFFIXES)}, or - for stdout")
    return suffix


def new_writer(file: BinaryIO, suffix: str, columns: Sequence[OutputColumn], delimiter: str = ",", has_mark: bool = False) -> TableWriter:
    """Writes to an open file, its header first. `delimiter` is that of .csv; `has_mark` puts a byte-order mark before CSV and TSV."""
    if suffix == ".jsonl":
        return JsonLinesWriter(file, columns)
    if suffix == ".parquet":
        return ParquetWriter(file, columns)
    if suffix == ".xlsx":
        return XlsxWriter(file, columns)
    return CsvWriter(file, columns, "\t" if suffix == ".tsv" else delimiter, has_mark)


def cell_text(cell: object) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None or cell is ABSENT:
        return ""
    if isinstance(cell, bool | list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def unique_names(columns: Sequence[OutputColumn]) -> list[str]:
    """Names for formats in which no two columns may have the same."""
    names: list[str] = []
    for column in columns:
        names.append(free_name(column.name, names))
    return names


def free_name(name: str, taken: Sequence[str]) -> str:
    """'prediction', or 'prediction_2' if there is one already."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


class CsvWriter:
    """In TSV the header is quoted, which tells our own reader that quotes enclose cells in this file."""

    def __init__(self, file: BinaryIO, columns: Sequence[OutputColumn], delimiter: str, has_mark: bool) -> None:
        self.file, self.delimiter = file, delimiter
        file.write(codecs.BOM_UTF8 if has_mark else b"")
        self.write([[column.name for column in columns]], csv.QUOTE_ALL if delimiter == "\t" else csv.QUOTE_MINIMAL)

    def write(self, rows: Iterable[Sequence[object]], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> None:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n", quoting=quoting)
        writer.writerows([escape_formula(cell if isinstance(cell, str) else cell_text(cell)) for cell in row] for row in rows)
        self.file.write(text.getvalue().encode())

    def close(self) -> None:
        self.file.flush()


class JsonLinesWriter:
    def __init__(self, file: BinaryIO, columns: Sequence[OutputColumn]) -> None:
        self.file, self.names = file, unique_names(columns)

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        for row in rows:
            record = {name: cell for name, cell in zip(self.names, row, strict=True) if cell is not ABSENT}
            self.file.write(json.dumps(record, ensure_ascii=False, default=str).encode() + b"\n")

    def close(self) -> None:
        self.file.flush()


class ParquetWriter:
    """A row group for each call of `write`. Columns that come from parquet keep their types; others are strings and numbers."""

    def __init__(self, file: BinaryIO, columns: Sequence[OutputColumn]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise BadInput("--out: parquet needs pyarrow; install it with: pip install 'stairs[parquet]', or write .csv") from error
        self.pyarrow, self.columns = pyarrow, columns
        types = [column.arrow_type or (pyarrow.float64() if column.is_number else pyarrow.string()) for column in columns]
        self.schema = pyarrow.schema(list(zip(unique_names(columns), types, strict=True)))
        self.writer = pyarrow.parquet.ParquetWriter(file, self.schema)

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        cells = list(zip(*rows, strict=True))
        arrays = [
            self.pyarrow.array(own if column.arrow_type or column.is_number else [cell_or_none(cell) for cell in own], field.type)
            for column, field, own in zip(self.columns, self.schema, cells, strict=True)
        ]
        if arrays:
            self.writer.write_table(self.pyarrow.Table.from_arrays(arrays, schema=self.schema))

    def close(self) -> None:
        self.writer.close()


def cell_or_none(cell: object) -> str | None:
    return None if cell is None or cell is ABSENT else cell_text(cell)


class XlsxWriter:
    """One sheet; rows go to a temporary file as they come. Cells are strings, so nothing is a formula, and ids and dates stay as they are."""

    def __init__(self, file: BinaryIO, columns: Sequence[OutputColumn]) -> None:
        try:
            from openpyxl import Workbook
            from openpyxl.cell import WriteOnlyCell
            from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
        except ImportError as error:
            raise BadInput("--out: xlsx needs openpyxl; install it with: pip install 'stairs[excel]', or write .csv") from error
        self.file, self.book, self.new_cell, self.control_characters = file, Workbook(write_only=True), WriteOnlyCell, ILLEGAL_CHARACTERS_RE
        self.sheet, self.columns = self.book.create_sheet("predictions"), columns
        self.row_count = 0
        self.write([[column.name for column in columns]])

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        for row in rows:
            self.row_count += 1
            if self.row_count > XLSX_ROWS:
                raise BadInput(f"--out: a sheet of xlsx has at most {XLSX_ROWS:,} rows; write .csv or .parquet")
            cells = zip(self.columns, row, strict=True)
            self.sheet.append([cell if column.is_number and not isinstance(cell, str) else self.string(cell) for column, cell in cells])

    def string(self, cell: object) -> object:
        text = self.control_characters.sub("", cell_text(cell))
        if len(text) > XLSX_CHARACTERS:
            raise BadInput(f"--out: row {self.row_count} has a cell of {len(text):,} characters and xlsx allows {XLSX_CHARACTERS:,}; write .csv")
        if not text.startswith(NOT_PLAIN_IN_XLSX):
            return text or None
        typed = self.new_cell(self.sheet, value=text)
        typed.data_type = "s"
        return typed

    def close(self) -> None:
        self.book.save(self.file)
