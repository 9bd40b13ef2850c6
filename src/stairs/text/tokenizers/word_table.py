"""The tokenizer of adopted word vectors: millions of words that are looked up in a file and never loaded as a list.

words.safetensors   utf8: the words one after another in UTF-8; starts: where each begins, and the end;
                    hashes: CRC-32 of each word, sorted; order: the id of the word of each hash

A word is found by bisection among the hashes and compared byte by byte. The words were tokenized by another tool, in its own way, so a chunk between
spaces that is in the vocabulary is a word, whatever punctuation it holds, and so is what is left without the punctuation around it. Any other chunk
is split at punctuation, and Chinese by jieba.
"""

import functools
import hashlib
import re
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from stairs.errors import BadInput, Unsupported
from stairs.text.chinese import has_han
from stairs.text.encoding import refuse_lone_surrogates
from stairs.text.special import SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.spec import (
    CONFIG_FILE,
    WORDS_FILE,
    TokenizerSpec,
    assemble_backend,
    build_model,
    damage_error,
    read_settings,
    spec_from,
)  # fmt: skip
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.tokenizers.word_pieces import Encoding

MARKS_AROUND = re.compile(r"(\W*)(.*?)(\W*)", re.S)  # around a word
TABLE_NAMES = ("utf8", "starts", "hashes", "order")


def tokenizer_from_words(words: list[str]) -> Tokenizer:
    """A tokenizer with this vocabulary, for text whose words are separated by spaces."""
    refuse_special_tokens(words)
    spec = TokenizerSpec("words", chinese="characters", split="spaces")
    vocabulary = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *words])}
    return Tokenizer(spec, assemble_backend(spec, build_model("words", vocabulary)))


def refuse_special_tokens(words: list[str]) -> None:
    special = next((word for word in words if word in SPECIAL_TOKENS), None)
    if special:
        raise BadInput(f"the word {special} has the name of a special token; rename it")


class WordTable(Tokenizer):
    """A tokenizer of whole words. Special tokens have the ids 0 to 4, as everywhere."""

    def __init__(self, spec: TokenizerSpec, tables: dict[str, np.ndarray]) -> None:
        only_special = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
        super().__init__(spec, assemble_backend(spec, build_model("words", only_special)))  # only to split text
        self.tables = tables
        self.utf8, self.starts, self.hashes, self.order = (tables[name] for name in TABLE_NAMES)

    @classmethod
    def from_words(cls, words: list[str]) -> "WordTable":
        """A table of words without duplicates; texts are lower-cased if no word has a capital."""
        refuse_special_tokens(words)
        spellings = [word.encode() for word in (*SPECIAL_TOKENS, *words)]
        hashes = np.fromiter(map(zlib.crc32, spellings), np.int64, len(spellings))
        order = np.argsort(hashes, kind="stable")
        tables = {
            "utf8": np.frombuffer(b"".join(spellings), np.uint8).copy(),
            "starts": np.concatenate([[0], np.cumsum(np.fromiter(map(len, spellings), np.int64, len(spellings)))]),
            "hashes": hashes[order],
            "order": order.astype(np.int32),
        }
        chinese = "words" if any(map(has_han, words)) else "characters"
        return cls(TokenizerSpec("words", chinese=chinese, lowercase=not any(word != word.lower() for word in words)), tables)

    @classmethod
    def read(cls, folder: Path) -> "WordTable":
        path = folder / WORDS_FILE
        spec = spec_from(read_settings(folder / CONFIG_FILE), folder / CONFIG_FILE)
        try:
            tables = {name: tensor.numpy() for name, tensor in load_file(path).items()}
            utf8, starts, hashes, order = (tables[name] for name in TABLE_NAMES)
            kinds = [tables[name].dtype.name for name in TABLE_NAMES] == ["uint8", "int64", "int64", "int32"]
            sizes = len(starts) - 1 == len(hashes) == len(order) >= len(SPECIAL_TOKENS)
            if not (kinds and sizes and starts[0] == 0 and starts[-1] == len(utf8) and (np.diff(starts) >= 0).all()):
                raise ValueError("its tables do not agree in size")
            if not (order.min() >= 0 and order.max() < len(hashes)):
                raise ValueError("it has ids beyond its last word")
        except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
            raise damage_error(path, str(error)) from None
        return cls(spec, tables)

    def save(self, folder: str | Path) -> None:
        """Write words.safetensors and tokenizer_config.json."""
        self.save_config(Path(folder))
        save_file({name: torch.from_numpy(np.ascontiguousarray(self.tables[name])) for name in TABLE_NAMES}, Path(folder) / WORDS_FILE)

    @functools.cached_property
    def hash(self) -> str:
        digest = hashlib.sha256(str(sorted(self.spec.settings.items())).encode())
        for table in (self.starts, self.utf8):
            digest.update(np.ascontiguousarray(table).data)
        return digest.hexdigest()

    @functools.cached_property
    def vocab_size(self) -> int:
        return len(self.hashes)

    @functools.cached_property
    def vocabulary(self) -> list[str]:
        """All words as a list, for the few callers that need it."""
        utf8, starts = self.utf8.tobytes(), self.starts.tolist()
        return [utf8[a:b].decode("utf-8", "replace") for a, b in pairwise(starts)]

    @functools.cached_property
    def ids_by_token(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}

    def spelling(self, number: int) -> bytes:
        return self.utf8[self.starts[number] : self.starts[number + 1]].tobytes()

    def token(self, number: int) -> str:
        if not 0 <= number < self.vocab_size:
            raise BadInput(f"no token has the id {number}; the vocabulary ends at {self.vocab_size - 1}")
        return self.spelling(number).decode("utf-8", "replace")

    def id(self, token: str) -> int:
        spelling = refuse_lone_surrogates(token).encode()
        key = zlib.crc32(spelling)
        at = int(np.searchsorted(self.hashes, key))
        while at < len(self.hashes) and self.hashes[at] == key:
            if self.spelling(int(self.order[at])) == spelling:
                return int(self.order[at])
            at += 1
        return UNKNOWN

    def words(self, text: str) -> list[str]:
        words: list[str] = []
        for chunk in self.preprocess(refuse_lone_surrogates(text)).split():
            chunk = chunk.lower() if self.spec.lowercase else chunk
            begin, core, end = MARKS_AROUND.fullmatch(chunk).groups()  # type: ignore[union-attr]  # anything matches
            if self.knows(chunk):
                words.append(chunk)
            else:
                words += [*super().words(begin), core, *super().words(end)] if self.knows(core) else super().words(chunk)
        return words

    def knows(self, word: str) -> bool:
        return self.id(word) >= len(SPECIAL_TOKENS)

    def encode(self, text: str) -> list[int]:
        return [number if number >= len(SPECIAL_TOKENS) else UNKNOWN for number in map(self.id, self.words(text))]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def tokens(self, text: str) -> list[str]:
        return [self.token(number) for number in self.encode(text)]

    def unknown_words(self, text: str) -> list[str]:
        return [word for word in self.words(text) if not self.knows(word)]

    def word_ids(self, text: str) -> list[int]:
        return list(range(len(self.words(text))))

    def encode_with_offsets(self, text: str) -> Encoding:
        raise Unsupported("adopted word vectors have whole words only, so there are no offsets of subwords; train a model of your own for those")
