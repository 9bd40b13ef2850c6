"""What the cells of a workbook hold, as the text that a CSV export would have: ids and dates stay what they look like.

A number is text without needless digits (5, not 5.0), a date is ISO 8601 (2026-11-18, or 2026-11-18 09:30:00), truth is TRUE or FALSE.
"""

import re
from datetime import datetime, timedelta
from typing import Literal

from stairs.text.tables.xlsx_package import XlsxPackage

DateKind = Literal["date", "time", "elapsed"]
DATE_FORMATS: dict[int, DateKind] = {  # built in, by number
    **dict.fromkeys((*range(14, 18), 22, *range(27, 32), 36, *range(50, 55), 57, 58), "date"),
    **dict.fromkeys((*range(18, 22), *range(32, 36), 45, 47, 55, 56), "time"),
    46: "elapsed",
}  # fmt: skip
NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|general', re.IGNORECASE)  # literal text, colours, locales
EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
PHANTOM_DAY = 60  # Lotus counted a 29th of February 1900, and so does Excel
MAX_WHOLE = 1e16  # a double beyond it does not know its last digits
WHOLE = re.compile(r"-?\d{1,15}", re.ASCII)


def date_kind(code: str) -> DateKind | None:
    """Of a number format such as yyyy-mm-dd; None if it shows a number."""
    bare = NOT_CODES.sub("", code.split(";")[0]).casefold()
    if "[" in bare:
        return "elapsed"
    if any(letter in bare for letter in "yd") or ("m" in bare and not any(letter in bare for letter in "hs")):
        return "date"
    return "time" if any(letter in bare for letter in "hs") else None


def read_date_styles(package: XlsxPackage, part: str) -> dict[int, DateKind]:
    """The styles, by number, whose cells hold dates or times."""
    codes: dict[int, DateKind | None] = dict(DATE_FORMATS)
    styles: dict[int, DateKind] = {}
    is_cell_format, count = False, 0
    for element, own in package.elements(part):
        if element == "numFmt":
            codes[int(own.get("numFmtId", "0"))] = date_kind(own.get("formatCode", ""))
        elif element in ("cellStyleXfs", "cellXfs", "cellStyles"):
            is_cell_format = element == "cellXfs"
        elif element == "xf" and is_cell_format:
            if kind := codes.get(int(own.get("numFmtId", "0"))):
                styles[count] = kind
            count += 1
    return styles


def number_text(stored: str) -> str:
    """As people write it; what is no number stays as it is."""
    if WHOLE.fullmatch(stored):
        return stored
    try:
        number = float(stored)
    except ValueError:
        return stored
    return str(int(number)) if number.is_integer() and abs(number) < MAX_WHOLE else repr(number)


def date_text(stored: str, kind: DateKind, epoch: datetime) -> str:
    """A count of days since the epoch; a number that no date has stays a number."""
    try:
        days = float(stored)
        if kind == "elapsed":
            minutes, seconds = divmod(round(days * 86400), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        if epoch is EPOCH and 1 <= days < PHANTOM_DAY:
            days += 1
        moment = epoch + timedelta(seconds=round(days * 86400))
    except (ValueError, OverflowError):
        return number_text(stored)
    if kind == "time" and 0 <= days < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if moment.time() == datetime.min.time() else moment.isoformat(" ")


def iso_text(stored: str) -> str:
    """2026-11-18T00:00:00 is a day."""
    return stored.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")


def string_text(stored: str) -> str:
    """Line ends as everywhere; Excel writes a carriage return as _x000D_."""
    if "_x" in stored:
        stored = re.sub(r"_x([0-9A-Fa-f]{4})_", unescape, stored)
    return stored.replace("\r\n", "\n").replace("\r", "\n")


def unescape(escaped: re.Match[str]) -> str:
    character = chr(int(escaped[1], 16))
    return escaped[0] if "\ud800" <= character <= "\udfff" or character == "\0" else character
