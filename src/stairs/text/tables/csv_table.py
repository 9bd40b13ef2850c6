"""CSV and TSV (RFC 4180) read strictly and as a stream: every error names the physical line.

In TSV a line with as many tabs as the header is taken as it stands, with its quotes, for there they are usually text. Quotes enclose a field only
when the header is quoted too, or when the row fits in no other way. Rows whose cells are all empty are no rows, and empty cells beyond the header are
no cells: spreadsheet programs write both.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from stairs.errors import BadInput, preview
from stairs.text.input_files import printable
from stairs.text.tables.lines import NumberedLines, file_suffix, input_error, numbered_lines

FIELD_LIMIT = 1 << 24  # characters
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
EMPTY_CELLS = ',;|\t" '  # what a line of empty cells is made of
COUNTED_ROWS = 100_000  # after a bad one
CLOSING_QUOTE = re.compile(r'[^"]*+(?:""[^"]*+)*+"')


class CsvReader:
    """One pass over lines of CSV: `columns` are read at once, then iterate over (line, fields); a blank line is no row."""

    def __init__(self, lines: NumberedLines, name: str, suffix: str, *, header: bool = True):
        self.lines, self.name, self.suffix, self.header = lines, name, suffix, header
        self.line, first = next_filled(lines)
        self.delimiter = guess_delimiter(first, suffix)
        if first.lower().startswith("sep=") and len(first) == 5:  # Excel's own hint
            self.delimiter = first[4]
            self.line, first = next_filled(lines, self.line)
        self.has_quotes = self.delimiter != "\t" or first.startswith('"')
        self.first_fields = split_quoted(name, self.line, first, lines, self.delimiter) if self.has_quotes else first.split(self.delimiter)
        names = [field.strip().strip("\ufeff") if header else str(number) for number, field in enumerate(self.first_fields, 1)]
        self.columns = unique_names(names) if self.line else []  # none in a file without a line
        self.unnamed = len(names) - len(drop_empty(names))  # columns at the right

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width = len(self.columns)
        if not self.header:
            yield self.line, self.first_fields
        for line, text in self.lines:
            if not text.strip():
                continue
            if '"' in text and (self.has_quotes or (text.count("\t") != width - 1 and has_opening_quote(text))):
                fields = split_quoted(self.name, line, text, self.lines, self.delimiter)
            else:
                fields = text.split(self.delimiter)
                if len(text) > FIELD_LIMIT:
                    check_lengths(self.name, line, fields)
            if len(fields) != width:
                fields = self.fit(line, fields)
            if any(field and not field.isspace() for field in fields):
                yield line, fields

    def fit(self, line: int, fields: list[str]) -> list[str]:
        """A row that is too long or too short by empty cells; any other is refused."""
        width, own = len(self.columns), len(drop_empty(fields))
        if own <= width <= len(fields) or width - self.unnamed <= len(fields) < width:
            return fields[:width] + [""] * (width - len(fields))
        reference = "the header" if self.header else f"line {self.line}"
        advice = f"quote the {DELIMITERS.get(self.delimiter, self.delimiter)} or fix the row" if len(fields) > width else "fix the row"
        if width == 1 and self.suffix in (".csv", ".tsv", ".tab"):
            advice = f"{advice}; if {preview(self.first_fields[0])} is a title, delete what stands above the header"
        raise input_error(self.name, line, f"{len(fields)} fields where {reference} has {width}{self.count_others(width)}; {advice}")

    def count_others(self, width: int) -> str:
        """How many of the next rows are like one that does not fit, in words, as far as quotes do not tell otherwise."""
        others = sum(text.count(self.delimiter) + 1 != width for _, text in islice(self.lines, COUNTED_ROWS) if text.strip() and '"' not in text)
        return f", and {others:,} more row{'s do' if others > 1 else ' does'} not fit" if others else ""


class TableReader(Protocol):
    """One pass over the rows of a table whose cells are text."""

    line: int  # of the header
    columns: list[str]
    delimiter: str

    def __iter__(self) -> Iterator[tuple[int, list[str]]]: ...


class CsvTable:
    """The rows of a CSV or TSV file, readable again and again; `header=False` where the first line is a row like the others."""

    def __init__(self, path: str | Path, encoding: str | None = None, *, header: bool = True):
        self.path, self.name, self.encoding, self.header = path, printable(path), encoding, header
        reader = self.reader()
        self.line, self.columns, self.delimiter = reader.line, reader.columns, reader.delimiter
        if not self.columns:
            raise BadInput(f"no text in {self.name}; give a file with a header line and a row for each example")
        if header and len(self.columns) > 1 and len(drop_empty(self.columns)) == 1:
            self.refuse_title(reader)

    def refuse_title(self, reader: TableReader) -> None:
        """One name at the left, and rows of several cells: a title, or the rest of the header is missing."""
        _, first = next(iter(reader), (0, []))
        if len(drop_empty(first)) > 1:
            names = f"one name, {preview(self.columns[0])}, for {len(self.columns)} columns"
            raise input_error(self.name, self.line, f"the first line has {names}; delete what stands above the header, or name the columns there")

    def without_header(self) -> "CsvTable":
        """The same, with the first line as a row like the others."""
        return type(self)(self.path, self.encoding, header=False)

    def reader(self) -> TableReader:
        return CsvReader(numbered_lines(self.path, self.encoding), self.name, file_suffix(self.path), header=self.header)

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """(line, the fields of the named columns) of every row."""
        positions = [self.columns.index(name) for name in names]
        for line, fields in self.reader():
            yield line, [fields[position] for position in positions]


def next_filled(lines: NumberedLines, last: int = 0) -> tuple[int, str]:
    """The next line that holds more than delimiters; an empty one, at `last`, if there is none."""
    return next(((line, text) for line, text in lines if text.strip().strip(EMPTY_CELLS)), (last, ""))


def drop_empty(cells: Sequence[str]) -> Sequence[str]:
    """Without the empty cells at the right."""
    count = len(cells)
    while count and not cells[count - 1].strip():
        count -= 1
    return cells[:count]


def unique_names(names: Sequence[str]) -> list[str]:
    """Each name once: one that occurs again says in which column, and so can be chosen."""
    seen: set[str] = set()
    found: list[str] = []
    for number, name in enumerate(names, 1):
        found.append(name if name not in seen else f"{name} (column {number})" if name else f"column {number}")
        seen.add(name)
    return found


def find_column(columns: Sequence[str], name: str) -> str | None:
    """A column by its name, or by its number from 1."""
    if name in columns:
        return name
    return columns[int(name) - 1] if re.fullmatch(r"[1-9]\d{0,3}", name) and int(name) <= len(columns) else None


def guess_delimiter(header: str, suffix: str) -> str:
    """What separates the names of the header: the delimiter of the file's suffix if it occurs there, else whichever occurs most."""
    default = "," if suffix == ".csv" else "\t"
    bare = re.sub(r'"[^"]*"', "", header)
    return default if default in bare else max(DELIMITERS, key=lambda delimiter: (bare.count(delimiter), delimiter == default))


def has_opening_quote(text: str) -> bool:
    return text.startswith('"') or '\t"' in text


def split_quoted(name: str, line: int, text: str, lines: NumberedLines, delimiter: str) -> list[str]:
    """The fields of one record; a quoted one may go on over the next lines of `lines`."""
    fields: list[str] = []
    at = 0
    while True:
        if text[at : at + 1] == '"':
            while not (closing := CLOSING_QUOTE.match(text, at + 1)):
                text = read_continuation(name, line + text.count("\n"), text, lines)
            after = closing.end()
            field = text[at + 1 : after - 1].replace('""', '"')
            stray = text[after : after + 1] not in ("", delimiter)
        else:
            after = text.find(delimiter, at)
            after = len(text) if after < 0 else after
            field = text[at:after]
            stray = '"' in field
        if stray:
            sentence = f"a quote inside field {len(fields) + 1}; put quotes around the whole field and double those inside it"
            raise input_error(name, line + text.count("\n", 0, after), sentence)
        fields.append(field)
        if after >= len(text):
            if len(text) > FIELD_LIMIT:
                check_lengths(name, line, fields)
            return fields
        at = after + 1


def check_lengths(name: str, line: int, fields: list[str]) -> None:
    for number, field in enumerate(fields, 1):
        if len(field) > FIELD_LIMIT:
            raise input_error(name, line, f"field {number} has {len(field):,} characters and the limit is {FIELD_LIMIT:,}; shorten it")


def read_continuation(name: str, line: int, text: str, lines: NumberedLines) -> str:
    """`text` and the lines after it up to the next that can close the quote it leaves open on `line`."""
    parts, length = [text], len(text)
    for _, more in lines:
        parts.append(more)
        length += len(more) + 1
        if length > FIELD_LIMIT:
            raise input_error(name, line, f"a quote is opened and not closed within {FIELD_LIMIT:,} characters; close it or double it")
        if more.count('"') % 2:
            return "\n".join(parts)
    raise input_error(name, line, "a quote is opened and never closed; close it or double it")
