"""The text column of jsonl, csv, tsv, xlsx and parquet files: one document a record. The readers themselves are those of labelled data (tables/)."""

from collections.abc import Callable, Iterator, Sequence

from stairs.errors import BadInput, preview
from stairs.text.input_files import InputStream
from stairs.text.tables.csv_table import CsvReader, find_column
from stairs.text.tables.json_table import describe_type, parse_json
from stairs.text.tables.lines import NumberedLines, input_error
from stairs.text.tables.parquet_table import BATCH_ROWS, ParquetTable
from stairs.text.tables.xlsx_table import XlsxTable

TEXT_COLUMNS = ("text", "content", "body", "sentence", "review", "document", "article", "comment", "passage", "正文", "内容", "文本")


def choose_text_column(names: Sequence[str], column: str | None, where: str) -> str:
    """The column that holds the text: the one that the user named, else the first with a usual name."""
    if column is not None:
        match = find_column(names, column)
        if match is None:
            raise BadInput(f"{where}: no column {preview(column)}, only {list_names(names)}; name one of them with --text, or its number")
        return match
    lower = {name.strip().lower(): name for name in reversed(names)}
    for candidate in TEXT_COLUMNS:
        if candidate in lower:
            return lower[candidate]
    raise BadInput(f"{where}: no text column among {list_names(names)}; name it with --text")


def list_names(names: Sequence[str]) -> str:
    text = ", ".join(preview(name) for name in names[:6])
    return text + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def json_texts(lines: NumberedLines, name: str, column: str | None) -> Iterator[str]:
    """A text for each line: a field of its object, or the string that it is."""
    chosen = None
    for line, text in lines:
        if not text or text.isspace():
            continue
        record = parse_json(text, name, line)
        if isinstance(record, dict):
            if chosen is None or (column is None and chosen not in record):
                chosen = choose_text_column(list(record), column, f"{name}:{line}")
            if chosen not in record:
                raise input_error(name, line, f"no field {preview(chosen)}, only {list_names(list(record))}; add it or remove the record")
            record = record[chosen]
        if not isinstance(record, str):
            what = f"field {preview(chosen)}" if chosen is not None else "the record"
            raise input_error(name, line, f"{what} is {describe_type(record)} where text is needed; fix or remove the record")
        yield record


def csv_texts(lines: NumberedLines, name: str, suffix: str, column: str | None) -> Iterator[str]:
    """The text of each row under a header."""
    reader = CsvReader(lines, name, suffix)
    if reader.columns:
        position = reader.columns.index(choose_text_column(reader.columns, column, f"{name}:{reader.line}"))
        yield from (fields[position] for _, fields in reader)


def xlsx_texts(stream: InputStream, column: str | None) -> Iterator[str]:
    """The text of each row under a header."""
    table = XlsxTable(stream.source.path)
    chosen = choose_text_column(table.columns, column, f"{table.name}:{table.line}")
    for _, (text,) in table.select_columns([chosen]):
        stream.meter.add(len(text), table.name)
        yield text


def parquet_texts(stream: InputStream, column: str | None, advance: Callable[[float], None]) -> Iterator[str]:
    """The text of each row; `advance` gets the share of the rows that is read."""
    name = stream.source.name
    table = ParquetTable(name, stream.seekable())
    chosen = choose_text_column(table.columns, column, name)
    for row, (value,) in table.select_columns([chosen]):
        if not isinstance(value, str):
            raise input_error(name, row, f"column {preview(chosen)} is {describe_type(value)} where text is needed; fix or remove the row")
        if not stream.source.compression:  # else it was metered while it was decompressed
            stream.meter.add(len(value), name)
        if row % BATCH_ROWS == 0:
            advance(row / table.row_count)
        yield value
    advance(1.0)
