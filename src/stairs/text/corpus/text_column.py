"""Records to text: the text column of jsonl, csv, tsv and parquet files, one string a record, with file:line in every complaint."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from stairs.errors import BadInput, preview
from stairs.text.input_files import InputFile, InputStream

TEXT_COLUMNS = ("text", "content", "body", "sentence", "review", "document", "article", "comment", "passage", "正文", "内容", "文本")
MAX_RECORD_CHARACTERS = 1 << 26  # characters; what an unclosed quote can swallow is bounded by it


def choose_text_column(names: list[str], column: str | None, where: str) -> str:
    """The column that holds the text: the one asked for, else the first usual name."""
    if column is not None:
        if column not in names:
            raise BadInput(f"{where}: no column {preview(column)}, only {listed(names)}; use one of them as --column")
        return column
    lower = {name.strip().lower(): name for name in reversed(names)}
    for usual in TEXT_COLUMNS:
        if usual in lower:
            return lower[usual]
    raise BadInput(f"{where}: no text column among {listed(names)}; name it with --column")


def listed(names: list[str]) -> str:
    shown = ", ".join(preview(name) for name in names[:6])
    return shown + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def lines(blocks: Iterable[str], name: str) -> Iterator[str]:
    """Lines with their newline, out of blocks cut anywhere."""
    pending: list[str] = []
    held, number = 0, 1
    for block in blocks:
        first, newline, rest = block.partition("\n")
        pending.append(first + newline)
        held += len(first)
        if held > MAX_RECORD_CHARACTERS:
            raise BadInput(f"{name}:{number}: a line longer than {MAX_RECORD_CHARACTERS:,} characters; split it, or give the file as .txt")
        if not newline:
            continue
        yield "".join(pending)
        whole = rest.split("\n")
        yield from (line + "\n" for line in whole[:-1])
        number += len(whole)
        pending, held = [whole[-1]], len(whole[-1])
    if held:
        yield "".join(pending)


def from_jsonl(blocks: Iterable[str], name: str, column: str | None) -> Iterator[str]:
    chosen = None
    for number, line in enumerate(lines(blocks, name), 1):
        if line.isspace():
            continue
        where = f"{name}:{number}"
        try:
            record = json.loads(line)
        except RecursionError:
            raise BadInput(f"{where}: JSON nested too deeply; flatten the record") from None
        except ValueError as error:
            message = getattr(error, "msg", None) or str(error).split(";")[0]
            raise BadInput(f"{where}: not JSON ({message.lower()}) in {preview(line.strip())}; write one record a line") from None
        if isinstance(record, dict):
            if chosen is None or (column is None and chosen not in record):
                chosen = choose_text_column(list(record), column, where)
            if chosen not in record:
                raise BadInput(f"{where}: no field {preview(chosen)}, only {listed(list(record))}; add it or leave the record out")
            record = record[chosen]
        if not isinstance(record, str):
            what = f"field {preview(chosen)}" if chosen is not None else "the record"
            raise BadInput(f"{where}: {what} is {kind_of(record)} where text is needed; fix or leave out the record")
        if "\\u" in line and not encodable(record):
            raise BadInput(f"{where}: half a surrogate pair (\\ud800 to \\udfff) in the text; fix or leave out the record")
        yield record


def kind_of(value: object) -> str:
    names = {type(None): "null", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), f"{type(value).__name__}")


def encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
        return True
    except UnicodeEncodeError:
        return False


def from_table(blocks: Iterable[str], name: str, column: str | None, kind: str) -> Iterator[str]:
    """Rows under a header. In csv quotes may hold delimiters and line ends; in tsv a quote is an ordinary character."""
    source = lines(blocks, name)
    top = list(first_filled(source))
    if not top:
        return
    delimiter = "\t" if kind == "tsv" else max(",;\t|", key=top[-1].count)
    csv.field_size_limit(MAX_RECORD_CHARACTERS)  # the module's own limit is shorter than many an article
    rows = csv.reader(chain(top, source), delimiter=delimiter, quoting=csv.QUOTE_NONE if kind == "tsv" else csv.QUOTE_MINIMAL, strict=True)
    header: list[str] = []
    place, start = 0, 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            advice = "close its quote" if "unexpected end" in str(error) else "quote the field, with each quote in it doubled"
            raise BadInput(f"{name}:{start}: not a csv row ({error}); {advice}") from None
        if row is None:
            return
        if row and not header:
            header = row
            place = header.index(choose_text_column(header, column, f"{name}:{start}"))
        elif row:
            if len(row) != len(header):
                counts = f"{len(row)} fields where the header has {len(header)}"
                raise BadInput(f"{name}:{start}: {counts}; quote the delimiter or fix the row")
            yield row[place]
        start = rows.line_num + 1


def first_filled(source: Iterator[str]) -> Iterator[str]:
    """The lines up to the first that is not blank."""
    for line in source:
        yield line
        if not line.isspace():
            return


def from_parquet(content: InputStream, source: InputFile, column: str | None, advance: Callable[[float], None]) -> Iterator[str]:
    """`advance` is told the share of the rows that is done."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadInput(f"{source.name}: parquet needs pyarrow; install it with: pip install 'stairs[parquet]'") from None
    name, done = source.name, 0
    try:
        file = pyarrow.parquet.ParquetFile(content.seekable())
        total = max(file.metadata.num_rows, 1)
        chosen = choose_text_column(file.schema_arrow.names, column, name)
        for batch in file.iter_batches(batch_size=1024, columns=[chosen]):
            values = batch.column(0).to_pylist()
            for row, value in enumerate(values, done + 1):
                if not isinstance(value, str):
                    what = f"column {preview(chosen)} is {kind_of(value)} where text is needed"
                    raise BadInput(f"{name}:{row}: {what}; fix or leave out the row")
            done += len(values)
            if not source.compression:  # else it was metered while it was decompressed
                content.meter.add(sum(map(len, values)), name)
            advance(done / total)
            yield from values
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        message = " ".join(str(error).split())[:80]
        raise BadInput(f"{name}: not a readable parquet file ({message}); write it again or give jsonl") from None
