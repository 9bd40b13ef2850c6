"""The rows of a sheet of an .xlsx workbook: parsed once, as a stream, into a temporary file that can be read again and again in bounded memory.

The sheet is the first visible one that holds anything; if others do, too, the user is told which is read. A merged cell counts for every row that
it spans, since that is what people see. A formula counts as the value that was stored with it.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from stairs.errors import BadInput, preview
from stairs.progress import say
from stairs.text.tables.lines import check_regular, input_error
from stairs.text.tables.spooled_strings import SpooledStrings
from stairs.text.tables.xlsx_cells import EPOCH, EPOCH_1904, DateKind, date_text, iso_text, number_text, read_date_styles, string_text
from stairs.text.tables.xlsx_package import SAVE_AS, Attributes, Handlers, SheetPart, XlsxPackage, local_name

MAX_ROWS, MAX_COLUMNS = 1 << 20, 1024  # Excel itself has as many rows
MAX_CELL = 1 << 24  # characters
MAX_MERGED = 100_000  # ranges
MAX_OPEN_SHEETS = 4  # whose rows stay on the disk
REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})", re.ASCII)

Row = tuple[int, list[str]]  # its number, and its cells up to the last that is not empty


class Merged(NamedTuple):
    column: int
    last_row: int


class SheetParser:
    """Gathers the rows of one sheet while it is parsed."""

    def __init__(self, package: XlsxPackage, strings: SpooledStrings, dates: dict[int, DateKind], epoch: datetime) -> None:
        self.package, self.strings, self.dates, self.epoch = package, strings, dates, epoch
        self.rows: list[Row] = []
        self.row = self.column = 0
        self.cells: list[str] = []
        self.kind, self.style, self.pieces, self.length = "n", 0, [""], 0
        self.is_value = self.is_formula = self.is_phonetic = False
        self.merged: dict[int, list[Merged]] = {}  # by their first row
        self.errors, self.unstored, self.first_unstored = 0, 0, 0

    @property
    def handlers(self) -> Handlers:
        return Handlers(self.start, self.end, self.text)

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            reference = attributes.get("r")
            self.column = locate(reference)[0] if reference else self.column + 1
            if not 1 <= self.column <= MAX_COLUMNS:
                raise self.fault(f"a cell in column {self.column:,}, and {MAX_COLUMNS:,} are the limit; remove it")
            self.kind, self.style = attributes.get("t", "n"), int(attributes.get("s", "0"))
            self.pieces, self.length, self.is_formula = [], 0, False
        elif name in ("v", "t"):
            self.is_value = not self.is_phonetic
        elif name == "f":
            self.is_formula = True
        elif name == "rPh":  # how Japanese is pronounced
            self.is_phonetic = True
        elif name == "row":
            number = int(attributes["r"]) if "r" in attributes else self.row + 1
            if not self.row < number <= MAX_ROWS:
                raise self.fault(f"row {number:,} after row {self.row:,}; {SAVE_AS}")
            self.row, self.column, self.cells = number, 0, []
        elif name == "mergeCell":
            self.merge(attributes.get("ref", ""))
        elif ":" in name:
            self.start(local_name(name), attributes)

    def text(self, text: str) -> None:
        if self.is_value:
            self.pieces.append(text)
            self.length += len(text)
            if self.length > MAX_CELL:
                raise self.fault(f"a cell of more than {MAX_CELL:,} characters; shorten it")

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self.is_value = False
        elif name == "c":
            value = self.value("".join(self.pieces))
            if value:
                self.cells += [""] * (self.column - len(self.cells))
                self.cells[self.column - 1] = value
        elif name == "rPh":
            self.is_phonetic = False
        elif name == "row" and self.cells:
            self.rows.append((self.row, self.cells))
        elif ":" in name:
            self.end(local_name(name))

    def value(self, stored: str) -> str:
        """The cell as text."""
        if self.kind == "s":
            number = int(stored) if stored.strip() else -1
            if number >= len(self.strings):
                raise self.fault(f"text number {number:,} of {len(self.strings):,}; {SAVE_AS}")
            return self.strings[number] if number >= 0 else ""
        if self.kind in ("inlineStr", "str"):
            return string_text(stored)
        if self.kind == "e":
            self.errors += 1
            return ""
        if not stored:
            self.unstored += self.is_formula
            self.first_unstored = self.first_unstored or self.is_formula * self.row
            return ""
        if self.kind == "b":
            return "FALSE" if stored.strip() == "0" else "TRUE"
        if self.kind == "d":
            return iso_text(stored)
        kind = self.dates.get(self.style)
        return date_text(stored, kind, self.epoch) if kind else number_text(stored)

    def merge(self, ref: str) -> None:
        first, _, last = ref.partition(":")
        (column, row), (_, last_row) = locate(first), locate(last or first)
        if last_row > row:
            self.merged.setdefault(row, []).append(Merged(column, last_row))
        if len(self.merged) > MAX_MERGED:
            raise self.fault(f"more than {MAX_MERGED:,} merged ranges; {SAVE_AS}")

    def fault(self, sentence: str) -> BadInput:
        return input_error(self.package.name, self.row, sentence)


class SheetRows:
    """The rows of one sheet on the disk."""

    def __init__(self, path: Path) -> None:
        package = XlsxPackage(path)
        try:
            self.read(package)
        except (ValueError, OverflowError) as error:  # of a number that is none
            raise error if isinstance(error, BadInput) else package.damage(error) from None
        finally:
            package.close()

    def read(self, package: XlsxPackage) -> None:
        self.records, self.width = SpooledStrings(f"the rows of {package.name}"), 0
        main = package.workbook_part()
        targets = package.targets(main)
        strings, dates = SpooledStrings(f"the texts of {package.name}"), {}
        for kind, part in targets.values():
            if kind == "sharedStrings" and part in package.names:
                read_strings(package, part, strings)
            elif kind == "styles" and part in package.names:
                dates = read_date_styles(package, part)
        elements = package.elements(main)
        is_1904 = any(name == "workbookPr" and own.get("date1904") in ("1", "true") for name, own in elements)
        epoch = EPOCH_1904 if is_1904 else EPOCH
        parsers = {sheet: SheetParser(package, strings, dates, epoch) for sheet in visible_sheets(package, elements, targets)}
        filled = [sheet for sheet, parser in parsers.items() if has_rows(package, sheet.part, parser)]
        if not filled:
            raise BadInput(f"no text in {package.name}; give a sheet with a header line and a row for each example")
        if len(filled) > 1:
            others = ", ".join(preview(sheet.title) for sheet in filled[1:4])
            say(f"{package.name}: the sheet {preview(filled[0].title)} is read, and not {others}; move another to the front to read that one")
        parser = SheetParser(package, strings, dates, epoch)
        for _ in package.parse(filled[0].part, parser.handlers):
            for number, cells in parser.rows:
                self.records.append(json.dumps([number, *cells], ensure_ascii=False))
                self.width = max(self.width, len(cells))
            parser.rows = []
        self.records.flush()
        self.merged = parser.merged
        if parser.errors:
            say(f"{package.name}: {parser.errors:,} cells hold an error such as #N/A and are read as empty")
        if parser.unstored:
            advice = "open the file in a spreadsheet program and save it, which stores them"
            say(f"{package.name}:{parser.first_unstored}: {parser.unstored:,} formulas have no value stored and are read as empty; {advice}")

    def __iter__(self) -> Iterator[Row]:
        spans: dict[int, tuple[int, str]] = {}  # of a column, the last row of a merged cell, and its value
        for record in self.records:
            number, *cells = json.loads(record)
            for column in [column for column, (last, _) in spans.items() if last < number]:
                del spans[column]
            for column, (_, value) in spans.items():
                cells += [""] * (column - len(cells))
                cells[column - 1] = cells[column - 1] or value
            for column, last in self.merged.get(number, ()):
                if column <= len(cells):
                    spans[column] = last, cells[column - 1]
            yield number, cells


def locate(reference: str) -> tuple[int, int]:
    """'B7' -> (2, 7)."""
    match = REFERENCE.fullmatch(reference)
    if not match:
        raise ValueError(f"{preview(reference)} names no cell")
    column = 0
    for letter in match[1]:
        column = 26 * column + ord(letter) - 64
    return column, int(match[2])


def visible_sheets(package: XlsxPackage, elements: list[tuple[str, Attributes]], targets: dict[str, tuple[str, str]]) -> list[SheetPart]:
    """In the order of their tabs, without sheets of charts."""
    found = []
    for name, own in elements:
        identifier = next((value for key, value in own.items() if local_name(key) == "id"), "")
        kind, part = targets.get(identifier, ("", ""))
        if name == "sheet" and own.get("state", "visible") == "visible" and kind == "worksheet" and part in package.names:
            found.append(SheetPart(own.get("name", ""), part))
    return found


def has_rows(package: XlsxPackage, part: str, parser: SheetParser) -> bool:
    return any(parser.rows for _ in package.parse(part, parser.handlers))


def read_strings(package: XlsxPackage, part: str, strings: SpooledStrings) -> None:
    """The texts that cells refer to by number, without how they are pronounced."""
    pieces: list[str] = []
    state = {"is_text": False, "is_phonetic": False}

    def start(name: str, attributes: Attributes) -> None:
        name = local_name(name)
        if name == "si":
            pieces.clear()
        elif name == "rPh":
            state["is_phonetic"] = True
        state["is_text"] = name == "t" and not state["is_phonetic"]

    def end(name: str) -> None:
        name = local_name(name)
        state["is_text"] = False
        if name == "rPh":
            state["is_phonetic"] = False
        elif name == "si":
            strings.append(string_text("".join(pieces)))

    def text(value: str) -> None:
        if state["is_text"]:
            pieces.append(value)

    for _ in package.parse(part, Handlers(start, end, text)):
        if sum(map(len, pieces)) > MAX_CELL:
            raise BadInput(f"{package.name}: a cell of more than {MAX_CELL:,} characters; shorten it")


@lru_cache(maxsize=MAX_OPEN_SHEETS)
def cached_rows(path: Path, modified: int, size: int) -> SheetRows:
    return SheetRows(path)


def sheet_rows(path: str | Path) -> SheetRows:
    """The rows of a workbook, which are parsed once for each version of the file."""
    source = check_regular(path)
    status = source.stat()
    return cached_rows(source, status.st_mtime_ns, status.st_size)
