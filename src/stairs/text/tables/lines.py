"""A file of labelled data as decoded lines with their numbers, out of gzip, xz or zstd where its ending says so."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from stairs.errors import BadInput, EnvironmentFault
from stairs.text.encoding import decode_stream
from stairs.text.input_files import COMPRESSIONS, InputFile, InputStream, ReadMeter, os_error_reason, printable

LINE_LIMIT = 1 << 26  # characters; a longer line is a missing newline, and would not fit in memory


def input_error(name: str, line: int, sentence: str) -> BadInput:
    """The one shape of complaint: where, what came, what to do."""
    return BadInput(f"{name}:{line}: {sentence}")


def file_suffix(path: str | Path) -> str:
    """'reviews.CSV.gz' -> '.csv'."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in COMPRESSIONS else path.name).suffix.lower()


def check_regular(path: str | Path) -> Path:
    """Refuse what is not there, and what would hang or never end: pipes, devices, folders."""
    if str(path) == "-":
        raise BadInput("labelled data cannot come from stdin; save it to a file whose ending says what it is")
    name = printable(path)
    try:
        mode = os.stat(path).st_mode
    except PermissionError as error:
        raise EnvironmentFault(f"{name}: may not be read; change its permissions") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInput(f"{name}: there is no such file; check the name") from error
    if stat.S_ISDIR(mode):
        raise BadInput(f"{name}: is a folder; name one file of labelled data in it")
    if not stat.S_ISREG(mode):
        raise BadInput(f"{name}: is no ordinary file; copy the data into one first")
    return Path(path)


class LabelledStream(InputStream):
    """The inflated bytes of one file; what the disk refuses is the environment's fault."""

    def read(self, size: int = 1 << 20) -> bytes:
        try:
            return self.read_inflated(size) if self.source.compression else self.file.read(size)
        except OSError as error:
            raise EnvironmentFault(f"{self.source.name}: cannot be read ({os_error_reason(error)}); check the disk") from error


@contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    path = check_regular(path)
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise EnvironmentFault(f"{printable(path)}: may not be read ({os_error_reason(error)}); change its permissions") from error
    with file:
        yield LabelledStream(file, InputFile(path, printable(path), 0, "text", compression), ReadMeter())  # type: ignore[misc]


def text_blocks(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """Decoded text in pieces cut anywhere."""
    with open_binary(path) as raw:
        yield from decode_stream(raw, encoding, printable(path))


def numbered_lines(path: str | Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end); a NUL or an endless line is refused where it stands."""
    number, length = 1, 0
    parts: list[str] = []
    for block in text_blocks(path, encoding):
        if "\0" in block:
            line = number + block.count("\n", 0, block.index("\0"))
            raise input_error(printable(path), line, "a NUL character; this is no plain text, or it was damaged: remove it")
        pieces = block.split("\n")
        if len(pieces) > 1:
            parts.append(pieces[0])
            yield number, "".join(parts)
            number += 1
            for piece in pieces[1:-1]:
                yield number, piece
                number += 1
            parts, length = [], 0
        parts.append(pieces[-1])
        length += len(pieces[-1])
        if length > LINE_LIMIT:
            raise input_error(printable(path), number, f"a line of more than {LINE_LIMIT:,} characters; put one record on each line")
    last = "".join(parts)
    if last:
        yield number, last
