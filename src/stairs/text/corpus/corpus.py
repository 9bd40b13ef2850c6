"""A corpus: the documents of files, folders or standard input, one after another, in memory that does not grow with it; and its three splits.

Blank lines separate the documents of a text file; each record of jsonl, csv, tsv, xlsx and parquet is one. Lines within a document are paragraphs.

train        what a model is trained on, and its vocabulary and the table of what spaces cost
validation   evaluated during training: chooses the best weights, and when to stop
test         evaluated once, at the end, with the weights that were chosen

Of fifty documents one is for test and one for validation, drawn by its text alone, so that it is in the same split wherever it stands. Each split has
at least one document, and train more than twenty for each one held out. Small corpora are split by sentences, in the order of the text:

two documents   the last is split: its first half is for validation, the rest for test. If it has one sentence, that is for test, and the last
                sentence of the other document for validation
one document    the last twentieth of its sentences is for test, the twentieth before it for validation, at least one sentence each

Fewer than three sentences are refused: no sentence is ever in two splits.
"""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from stairs.data import CorpusLike
from stairs.errors import BadInput
from stairs.progress import say
from stairs.text.corpus.text_column import csv_texts, json_texts, parquet_texts, xlsx_texts
from stairs.text.encoding import text_codec
from stairs.text.input_files import InputFile, InputStream, ReadMeter, decode_stream, find_files, open_file, spool_stdin, unreadable_error
from stairs.text.input_options import CorpusOptions, is_embedded
from stairs.text.sentences import cut_document, split_documents, split_sentences
from stairs.text.tables.lines import split_lines

MAX_REPORTED_FILES = 10  # skipped files that are named one by one
SPLITS = ("train", "validation", "test")
SPLIT_BY_REMAINDER = {0: "test", 1: "validation"}  # of a document's checksum divided by ONE_IN; all others are for train
ONE_IN, MIN_TRAIN_PER_HELD_OUT = 50, 20


class Corpus:
    """Text to learn from, readable again and again: `for document in Corpus("notes.txt").documents()`."""

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        encoding: str | None = None,  # detected when None
        column: str | None = None,  # of records; guessed when None
        max_bytes: int | None = None,  # refuse more text than this, after decompression
        skip_unreadable: bool = False,  # skip files that cannot be read, instead of stopping
    ):
        inputs = [paths] if isinstance(paths, str | Path) else list(paths)
        if not inputs:
            raise BadInput("no corpus given; name a text file, a folder or -")
        self.encoding = text_codec(encoding) if encoding else None
        self.column, self.max_bytes, self.skip_unreadable = column, max_bytes, skip_unreadable
        self.sources: list[InputFile] = []
        self.unreadable: list[str] = []  # a sentence for each file that cannot even be opened
        self.stdin: BinaryIO | None = None
        for path in inputs:
            self.add(path)
        if self.unreadable and not skip_unreadable:
            raise BadInput(self.unreadable[0])
        self.name = short_name(inputs)
        self.size = sum(source.size for source in self.sources)
        self.max_characters = min(max(self.size // 200, 1024), 65536)  # a longer document comes in pieces
        self.position = 0  # bytes on disk read so far by the latest documents()
        self.skipped_files: list[str] = list(self.unreadable)
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
        """Each document, or piece of a long one, as a string that is more than whitespace."""
        self.position, self.skipped_files = 0, list(self.unreadable)
        self.odd_characters.clear()
        meter = ReadMeter(self.max_bytes)
        has_text = False
        for source in self.sources:
            try:
                for document in self.read(source, meter):
                    has_text = True
                    yield document
            except BadInput as error:
                if not self.skip_unreadable:
                    raise
                self.skipped_files.append(str(error))
            meter.bytes_done += source.size
            self.position = meter.bytes_done
        if not has_text:
            where = self.sources[0].name if len(self.sources) == 1 else f"{len(self.sources):,} files of {self.name}"
            raise BadInput(f"no text in {where}; give a file with some sentences in it")

    def read(self, source: InputFile, meter: ReadMeter) -> Iterator[str]:
        file = self.open(source)
        try:
            stream = InputStream(file, source, meter)
            if source.kind == "parquet":
                yield from self.record_documents(parquet_texts(stream, self.column, lambda share: self.advance(source.size * share, meter)))
                return
            if source.kind == "xlsx" and not source.compression:
                yield from self.record_documents(xlsx_texts(stream, self.column))
                return
            blocks = self.count_oddities(decode_stream(stream, self.encoding, source.name), file, meter)
            if source.kind == "text":
                yield from split_documents(blocks, self.max_characters)
            elif source.kind == "jsonl":
                yield from self.record_documents(json_texts(split_lines(blocks, source.name), source.name, self.column))
            else:
                lines = split_lines(blocks, source.name)
                yield from self.record_documents(csv_texts(lines, source.name, f".{source.kind}", self.column))
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
        """sha256 of what is read and how: the contents, their formats, the column and the encoding; not names or dates."""
        if self.cached_hash is None:
            digest = hashlib.sha256(f"{self.column!r} {self.encoding!r}".encode())
            for source in self.sources:
                try:
                    digest.update(f"{source.kind}{source.compression}".encode() + self.digest(source))
                except BadInput:
                    if not self.skip_unreadable:
                        raise
            self.cached_hash = digest.hexdigest()
        return self.cached_hash


def open_corpus(paths: Sequence[str], options: CorpusOptions) -> CorpusLike:
    """The corpus of these files and folders, or the embedded prose."""
    if options.max_bytes is not None and options.max_bytes < 1:
        raise BadInput(f"--max-bytes {options.max_bytes} is below 1")
    if is_embedded(paths):
        from stairs.text.embedded.python_prose import PythonProse

        return PythonProse()
    return Corpus(
        paths, encoding=options.encoding, column=options.text, max_bytes=options.max_bytes, skip_unreadable=options.skip_unreadable
    )


def short_name(paths: list[str | Path]) -> str:
    """A name for a run: `wiki_en` for wiki_en.txt.xz, with the number of the other paths."""
    first = "stdin" if str(paths[0]) == "-" else Path(paths[0]).resolve().name
    stem = re.sub(r"(\.(txt|md|text|jsonl|ndjson|csv|tsv|tab|parquet|xlsx|xlsm|gz|xz|zst))+$", "", first, flags=re.IGNORECASE)
    stem = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:40] or "corpus"
    return stem if len(paths) == 1 else f"{stem}-and-{len(paths) - 1}-more"


def report_oddities(corpus: CorpusLike) -> None:
    """Tell the user which files were skipped and which odd characters the text holds."""
    skipped: list[str] = getattr(corpus, "skipped_files", [])
    for sentence in skipped[:MAX_REPORTED_FILES]:
        say(f"skipped: {sentence}")
    if len(skipped) > MAX_REPORTED_FILES:
        say(f"skipped: {len(skipped) - MAX_REPORTED_FILES} more files")
    for what, count in getattr(corpus, "odd_characters", {}).items():
        say(f"the text holds {count} {what} characters; they are kept")


def document_split(document: str) -> str:
    """The split of a document in a large corpus: its text alone decides."""
    return SPLIT_BY_REMAINDER.get(zlib.crc32(document.encode(errors="surrogatepass")) % ONE_IN, "train")


def split_corpus(documents: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """(sentences, split) of each document, in order, by the rule above."""
    counts = dict.fromkeys(SPLITS, 0)
    pending: list[tuple[list[str], str]] = []  # the last two documents, which are held out if no others were

    def assign_split(document: tuple[list[str], str], missing: str | None = None) -> tuple[list[str], str]:
        sentences, split = document
        if missing is not None and not counts[missing]:
            split = missing
        elif split != "train" and counts["train"] <= MIN_TRAIN_PER_HELD_OUT * counts[split]:
            split = "train"
        counts[split] += 1
        return sentences, split

    for document in documents:
        if sentences := split_sentences(document):
            pending.append((sentences, document_split(document)))
        if len(pending) > 2:
            yield assign_split(pending.pop(0))
    if counts["train"]:
        yield assign_split(pending[0], "validation")
        yield assign_split(pending[1], "test")
    else:
        yield from split_small_corpus([sentences for sentences, _ in pending])


def split_small_corpus(documents: list[list[str]]) -> Iterator[tuple[list[str], str]]:
    """(sentences, split) of one document, or of two."""
    if not documents:
        raise BadInput("no sentence in the text; give a file with text")
    count = sum(map(len, documents))
    if count < len(SPLITS):
        raise BadInput(f"{count} sentence{'s' if count > 1 else ''} cannot be split into train, validation and test; give more text")
    *first, last = documents
    if not first:
        size = max(len(last) // 20, 1)
        borders = len(last) - 2 * size, len(last) - size
        parts = [last[: borders[0]], last[borders[0] : borders[1]], last[borders[1] :]]
    elif len(last) > 1:
        parts = [*first, last[: len(last) // 2], last[len(last) // 2 :]]
    else:
        parts = [first[0][:-1], first[0][-1:], last]
    yield from zip(parts, SPLITS, strict=True)
