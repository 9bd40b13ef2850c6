"""Reading files of word vectors from other tools: every error names its line, or in a binary file the number of the vector.

word2vec   a header, COUNT WIDTH, then a word and its numbers on each line; fastText's .vec is the same with a space at the end of each line
GloVe      the same without a header
binary     the header, then each word, a space and its numbers in float32; word2vec.c ends a row with a newline, gensim does not: both are read

The format is detected from the content.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stairs.errors import BadInput, preview
from stairs.kernels import vector_files as kernel
from stairs.progress import track
from stairs.text.encoding import MAGIC
from stairs.text.input_files import InputFile, InputStream, ReadMeter, inspect_file, open_file

BLOCK = 1 << 23
SAMPLE = 1 << 12  # bytes from which text and binary are told apart
MAX_LINE = 1 << 24
MAX_WIDTH = 1 << 20
MAX_COMPRESSION = 1100  # bytes that one compressed byte may become
OTHER_FORMATS = (
    *MAGIC,
    (b"\xba\x16\x4f\x2f", "a model of fastText", "give the .vec file beside it, or train skipgram with --subwords"),
    (b"\x80", "a pickle, which can run code", "save it again with gensim's save_word2vec_format"),
    (b"\\data\\", "ARPA", "give it the ending .arpa"),
)


class WordVectorFile(NamedTuple):
    words: list[str]
    vectors: np.ndarray  # (words, width) in float32
    kind: str


def read(path: str) -> WordVectorFile:
    """The words of a file and their vectors, checked."""
    if not os.path.isfile(path):
        missing = not os.path.exists(path)
        kind = "a folder" if os.path.isdir(path) else "no such file, nor an installed package" if missing else "a device or a pipe, not a file"
        raise BadInput(f"{path}: {kind}; give a file of word vectors")
    source = inspect_file(Path(path))
    with open_file(source) as file:
        return VectorReader(path, InputStream(file, source, ReadMeter()), source).read()


class VectorReader:
    """The rows of one file, a block at a time."""

    def __init__(self, path: str, content: InputStream, source: InputFile) -> None:
        self.path, self.content, self.source = path, content, source
        self.words: list[str] = []
        self.values: list[np.ndarray] = []
        self.rest = content.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
        while b"\n" not in self.rest and len(self.rest) < MAX_LINE and (block := content.read(BLOCK)):
            self.rest += block
        for magic, name, advice in OTHER_FORMATS:
            if self.rest.startswith(magic):
                raise BadInput(f"{path} is {name}, not a file of word vectors; {advice}")
        line, _, after = self.rest.partition(b"\n")
        header = re.fullmatch(rb"\s*(\d{1,12})\s+(\d{1,7})\s*", line)
        self.count = int(header[1]) if header else None
        self.width = int(header[2]) if header else len(line.split()) - 1
        if header:
            self.rest = after
        elif not all(map(is_number, line.split()[1:])) or self.width < 2:
            raise BadInput(f"{path}:1: {preview(line[:200])} is neither COUNT WIDTH nor a word with its numbers; give a file of word vectors")
        self.binary = header is not None and not looks_like_text(self.rest[:SAMPLE])
        self.kind = "word2vec-binary" if self.binary else "word2vec" if header else "glove"
        self.check_header()

    def check_header(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH:
            raise BadInput(f"{self.path}:1: the header says width {self.width}, which is not between 1 and {MAX_WIDTH}; give a valid file")
        if self.count is not None:
            smallest = self.count * (2 + 4 * self.width if self.binary else 1 + 2 * self.width)
            if not self.count or smallest > self.source.size * (MAX_COMPRESSION if self.source.compression else 1) + 1:
                problem = f"a file of {self.source.size} bytes is too small for" if self.count else "the file holds none of"
                raise BadInput(f"{self.path}:1: {problem} {self.announced_size}; give a complete file or correct the header")

    @property
    def announced_size(self) -> str:
        return f"the {self.count} vectors of width {self.width} that its header announces"

    def where(self, row: int) -> str:
        return f"{self.path}: vector {row + 1}:" if self.binary else f"{self.path}:{row + 1 + (self.count is not None)}:"

    def read(self) -> WordVectorFile:
        with track("reading", total=self.count, unit="vectors") as advance:
            more = True
            while more:
                block = self.content.read(BLOCK)
                more = bool(block)
                self.rest += block
                before = len(self.words)
                self.take(last=not more)
                advance(len(self.words) - before)
        if not self.words:
            raise BadInput(f"{self.path}: the file holds no vectors; give a complete file")
        if self.count is not None and len(self.words) < self.count:
            raise BadInput(f"{self.where(len(self.words))} the file ends before {self.announced_size}; give a complete file or correct the header")
        self.refuse_duplicates()
        return WordVectorFile(self.words, np.concatenate(self.values), self.kind)

    def take(self, last: bool) -> None:
        """Parses the complete rows read so far; `last` if nothing follows."""
        end = len(self.rest) if self.binary or last else self.rest.rfind(b"\n") + 1
        if end == 0 and len(self.rest) > MAX_LINE:
            raise BadInput(f"{self.where(len(self.words))} a line does not end within {MAX_LINE} bytes; give a valid file")
        part = self.rest[:end]
        limit = len(part) // (2 + 4 * self.width) + 1 if self.binary else part.count(b"\n") + 1
        values, bounds = np.empty((limit, self.width), np.float32), np.empty((limit, 2), np.int64)
        rows = kernel.binary_rows if self.binary else kernel.text_rows
        count, used, fault = rows(np.frombuffer(part, np.uint8), self.width, values, bounds)
        for begin, stop in bounds[:count].tolist():
            try:
                self.words.append(part[begin:stop].decode())
            except UnicodeDecodeError:
                word = preview(part[begin:stop])
                raise BadInput(f"{self.where(len(self.words))} the word {word} is not UTF-8; give a file in UTF-8") from None
            if len(self.words) - 1 == self.count:
                raise BadInput(f"{self.where(self.count)} there are more than {self.announced_size}; correct the header")
        self.values.append(values[:count].copy() if count < limit // 2 else values[:count])
        left = part[used:]
        if fault == kernel.NO_WORD and not left.strip():
            used, fault = len(part), kernel.FINE  # blank lines at the end
        if fault != kernel.FINE:
            raise self.fault(fault, left)
        self.rest = self.rest[used:]
        if last and self.rest.strip(b"\n"):
            raise BadInput(f"{self.where(len(self.words))} the file ends within this vector; it was cut short, or the width in its header is wrong")

    def fault(self, fault: int, left: bytes) -> BadInput:
        """What is wrong with the row after the last one read."""
        where = self.where(len(self.words))
        if fault == kernel.ENDLESS:
            return BadInput(f"{where} no word ends within {kernel.LONGEST_WORD} bytes; the width in the header is wrong, or the file is damaged")
        if fault == kernel.NO_WORD:
            return BadInput(f"{where} there is no word before the numbers; remove the row, or correct the width in the header")
        if self.binary:
            return BadInput(f"{where} expected a number, got NaN or infinity; remove the word, or correct the width in the header")
        fields = left.partition(b"\n")[0].split()
        if fault in (kernel.SHORT, kernel.LONG):
            numbers = len(fields) - 1
            word = b" ".join(fields[: -self.width])
            if fault == kernel.LONG and all(map(is_number, fields[-self.width :])) and not all(map(is_number, fields[1 : -self.width])):
                return BadInput(f"{where} the word {preview_bytes(word)} holds spaces, which separate words from numbers; "
                                "put _ for them or remove the line")
            expected = "the header says" if self.count is not None else "the first line has"
            first = preview_bytes(fields[0])
            return BadInput(f"{where} {numbers} numbers follow {first}, but {expected} {self.width}; the file is cut short or damaged")
        bad = next((field for field in fields[1:] if not is_number(field)), fields[-1])
        if fault == kernel.NOT_FINITE:
            bad = next((field for field in fields[1:] if not abs(float(field)) < kernel.FLOAT32_LIMIT), bad)
            return BadInput(f"{where} {preview_bytes(bad)} came where a number was expected; "
                            f"remove the word {preview_bytes(fields[0])} or train it again")
        return BadInput(f"{where} expected a number, got {preview_bytes(bad)}; give a valid file")

    def refuse_duplicates(self) -> None:
        if len(set(self.words)) < len(self.words):
            first: dict[str, int] = {}
            for row, word in enumerate(self.words):
                if first.setdefault(word, row) != row:
                    earlier = self.where(first[word]).removesuffix(":")
                    raise BadInput(f"{self.where(row)} the word {preview(word)} is already at {earlier}; remove one of the two")


def preview_bytes(field: bytes) -> str:
    return preview(field.decode("utf-8", "backslashreplace"))


def is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def looks_like_text(sample: bytes) -> bool:
    """Numbers in float32 have bytes that no text has."""
    try:
        sample.decode()
    except UnicodeDecodeError as fault:
        if fault.start < len(sample) - 4:
            return False
    return not re.search(rb"[\0-\x08\x0e-\x1f]", sample)
