"""Files on disk as streams of bytes and of text: folders walked in order, gz, xz and zst inflated, decompression bombs refused, bytes decoded.

Only a regular file is opened: a FIFO, a device or a socket would hang or never end.
"""

import codecs
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from stairs.errors import BadInput, EnvironmentFault
from stairs.files import os_error_reason
from stairs.text.decompression import inflate
from stairs.text.encoding import BYTE_ORDER_MARKS, decoding_error, detect_encoding, refuse_binary, sample_from_line_start, text_codec

BLOCK = 1 << 20
BOMB_RATIO, BOMB_BYTES = 200, 100 << 20
COMPRESSIONS = (".gz", ".xz", ".zst")
DISPLAY_NAMES: dict[str, str] = {}  # of files that hold what a Python caller handed in: "DataFrame"
FILE_KINDS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip


@dataclass(frozen=True)
class InputFile:
    """One file of a corpus."""

    path: Path
    name: str  # what an error calls it
    size: int  # bytes on disk
    kind: str  # text, jsonl, csv, tsv, parquet or xlsx
    compression: str  # a suffix, or "" for none


@dataclass
class ReadMeter:
    """Bytes read so far: those on disk, and those they inflated to."""

    limit: int | None = None
    bytes_done: int = 0  # on disk, of all files
    inflated_total: int = 0

    def add(self, count: int, name: str) -> None:
        self.inflated_total += count
        if self.limit is not None and self.inflated_total > self.limit:
            raise BadInput(f"{name}: more than {self.limit:,} bytes of text in all; raise --max-bytes or give less text")


def printable(path: str | Path) -> str:
    """A file name that is safe in a sentence: control characters and undecodable bytes escaped."""
    name = DISPLAY_NAMES.get(str(path), str(path))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def find_files(path: str | Path) -> tuple[list[InputFile], list[str]]:
    """The files of a path, sorted within each folder, without hidden ones; and a sentence for each that cannot be read."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise BadInput(f"{printable(path)}: no such file or folder; check the path") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{printable(path)}: cannot be read ({getattr(error, 'strerror', None) or error}); check the path") from None
    if not stat.S_ISDIR(mode):
        return [inspect_file(path)], []
    sources: list[InputFile] = []
    faults: list[str] = []

    def add_error(error: OSError) -> None:
        faults.append(f"{printable(error.filename)}: cannot be read ({os_error_reason(error)}); fix its permissions or use --skip-unreadable")

    for folder, inner, files in os.walk(path, onerror=add_error):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                try:
                    sources.append(inspect_file(Path(folder, name)))
                except BadInput as error:
                    faults.append(str(error))
    if not sources and not faults:
        raise BadInput(f"{printable(path)}: no file in this folder; give a folder with text files")
    return sources, faults


def inspect_file(path: Path) -> InputFile:
    name = printable(path)
    try:
        status = path.stat()
    except OSError as error:
        raise BadInput(f"{name}: cannot be read ({os_error_reason(error)}); remove it or use --skip-unreadable") from None
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{name}: is a {special_file_type(status.st_mode)}, not a file; pipe its content in and give - instead")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    return InputFile(path, name, status.st_size, FILE_KINDS.get(suffixes[-1], "text") if suffixes else "text", compression)


def special_file_type(mode: int) -> str:
    names = {stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device", stat.S_IFDIR: "folder"}
    return names.get(stat.S_IFMT(mode), "special file")


def spool_stdin(stream: BinaryIO | None = None, limit: int | None = None) -> tuple[BinaryIO, InputFile]:
    """Standard input in an unnamed temporary file, so that it can be read more than once."""
    stream = stream or sys.stdin.buffer
    file, size = temporary_file(), 0
    try:
        while block := stream.read(1 << 20):
            size += len(block)
            ReadMeter(limit).add(size, "stdin")
            file.write(block)
        file.flush()
    except OSError as error:
        raise no_space_error("stdin", error) from None
    return file, InputFile(Path("-"), "stdin", size, "text", "")


def temporary_file() -> BinaryIO:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise no_space_error("a temporary file", error) from None


def no_space_error(what: str, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(f"{what}: cannot be written to the temporary folder ({os_error_reason(error)}); free some space or set TMPDIR")


def open_file(source: InputFile) -> BinaryIO:
    try:
        return open(source.path, "rb", buffering=0)
    except OSError as error:
        raise unreadable_error(source, error) from None


def unreadable_error(source: InputFile, error: OSError) -> BadInput:
    return BadInput(f"{source.name}: cannot be read ({os_error_reason(error)}); fix it, leave it out or use --skip-unreadable")


class InputStream:
    """The inflated bytes of an open file, with the `read` of a binary stream; it may return a little more than `size`."""

    def __init__(self, file: BinaryIO, source: InputFile, meter: ReadMeter):
        self.file, self.source, self.meter = file, source, meter
        self.blocks = inflate(file, source.compression, source.name) if source.compression else iter(())
        self.inflated_bytes = 0

    def read(self, size: int = 1 << 20) -> bytes:
        try:
            block = self.read_inflated(size) if self.source.compression else self.file.read(size)
        except OSError as error:
            raise unreadable_error(self.source, error) from None
        self.meter.add(len(block), self.source.name)
        return block

    def read_inflated(self, size: int) -> bytes:
        pieces, length = [], 0
        while length < size and (piece := next(self.blocks, b"")):
            pieces.append(piece)
            length += len(piece)
            self.inflated_bytes += len(piece)
            self.refuse_bomb()
        return b"".join(pieces)

    def refuse_bomb(self) -> None:
        read = self.file.tell()
        if self.inflated_bytes > BOMB_BYTES and self.inflated_bytes > BOMB_RATIO * read:
            sizes = f"{read:,} bytes became {self.inflated_bytes:,}"
            advice = f"more than {BOMB_RATIO} times as many, as in a decompression bomb; decompress it first if you trust it"
            raise BadInput(f"{self.source.name}: {sizes}, {advice}")

    def seekable(self) -> BinaryIO:
        """The same bytes in a seekable file."""
        if not self.source.compression:
            return self.file
        copy = temporary_file()
        try:
            shutil.copyfileobj(self, copy)
            copy.seek(0)
        except OSError as error:
            raise no_space_error(self.source.name, error) from None
        return copy


class Readable(Protocol):
    """Any binary stream."""

    def read(self, size: int, /) -> bytes: ...


def decode_stream(raw: Readable, encoding: str | None, name: str) -> Iterator[str]:
    """The text of `raw` in blocks cut anywhere, without the first byte-order mark, in bounded memory.

    LF, CRLF and CR end a line and become LF; U+2028, U+2029 and NEL are ordinary whitespace.
    """
    codec = text_codec(encoding) if encoding else None
    head = read_full(raw)
    if codec is None:
        codec = "utf-8" if is_utf8(head, name) else detect_encoding(head, name)
    elif not head.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS)):
        refuse_binary(head, name)
    codec = "utf-8" if codec == "utf-8-sig" else codec
    decoder = codecs.getincrementaldecoder(codec)()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    offset, line, block = 0, 1, head
    own_mark = codec in ("utf-16", "utf-32")
    certain = own_mark
    first = True
    while True:
        state = decoder.getstate()
        final = not block
        try:
            text = newlines.decode(decoder.decode(block, final), final)
        except UnicodeDecodeError as error:
            start = error.start - len(state[0])  # the decoder puts the undecoded rest of the last block before this one
            decoder.setstate(state)
            line += newlines.decode(decoder.decode(block[: max(start, 0)])).count("\n")
            if final:
                sentence = f"{name}:{line}: ends in the middle of a {codec.upper()} character at offset {offset + start:,}"
                raise BadInput(f"{sentence}; the file is cut short, get all of it") from None
            sample = None if certain else sample_from_line_start(block, max(start, 0))
            raise decoding_error(name, codec, line, offset + start, error.object[error.start], sample) from None
        certain = certain or (encoding is None and not text.isascii())
        if first and text:
            text = text if own_mark else text.removeprefix("\ufeff")
            first = False
        line += text.count("\n")
        offset += len(block)
        if text:
            yield text
        if final:
            return
        block = read_full(raw)


def is_utf8(head: bytes, name: str) -> bool:
    """Whether a file that begins with `head` is certainly UTF-8, as `detect_encoding` would find, too."""
    refuse_binary(head, name)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return 0 not in head


def read_full(raw: Readable) -> bytes:
    """A full block, though a pipe may deliver it in pieces."""
    block = raw.read(BLOCK)
    while block and len(block) < BLOCK:
        more = raw.read(BLOCK - len(block))
        if not more:
            break
        block += more
    return block
