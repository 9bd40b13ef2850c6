"""An .xlsx file is a zip of XML parts, read here as an enemy's: streamed, without document types, external links or decompression bombs.

Nothing of it is held in memory but the piece that is being parsed, and nothing is ever unpacked to the disk under a name from the file.
"""

import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from stairs.errors import BadInput, EnvironmentFault
from stairs.files import os_error_reason
from stairs.text.input_files import BOMB_BYTES, BOMB_RATIO, printable
from stairs.text.tables.lines import check_regular

BLOCK = 1 << 16
MAX_PARTS = 10_000
SAVE_AS = "save it as CSV UTF-8, or again as .xlsx"

OTHER_SPREADSHEETS = {"content.xml": "an OpenDocument file", "Index/Document.iwa": "a Numbers file", "xl/workbook.bin": "an .xlsb workbook"}

Attributes = dict[str, str]


def local_name(name: str) -> str:
    return name.rpartition(":")[2]


class Handlers(NamedTuple):
    """What is done at the start of an element, at its end, and with the text inside. A name may have a prefix."""

    start: Callable[[str, Attributes], None]
    end: Callable[[str], None] = lambda name: None
    text: Callable[[str], None] = lambda text: None


class SheetPart(NamedTuple):
    title: str
    part: str  # its name in the zip


class XlsxPackage:
    """The parts of a workbook; close it after use."""

    def __init__(self, path: str | Path) -> None:
        self.name = printable(path)
        self.compressed = self.inflated = 0
        source = check_regular(path)
        try:
            self.zip = zipfile.ZipFile(source)
        except PermissionError as error:
            raise EnvironmentFault(f"{self.name}: no permission to read it; change its permissions") from error
        except OSError as error:
            raise EnvironmentFault(f"{self.name}: cannot be read ({os_error_reason(error)}); check the disk") from error
        except (zipfile.BadZipFile, ValueError) as error:
            with open(source, "rb") as file:
                is_old = file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
            what = "is an old .xls workbook, or one with a password" if is_old else "is no Excel workbook, or a damaged one"
            raise BadInput(f"{self.name}: {what}; {'open it in Excel and ' if is_old else ''}{SAVE_AS}") from error
        self.names = set(self.zip.namelist())
        if len(self.names) > MAX_PARTS:
            raise BadInput(f"{self.name}: {len(self.names):,} parts, where a workbook has a few; {SAVE_AS}")

    def close(self) -> None:
        self.zip.close()

    def damage(self, detail: object) -> BadInput:
        return BadInput(f"{self.name}: not an Excel workbook, or a damaged one ({str(detail)[:80]}); {SAVE_AS}")

    def blocks(self, part: str) -> Iterator[bytes]:
        """The inflated bytes of a part; a bomb is refused while it explodes."""
        try:
            info = self.zip.getinfo(part)
            self.compressed += info.compress_size
            with self.zip.open(info) as stream:
                while block := stream.read(BLOCK):
                    self.inflated += len(block)
                    if self.inflated > BOMB_BYTES and self.inflated > BOMB_RATIO * self.compressed:
                        sizes = f"{self.compressed:,} bytes became {self.inflated:,}"
                        raise BadInput(f"{self.name}: {sizes}, more than {BOMB_RATIO} times as many, as in a decompression bomb; {SAVE_AS}")
                    yield block
        except KeyError:
            raise self.damage(f"no part {part}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:  # RuntimeError: it is encrypted
            raise self.damage(error) from None
        except OSError as error:
            raise EnvironmentFault(f"{self.name}: cannot be read ({os_error_reason(error)}); check the disk") from error

    def parse(self, part: str, handlers: Handlers) -> Iterator[None]:
        """Run the handlers over a part; it yields after each block, so that a caller can use what they have gathered, and stop."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self.refuse_doctype
        parser.StartElementHandler, parser.EndElementHandler = handlers.start, handlers.end
        parser.CharacterDataHandler = handlers.text
        try:
            for block in self.blocks(part):
                parser.Parse(block, False)
                yield
            parser.Parse(b"", True)
            yield
        except expat.ExpatError as error:
            raise self.damage(f"{part}: {error}") from None

    def refuse_doctype(self, *_: object) -> None:
        raise BadInput(f"{self.name}: declares a document type, which no workbook does and attacks do; {SAVE_AS}")

    def elements(self, part: str) -> list[tuple[str, Attributes]]:
        """The elements of a small part."""
        found: list[tuple[str, Attributes]] = []
        for _ in self.parse(part, Handlers(lambda name, own: found.append((local_name(name), own)))):
            if len(found) > MAX_PARTS * 10:
                raise self.damage(f"{part} has more than {MAX_PARTS * 10:,} elements")
        return found

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """(kind, part) of each relationship of a part, by its id; what lies outside the file is left out."""
        folder, name = posixpath.split(part)
        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations not in self.names:
            return {}
        found = {}
        for element, own in self.elements(relations):
            if element == "Relationship" and own.get("TargetMode") != "External" and "Target" in own:
                target = posixpath.normpath(posixpath.join("/", folder, own["Target"])).lstrip("/")
                found[own.get("Id", "")] = own.get("Type", "").rpartition("/")[2], target
        return found

    def workbook_part(self) -> str:
        mains = [part for kind, part in self.targets("").values() if kind == "officeDocument"]
        part = next((own for own in mains if own in self.names), "xl/workbook.xml")
        if part not in self.names:
            what = next((what for name, what in OTHER_SPREADSHEETS.items() if name in self.names), None)
            raise BadInput(f"{self.name}: is {what}; {SAVE_AS}") if what else self.damage("it has no workbook")
        return part
