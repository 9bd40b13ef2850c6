"""Reading vector files, which other tools wrote and anything may have happened to: each fault is named with its line, or in binary its number.

word2vec   a header, COUNT WIDTH, then a word and its numbers on each line; fastText's .vec is the same with a space at the end of each line
GloVe      the same without a header
binary     the header, then each word, a space and its numbers in float32; word2vec.c ends a row with a newline, gensim does not: both are read

Which of them a file is, it says itself.
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
SAMPLE = 1 << 12  # bytes by which text is told from binary
LONGEST_LINE = 1 << 24
MAX_WIDTH = 1 << 20
MAX_COMPRESSION = 1100  # bytes that one packed byte may become, at most
OTHER_FORMATS = (
    *MAGIC,
    (b"\xba\x16\x4f\x2f", "a model of fastText", "give the .vec file beside it, or train skipgram with --subwords"),
    (b"\x80", "a pickle, which can run code", "save it again with gensim's save_word2vec_format"),
    (b"\\data\\", "ARPA", "give it the ending .arpa"),
)


class WordVectorsRead(NamedTuple):
    words: list[str]
    vectors: np.ndarray  # (words, width) in float32
    kind: str


def read(path: str) -> WordVectorsRead:
    """The words of a file and their vectors, checked."""
    if not os.path.isfile(path):
        missing = not os.path.exists(path)
        found = "a folder" if os.path.isdir(path) else "no such file, nor an installed package" if missing else "no file but a device or a pipe"
        raise BadInput(f"{path}: {found}; give a file of word vectors")
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
        while b"\n" not in self.rest and len(self.rest) < LONGEST_LINE and (came := content.read(BLOCK)):
            self.rest += came
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
            raise BadInput(f"{path}:1: {preview(line[:200])} is neither COUNT WIDTH nor a word and its numbers; give a file of word vectors")
        self.binary = header is not None and not looks_like_text(self.rest[:SAMPLE])
        self.kind = "word2vec-binary" if self.binary else "word2vec" if header else "glove"
        self.check_header()

    def check_header(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH:
            raise BadInput(f"{self.path}:1: the header says width {self.width}, which is not between 1 and {MAX_WIDTH}; give a sound file")
        if self.count is not None:
            smallest = self.count * (2 + 4 * self.width if self.binary else 1 + 2 * self.width)
            if not self.count or smallest > self.source.size * (MAX_COMPRESSION if self.source.compression else 1) + 1:
                room = f"a file of {self.source.size} bytes has no room for" if self.count else "there are"
                raise BadInput(f"{self.path}:1: {room} {self.announced_size}; give a whole file or correct the header")

    @property
    def announced_size(self) -> str:
        return f"the {self.count} vectors of width {self.width} that its header says"

    def where(self, row: int) -> str:
        return f"{self.path}: vector {row + 1}:" if self.binary else f"{self.path}:{row + 1 + (self.count is not None)}:"

    def read(self) -> WordVectorsRead:
        with track("reading", total=self.count, unit="vectors") as advance:
            more = True
            while more:
                came = self.content.read(BLOCK)
                more = bool(came)
                self.rest += came
                before = len(self.words)
                self.take(last=not more)
                advance(len(self.words) - before)
        if not self.words:
            raise BadInput(f"{self.path}: no vectors are in this file; give a whole file")
        if self.count is not None and len(self.words) < self.count:
            raise BadInput(f"{self.where(len(self.words))} the file ends before {self.announced_size}; give a whole file or correct the header")
        self.refuse_duplicates()
        return WordVectorsRead(self.words, np.concatenate(self.values), self.kind)

    def take(self, last: bool) -> None:
        """The whole rows of what has come so far; `last` if nothing follows."""
        end = len(self.rest) if self.binary or last else self.rest.rfind(b"\n") + 1
        if end == 0 and len(self.rest) > LONGEST_LINE:
            raise BadInput(f"{self.where(len(self.words))} a line does not end within {LONGEST_LINE} bytes; give a sound file")
        part = self.rest[:end]
        most = len(part) // (2 + 4 * self.width) + 1 if self.binary else part.count(b"\n") + 1
        values, bounds = np.empty((most, self.width), np.float32), np.empty((most, 2), np.int64)
        rows = kernel.binary_rows if self.binary else kernel.text_rows
        found, used, fault = rows(np.frombuffer(part, np.uint8), self.width, values, bounds)
        for row, (begin, stop) in enumerate(bounds[:found].tolist()):
            try:
                self.words.append(part[begin:stop].decode())
            except UnicodeDecodeError:
                bad = preview(part[begin:stop])
                raise BadInput(f"{self.where(len(self.words))} the word {bad} is not UTF-8; give a file in UTF-8") from None
            if len(self.words) - 1 == self.count:
                raise BadInput(f"{self.where(self.count)} vector {row + 1} is more than {self.announced_size}; correct the header")
        self.values.append(values[:found].copy() if found < most // 2 else values[:found])
        left = part[used:]
        if fault == kernel.NO_WORD and not left.strip():
            used, fault = len(part), kernel.FINE  # blank lines at the end
        if fault != kernel.FINE:
            raise self.fault(fault, left)
        self.rest = self.rest[used:]
        if last and self.rest.strip(b"\n"):
            raise BadInput(f"{self.where(len(self.words))} the file ends within this vector; it was cut short, or its header lies about the width")

    def fault(self, fault: int, left: bytes) -> BadInput:
        """What is wrong with the row after those that are read."""
        where = self.where(len(self.words))
        if fault == kernel.ENDLESS:
            return BadInput(f"{where} no word ends within {kernel.LONGEST_WORD} bytes; the header lies about the width, or the file is damaged")
        if fault == kernel.NO_WORD:
            return BadInput(f"{where} there is no word before the numbers; remove the row, or correct the header's width")
        if self.binary:
            return BadInput(f"{where} NaN or infinity came where a number was expected; remove the word, or correct the header's width")
        fields = left.partition(b"\n")[0].split()
        if fault in (kernel.SHORT, kernel.LONG):
            numbers = len(fields) - 1
            word = b" ".join(fields[: -self.width])
            if fault == kernel.LONG and all(map(is_number, fields[-self.width :])) and not all(map(is_number, fields[1 : -self.width])):
                return BadInput(f"{where} the word {preview_bytes(word)} holds spaces, which separate words from numbers; "
                                "put _ for them or remove the line")
            said = "the header says" if self.count is not None else "the first line has"
            first = preview_bytes(fields[0])
            return BadInput(f"{where} {numbers} numbers follow {first} where {said} {self.width}; the file is cut short or damaged")
        bad = next((field for field in fields[1:] if not is_number(field)), fields[-1])
        if fault == kernel.NOT_FINITE:
            bad = next((field for field in fields[1:] if not abs(float(field)) < kernel.FLOAT32_LIMIT), bad)
            return BadInput(f"{where} {preview_bytes(bad)} came where a number was expected; "
                            f"remove the word {preview_bytes(fields[0])} or train it again")
        return BadInput(f"{where} {preview_bytes(bad)} came where a number was expected; give a sound file")

    def refuse_duplicates(self) -> None:
        if len(set(self.words)) < len(self.words):
            first: dict[str, int] = {}
            for row, word in enumerate(self.words):
                if first.setdefault(word, row) != row:
                    twin = self.where(first[word]).removesuffix(":")
                    raise BadInput(f"{self.where(row)} the word {preview(word)} stands at {twin} already; remove one of the two")


def preview_bytes(field: bytes) -> str:
    return preview(field.decode("utf-8", "backslashreplace"))


def is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def looks_like_text(sample: bytes) -> bool:
    """Numbers in float32 hold bytes that no text has."""
    try:
        sample.decode()
    except UnicodeDecodeError as fault:
        if fault.start < len(sample) - 4:
            return False
    return not re.search(rb"[\0-\x08\x0e-\x1f]", sample)
