"""Reading ARPA files from other tools: every error names its line."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stairs.errors import BadInput, preview
from stairs.fast.kneser_ney_trie import NEVER
from stairs.fast.ngram_trie import Trie
from stairs.kernels import trie
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig
from stairs.progress import track
from stairs.text.input_files import InputStream, ReadMeter, decode_stream, inspect_file, open_file
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.tokenizers.word_table import tokenizer_from_words

SPECIAL = {"<s>": "begin", "</s>": "end", "<unk>": "unknown"}
MAX_ORDER = 32
MAX_LINE = 1 << 20  # characters
MAX_COMPRESSION = 1100  # bytes that one compressed byte may become
MAX_LOGARITHM, ROUNDING = 1e30, 1e-4  # a probability of 1 may have been rounded up a little


def read(path: str) -> tuple[NGram, Tokenizer]:
    """A model, and a tokenizer that splits at spaces."""
    if not os.path.isfile(path):
        kind = "no such file" if not os.path.exists(path) else "a folder" if os.path.isdir(path) else "a device or a pipe, not a file"
        raise BadInput(f"{path}: {kind}; give an ARPA file")
    source = inspect_file(Path(path))
    with open_file(source) as file:
        limit = 1000 + source.size * (MAX_COMPRESSION if source.compression else 1) // 4  # an n-gram takes at least 4 characters
        return ArpaParser(path, decode_stream(InputStream(file, source, ReadMeter()), None, path), limit).model()


class NGramTable(NamedTuple):
    """The n-grams of one order."""

    ngrams: np.ndarray  # (N, n) ids
    log10s: np.ndarray
    backoffs: np.ndarray
    first_line: int


class ArpaParser:
    """Reads the lines of a file one by one into a model."""

    def __init__(self, path: str, blocks: Iterator[str], limit: int) -> None:
        self.path, self.line_number = path, 0
        self.line: str | None = ""  # the last one read
        self.lines = self.split_lines(blocks)
        self.limit = limit  # of n-grams in a file of this size

    def split_lines(self, blocks: Iterator[str]) -> Iterator[str]:
        rest = ""
        for block in blocks:
            *complete, rest = (rest + block).split("\n")
            yield from complete
            if len(rest) > MAX_LINE:
                self.line_number += 1
                raise self.unexpected_line("a line", rest[:80])
        if rest:
            yield rest

    def next(self) -> str | None:
        """The next line, None at the end of the file."""
        self.line = next(self.lines, None)
        self.line_number += self.line is not None
        return self.line

    def next_line_with_text(self) -> str | None:
        """The next line that is not blank."""
        while (line := self.next()) is not None and not line.strip():
            pass
        return None if line is None else line.strip()

    def unexpected_line(self, expected: str, line: str | None = None) -> BadInput:
        line = line or self.line
        actual = "the end of the file" if line is None else preview(line.strip())
        return BadInput(f"{self.path}:{max(self.line_number, 1)}: expected {expected}, got {actual}; give a valid ARPA file")

    def header(self) -> list[int]:
        """The sizes that \\data\\ announces; the next line is the first 1-gram."""
        if self.next_line_with_text() != "\\data\\":
            raise self.unexpected_line("\\data\\")
        sizes: list[int] = []
        while (line := self.next_line_with_text()) != "\\1-grams:" or not sizes:
            count = re.fullmatch(r"ngram +(\d{1,9}) *= *(\d{1,10})", line or "", re.ASCII)
            if not count or int(count[1]) != len(sizes) + 1 or len(sizes) == MAX_ORDER:
                raise self.unexpected_line(f"ngram {len(sizes) + 1}=COUNT or \\1-grams:")
            sizes.append(int(count[2]))
            if sum(sizes) > self.limit:
                raise self.unexpected_line("a count that fits a file of this size")
        return sizes

    def model(self) -> tuple[NGram, Tokenizer]:
        sizes = self.header()
        ids: dict[str, int] = {}
        tables: list[NGramTable] = []
        with track("reading", total=sum(sizes), unit="n-grams") as advance:
            for n, size in enumerate(sizes, 1):
                heading = f"\\{n}-grams:"
                if n > 1 and self.next_line_with_text() != heading:
                    raise self.unexpected_line(f"{heading} after {sizes[n - 2]} {n - 1}-grams")
                first_line = self.line_number + 1
                ngrams, log10s, backoffs = self.section(n, size, ids)
                if n == 1:
                    tokenizer = tokenizer_from_words([word for word in ids if word not in SPECIAL])
                    ids = {word: getattr(tokenizer, SPECIAL[word]) if word in SPECIAL else tokenizer.id(word) for word in ids}
                    ngrams = np.array(list(ids.values()), np.int32).reshape(-1, 1)
                tables.append(NGramTable(ngrams, log10s, backoffs, first_line))
                advance(size)
        if self.next_line_with_text() != "\\end\\":
            raise self.unexpected_line(f"\\end\\ after {sizes[-1]} {len(sizes)}-grams")
        if "</s>" not in ids:
            raise BadInput(f"{self.path}:{tables[0].first_line}: </s> is not among the 1-grams; give a model with sentence ends")
        config = NGramConfig(**tokenizer.vocabulary_settings, order=len(sizes))
        model = NGram(config)
        model.set_trie(build_trie(tables, config, self.path))
        return model, tokenizer

    def section(self, n: int, size: int, ids: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The n-grams of one order; those of order 1 fill `ids`."""
        ngrams = np.empty((size, n), np.int32)
        log10s, backoffs = np.empty(size, np.float32), np.zeros(size, np.float32)
        for i in range(size):
            fields = (self.next() or "").split("\t")
            parts = fields[1].split(" ") if len(fields) in (2, 3) else []
            try:
                log10 = float(fields[0])
                backoff = float(fields[2]) if len(fields) == 3 and fields[2] else 0.0
            except ValueError:
                is_section_end = not self.line or self.line.isspace() or self.line[0] == "\\"
                raise self.unexpected_line(f"{size - i} more {n}-grams" if is_section_end else f"a {n}-gram") from None
            if len(parts) != n or "" in parts:
                raise self.unexpected_line(f"a {n}-gram")
            if not (-MAX_LOGARITHM < log10 < ROUNDING and -MAX_LOGARITHM < backoff < MAX_LOGARITHM):
                raise self.unexpected_line("the logarithm of a probability")
            log10s[i], backoffs[i] = min(log10, 0.0), backoff
            if n == 1:
                if parts[0] in ids:
                    raise self.unexpected_line("a 1-gram that is not listed yet")
                ids[parts[0]] = i
            else:
                try:
                    ngrams[i] = [ids[word] for word in parts]
                except KeyError:
                    raise self.unexpected_line(f"a {n}-gram of words that are among the 1-grams") from None
        return ngrams, log10s, backoffs


def build_trie(tables: list[NGramTable], config: NGramConfig, path: str) -> Trie:
    """Sorts the n-grams into a trie, order by order."""
    unigrams = tables[0].ngrams[:, 0]
    words = np.arange(config.vocab_size, dtype=np.int32)
    suffixes = np.full(config.vocab_size, -1, np.int32)
    log10s, backoffs = np.full(config.vocab_size, np.float32(NEVER)), np.zeros(config.vocab_size, np.float32)
    log10s[unigrams], backoffs[unigrams] = tables[0].log10s, tables[0].backoffs
    log10s[config.begin] = NEVER
    first, sizes, inner = np.zeros(0, np.int32), [config.vocab_size], np.zeros(0, np.float32)
    for n, table in enumerate(tables[1:], 2):
        below, start = len(words) - sizes[-1], len(words)
        contexts = trie.find_contexts(words, first, table.ngrams)
        if (contexts < 0).any():
            line = table.first_line + int(np.flatnonzero(contexts < 0)[0])
            raise BadInput(f"{path}:{line}: the first {n - 1} words of this {n}-gram are not among the {n - 1}-grams; give a complete ARPA file")
        last = table.ngrams[:, -1]
        order = np.lexsort((last, contexts))
        contexts, last = contexts[order], last[order]
        duplicates = np.flatnonzero((np.diff(contexts) == 0) & (np.diff(last) == 0))
        if len(duplicates):
            line = table.first_line + int(order[duplicates + 1].min())
            raise BadInput(f"{path}:{line}: this {n}-gram is listed twice; give a valid ARPA file")
        inner = np.concatenate([inner, backoffs])
        backoffs = table.backoffs[order]
        suffixes = np.concatenate([suffixes, trie.find_suffixes(words, first, suffixes, contexts, last)])
        first = np.concatenate([first, start + np.searchsorted(contexts, np.arange(below, start))]).astype(np.int32)
        words, log10s = np.concatenate([words, last]), np.concatenate([log10s, table.log10s[order]])
        sizes.append(len(last))
    return Trie(words, log10s, suffixes, inner, np.append(first, len(words)).astype(np.int32), np.array(sizes, np.int64))
