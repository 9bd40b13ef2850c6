"""A corpus: the documents of files, folders or standard input, one after another, in memory that does not grow with it.

Of text files, blank lines separate documents; of jsonl, csv, tsv and parquet each record is one. Lines within a document are paragraphs.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from stairs.errors import BadInput
from stairs.text.corpus.text_column import from_jsonl, from_parquet, from_table
from stairs.text.encoding import decode_stream, text_codec
from stairs.text.input_files import InputFile, InputStream, ReadMeter, find_files, open_file, spool_stdin, unreadable_error

BLANK_LINES = re.compile(r"\n\s*\n")
SENTENCE_ENDS = ("。", "！", "？", ". ", "! ", "? ")


class Corpus:
    """Text to learn from, readable again and again: `for document in Corpus("notes.txt").documents()`."""

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        encoding: str | None = None,  # found out when None
        column: str | None = None,  # of records; guessed when None
        max_bytes: int | None = None,  # refuse more text than that, after decompression
        skip_unreadable: bool = False,  # leave out the files that can not be read, instead of stopping
    ):
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        if not given:
            raise BadInput("no corpus was given; name a text file, a folder or -")
        self.encoding = text_codec(encoding) if encoding else None
        self.column, self.max_bytes, self.skip_unreadable = column, max_bytes, skip_unreadable
        self.sources: list[InputFile] = []
        self.unreadable: list[str] = []  # a sentence for each file that is left out before it is opened
        self.stdin: BinaryIO | None = None
        for path in given:
            self.add(path)
        if self.unreadable and not skip_unreadable:
            raise BadInput(self.unreadable[0])
        self.name = short_name(given)
        self.size = sum(source.size for source in self.sources)
        self.max_characters = min(max(self.size // 200, 1024), 65536)  # characters a document may have before it comes in parts
        self.position = 0  # bytes on disk read so far by the latest documents()
        self.skipped: list[str] = list(self.unreadable)
        self.odd_characters: Counter[str] = Counter()  # NULs and byte-order marks inside the text: kept, and counted
        self.cached_hash: str | None = None

    def add(self, path: str | Path) -> None:
        if str(path) == "-":
            if self.stdin is None:
                self.stdin, source = spool_stdin(limit=self.max_bytes)
                self.sources.append(source)
            return
        sources, faults = find_files(path)
        self.sources += sources
        self.unreadable += faults

    def documents(self) -> Iterator[str]:
        """Each document, or part of a long one, as a string that is more than whitespace."""
        self.position, self.skipped = 0, list(self.unreadable)
        self.odd_characters.clear()
        meter = ReadMeter(self.max_bytes)
        some = False
        for source in self.sources:
            try:
                for document in self.read(source, meter):
                    some = True
                    yield document
            except BadInput as error:
                if not self.skip_unreadable:
                    raise
                self.skipped.append(str(error))
            meter.bytes_done += source.size
            self.position = meter.bytes_done
        if not some:
            where = self.sources[0].name if len(self.sources) == 1 else f"{len(self.sources):,} files of {self.name}"
            raise BadInput(f"no text in {where}; give a file with some sentences in it")

    def read(self, source: InputFile, meter: ReadMeter) -> Iterator[str]:
        file = self.open(source)
        try:
            content = InputStream(file, source, meter)
            if source.kind == "parquet":
                yield from self.record_documents(from_parquet(content, source, self.column, lambda share: self.advance(source.size * share, meter)))
                return
            blocks = self.count_oddities(decode_stream(content, self.encoding, source.name), file, meter)
            if source.kind == "text":
                yield from split_documents(blocks, self.max_characters)
            elif source.kind == "jsonl":
                yield from self.record_documents(from_jsonl(blocks, source.name, self.column))
            else:
                yield from self.record_documents(from_table(blocks, source.name, self.column, source.kind))
        finally:
            if file is not self.stdin:
                file.close()

    def open(self, source: InputFile) -> BinaryIO:
        if self.stdin is not None and str(source.path) == "-":
            self.stdin.seek(0)
            return self.stdin
        return open_file(source)

    def count_oddities(self, blocks: Iterator[str], file: BinaryIO, meter: ReadMeter) -> Iterator[str]:
        for block in blocks:
            self.advance(file.tell(), meter)
            for character, what in (("\0", "NUL"), ("\ufeff", "byte-order mark")):
                if character in block:
                    self.odd_characters[what] += block.count(character)
            yield block

    def advance(self, of_this_file: float, meter: ReadMeter) -> None:
        self.position = meter.bytes_done + int(of_this_file)

    def record_documents(self, records: Iterable[str]) -> Iterator[str]:
        for record in records:
            if "\r" in record:
                record = record.replace("\r\n", "\n").replace("\r", "\n")
            if record and not record.isspace():
                yield from cut_document(record, self.max_characters)

    def digest(self, source: InputFile) -> bytes:
        file = self.open(source)
        try:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return digest.digest()
        except OSError as error:
            raise unreadable_error(source, error) from None
        finally:
            if file is not self.stdin:
                file.close()

    @property
    def content_hash(self) -> str:
        """sha256 of what is read and how: the contents, their kinds, the column and the encoding; not names or dates."""
        if self.cached_hash is None:
            whole = hashlib.sha256(f"{self.column!r} {self.encoding!r}".encode())
            for source in self.sources:
                try:
                    whole.update(f"{source.kind}{source.compression}".encode() + self.digest(source))
                except BadInput:
                    if not self.skip_unreadable:
                        raise
            self.cached_hash = whole.hexdigest()
        return self.cached_hash


def split_documents(blocks: Iterable[str], max_characters: int) -> Iterator[str]:
    """Documents between blank lines, out of blocks cut anywhere; where they are cut does not depend on the blocks."""
    tail = ""
    for block in blocks:
        *whole, tail = BLANK_LINES.split(tail + block)
        for document in whole:
            yield from cut_document(document, max_characters)
        if len(tail) > max_characters:
            *parts, tail = cut_pieces(tail, max_characters)
            yield from drop_blank(parts)
    yield from cut_document(tail, max_characters)


def cut_document(document: str, max_characters: int) -> Iterable[str]:
    """A document as it is, or in parts if it is long; nothing if it is blank."""
    if len(document) <= max_characters:
        document = document.strip("\n")
        return (document,) if document and not document.isspace() else ()
    return drop_blank(cut_pieces(document, max_characters))


def drop_blank(pieces: Iterable[str]) -> Iterator[str]:
    return (stripped for piece in pieces if (stripped := piece.strip("\n")) and not stripped.isspace())


def cut_pieces(text: str, max_characters: int) -> list[str]:
    """Pieces of at most `max_characters` characters, cut after a line, else after a sentence, else after a space, else anywhere."""
    pieces, start = [], 0
    while len(text) - start > max_characters:
        stop = start + max_characters
        line = text.rfind("\n", start, stop + 1)
        sentence = -1 if line >= start else max(text.rfind(end, start, stop) for end in SENTENCE_ENDS)
        end = next((place + 1 for place in (line, sentence) if place >= start), 0) or text.rfind(" ", start, stop) + 1 or stop
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return pieces


def short_name(paths: list[str | Path]) -> str:
    """A name for a run: `wiki_en` for wiki_en.txt.xz, with the number of the other paths."""
    first = "stdin" if str(paths[0]) == "-" else Path(paths[0]).resolve().name
    stem = re.sub(r"(\.(txt|md|text|jsonl|ndjson|csv|tsv|tab|parquet|gz|xz|zst))+$", "", first, flags=re.IGNORECASE)
    stem = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:40] or "corpus"
    return stem if len(paths) == 1 else f"{stem}-and-{len(paths) - 1}-more"
