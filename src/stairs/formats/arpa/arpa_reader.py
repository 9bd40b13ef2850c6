"""Reading ARPA files, which other tools wrote and anything may have happened to: each fault is named with its line."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stairs.errors import BadInput, preview
from stairs.fast.kneser_ney_trie import NEVER, Trie
from stairs.kernels import trie
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig
from stairs.progress import track
from stairs.text.input_files import InputStream, ReadMeter, decode_stream, inspect_file, open_file
from stairs.text.tokenizers.tokenizer import Tokenizer

SPECIAL = {"<s>": "begin", "</s>": "end", "<unk>": "unknown"}
HIGHEST_ORDER = 32
LONGEST_LINE = 1 << 20
LARGEST, ROUNDING = 1e30, 1e-4  # of a logarithm; a chance of 1 may have been rounded up a little


def read(path: str) -> tuple[NGram, Tokenizer]:
    """A model and a tokenizer that cuts at spaces, from an ARPA file."""
    if not os.path.isfile(path):
        found = "no such file" if not os.path.exists(path) else "a folder" if os.path.isdir(path) else "no file but a device or a pipe"
        raise BadInput(f"{path}: {found}; give an ARPA file")
    source = inspect_file(Path(path))
    with open_file(source) as file:
        most = 1000 + source.size * (1100 if source.compression else 1) // 4  # a line is 4 characters, and a packed byte 1100 at most
        return ArpaParser(path, decode_stream(InputStream(file, source, ReadMeter()), None, path), most).model()


class ArpaParser:
    """The lines of a file, one at a time, and what they amount to."""

    def __init__(self, path: str, blocks: Iterator[str], most: int) -> None:
        self.path, self.number = path, 0
        self.came: str | None = ""
        self.lines = self.cut(blocks)
        self.most = most  # n-grams the file has room for

    def cut(self, blocks: Iterator[str]) -> Iterator[str]:
        rest = ""
        for block in blocks:
            *whole, rest = (rest + block).split("\n")
            yield from whole
            if len(rest) > LONGEST_LINE:
                self.number += 1
                raise self.fail("a line", rest[:80])
        if rest:
            yield rest

    def next(self) -> str | None:
        """The next line, None at the end of the file."""
        self.came = next(self.lines, None)
        self.number += self.came is not None
        return self.came

    def next_line_with_text(self) -> str | None:
        """The next line that says something."""
        while (line := self.next()) is not None and not line.strip():
            pass
        return None if line is None else line.strip()

    def fail(self, wanted: str, came: str | None = None) -> BadInput:
        came = came or self.came
        shown = "the end of the file" if came is None else preview(came.strip())
        return BadInput(f"{self.path}:{max(self.number, 1)}: {shown} came where {wanted} was expected; give a sound ARPA file")

    def header(self) -> list[int]:
        """The sizes that \\data\\ announces; the lines are then at the first 1-gram."""
        if self.next_line_with_text() != "\\data\\":
            raise self.fail("\\data\\")
        sizes: list[int] = []
        while (line := self.next_line_with_text()) != "\\1-grams:" or not sizes:
            found = re.fullmatch(r"ngram +(\d{1,9}) *= *(\d{1,10})", line or "", re.ASCII)
            if not found or int(found[1]) != len(sizes) + 1 or len(sizes) == HIGHEST_ORDER:
                raise self.fail(f"ngram {len(sizes) + 1}=COUNT or \\1-grams:")
            sizes.append(int(found[2]))
            if sum(sizes) > self.most:
                raise self.fail("a count the file has room for")
        return sizes

    def model(self) -> tuple[NGram, Tokenizer]:
        sizes = self.header()
        ids: dict[str, int] = {}
        tables: list[dict[str, Any]] = []
        with track("reading", total=sum(sizes), unit="n-grams") as advance:
            for n, size in enumerate(sizes, 1):
                wanted = f"\\{n}-grams:"
                if n > 1 and self.next_line_with_text() != wanted:
                    raise self.fail(f"{wanted} after {sizes[n - 2]} {n - 1}-grams")
                begin = self.number + 1
                grams, probabilities, backoffs = self.section(n, size, ids)
                if n == 1:
                    tokenizer = Tokenizer.from_words([word for word in ids if word not in SPECIAL])
                    ids = {word: getattr(tokenizer, SPECIAL[word]) if word in SPECIAL else tokenizer.id(word) for word in ids}
                    grams = np.array(list(ids.values()), np.int32).reshape(-1, 1)
                tables.append({"grams": grams, "probabilities": probabilities, "backoffs": backoffs, "begin": begin})
                advance(size)
        if self.next_line_with_text() != "\\end\\":
            raise self.fail(f"\\end\\ after {sizes[-1]} {len(sizes)}-grams")
        if "</s>" not in ids:
            raise BadInput(f"{self.path}:{tables[0]['begin']}: no </s> is among the 1-grams; give a model that knows where sentences end")
        config = NGramConfig(**tokenizer.vocabulary_settings, order=len(sizes))
        model = NGram(config)
        model.set_trie(trie_from(tables, config, self.path))
        return model, tokenizer

    def section(self, n: int, size: int, ids: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The n-grams of one order; those of order 1 fill `ids`."""
        grams = np.empty((size, n), np.int32)
        probabilities, backoffs = np.empty(size, np.float32), np.zeros(size, np.float32)
        for i in range(size):
            fields = (self.next() or "").split("\t")
            parts = fields[1].split(" ") if len(fields) in (2, 3) else []
            try:
                probability = float(fields[0])
                backoff = float(fields[2]) if len(fields) == 3 and fields[2] else 0.0
            except ValueError:
                wanted = f"{size - i} more {n}-grams" if not self.came or self.came.isspace() or self.came[0] == "\\" else f"a {n}-gram"
                raise self.fail(wanted) from None
            if len(parts) != n or "" in parts:
                raise self.fail(f"a {n}-gram")
            if not (-LARGEST < probability < ROUNDING and -LARGEST < backoff < LARGEST):
                raise self.fail("a logarithm of a chance")
            probabilities[i], backoffs[i] = min(probability, 0.0), backoff
            if n == 1:
                if parts[0] in ids:
                    raise self.fail("a 1-gram that is not listed yet")
                ids[parts[0]] = i
            else:
                try:
                    grams[i] = [ids[word] for word in parts]
                except KeyError:
                    raise self.fail(f"a {n}-gram of words that are in the list of 1-grams") from None
        return grams, probabilities, backoffs


def trie_from(tables: list[dict[str, Any]], config: NGramConfig, path: str) -> Trie:
    """Sort the n-grams into a trie, order by order."""
    single = tables[0]["grams"][:, 0]
    words = np.arange(config.vocab_size, dtype=np.int32)
    suffixes = np.full(config.vocab_size, -1, np.int32)
    log10s, backoffs = np.full(config.vocab_size, np.float32(NEVER)), np.zeros(config.vocab_size, np.float32)
    log10s[single], backoffs[single] = tables[0]["probabilities"], tables[0]["backoffs"]
    log10s[config.begin] = NEVER
    first, sizes, inner = np.zeros(0, np.int32), [config.vocab_size], np.zeros(0, np.float32)
    for n, table in enumerate(tables[1:], 2):
        below, start = len(words) - sizes[-1], len(words)
        contexts = trie.find_contexts(words, first, table["grams"])
        if (contexts < 0).any():
            line = table["begin"] + int(np.flatnonzero(contexts < 0)[0])
            raise BadInput(f"{path}:{line}: all but the last word of this {n}-gram are no {n - 1}-gram; give a complete ARPA file")
        last = table["grams"][:, -1]
        order = np.lexsort((last, contexts))
        contexts, last = contexts[order], last[order]
        twice = np.flatnonzero((np.diff(contexts) == 0) & (np.diff(last) == 0))
        if len(twice):
            line = table["begin"] + int(order[twice + 1].min())
            raise BadInput(f"{path}:{line}: this {n}-gram is listed already; give a sound ARPA file")
        inner = np.concatenate([inner, backoffs])
        backoffs = table["backoffs"][order]
        suffixes = np.concatenate([suffixes, trie.find_suffixes(words, first, suffixes, contexts, last)])
        first = np.concatenate([first, start + np.searchsorted(contexts, np.arange(below, start))]).astype(np.int32)
        words, log10s = np.concatenate([words, last]), np.concatenate([log10s, table["probabilities"][order]])
        sizes.append(len(last))
    return Trie(words, log10s, suffixes, inner, np.append(first, len(words)).astype(np.int32), sizes)
