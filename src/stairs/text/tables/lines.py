"""A text file as decoded lines with their numbers, out of gzip, xz or zstd where its name says so."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stairs.errors import BadInput, EnvironmentFault
from stairs.files import os_error_reason
from stairs.text.input_files import COMPRESSIONS, InputFile, InputStream, ReadMeter, decode_stream, printable

LINE_LIMIT = 1 << 26  # characters; a longer line is a missing newline, and would not fit in memory

NumberedLines = Iterator[tuple[int, str]]


def input_error(name: str, line: int, sentence: str) -> BadInput:
    """The one shape of an error about a file: where, what is wrong, what to do."""
    return BadInput(f"{name}:{line}: {sentence}")


def file_suffix(path: str | Path) -> str:
    """'reviews.CSV.gz' -> '.csv'."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in COMPRESSIONS else path.name).suffix.lower()


def check_regular(path: str | Path) -> Path:
    """Refuse a file that does not exist, and what would hang or never end: pipes, devices, folders."""
    if str(path) == "-":
        raise BadInput("labelled data cannot be read from stdin; save it to a file whose suffix tells its format")
    name = printable(path)
    try:
        mode = os.stat(path).st_mode
    except PermissionError as error:
        raise EnvironmentFault(f"{name}: no permission to read it; change its permissions") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInput(f"{name}: no such file; check the name") from error
    if stat.S_ISDIR(mode):
        raise BadInput(f"{name}: is a folder; name one file of labelled data in it")
    if not stat.S_ISREG(mode):
        raise BadInput(f"{name}: is not a regular file; copy the data into one first")
    return Path(path)


class LabelledStream(InputStream):
    """The inflated bytes of one file of labelled data; a disk that fails is the environment's fault."""

    def read(self, size: int = 1 << 20) -> bytes:
        try:
            return self.read_inflated(size) if self.source.compression else self.file.read(size)
        except OSError as error:
            raise EnvironmentFault(f"{self.source.name}: cannot be read ({os_error_reason(error)}); check the disk") from error


@contextmanager
def open_binary(path: str | Path) -> Iterator[LabelledStream]:
    path = check_regular(path)
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise EnvironmentFault(f"{printable(path)}: cannot be opened ({os_error_reason(error)}); change its permissions") from error
    with file:
        yield LabelledStream(file, InputFile(path, printable(path), 0, "text", compression), ReadMeter())


def text_blocks(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """Decoded text in blocks cut anywhere."""
    with open_binary(path) as raw:
        yield from decode_stream(raw, encoding, printable(path))


def numbered_lines(path: str | Path, encoding: str | None = None) -> NumberedLines:
    """(number from 1, line without its end); a NUL is refused where it stands."""
    for number, line in split_lines(text_blocks(path, encoding), printable(path)):
        if "\0" in line:
            raise input_error(printable(path), number, "a NUL character; this is not plain text, or it is damaged: remove it")
        yield number, line


def split_lines(blocks: Iterable[str], name: str) -> NumberedLines:
    """(number from 1, line without its end), out of blocks cut anywhere; an endless line is refused."""
    number, length = 1, 0
    parts: list[str] = []
    for block in blocks:
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
            raise input_error(name, number, f"a line of more than {LINE_LIMIT:,} characters; put one record on each line")
    last = "".join(parts)
    if last:
        yield number, last
