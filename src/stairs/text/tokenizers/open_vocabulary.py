"""Words without an unknown one, for models that read their letters.

ids of the vocabulary      as the tokenizer has them
ids behind it              words that were met since, in the order of their coming; the oldest make room when there are too many
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch

from stairs.errors import Unsupported
from stairs.progress import say
from stairs.text.character_ids import BEGIN, END, FIRST, PAD, Letters, coded
from stairs.text.tokenizers.tokenizer import Tokenizer

MOST_NEW = 1 << 18  # words that are remembered


class Open(NamedTuple):
    """The ids of a text, and where in it each word stands."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class OpenWords(Tokenizer):
    """The ids of a tokenizer of whole words, and more ids for words it does not know."""

    def __init__(self, tokenizer: Tokenizer, letters: Letters, longest: int) -> None:
        if tokenizer.spec.kind != "words":
            raise Unsupported(f"letters are read of whole words, and this tokenizer cuts {tokenizer.spec.kind}; use --tokenizer words")
        super().__init__(tokenizer.spec, tokenizer.library, tokenizer.vocabulary)
        self.closed, self.spacing = tokenizer, tokenizer.spacing
        self.letters, self.longest = letters, longest
        self.new: list[str] = []  # by id, less the size of the vocabulary
        self.places: dict[str, int] = {}
        self.came, self.said = 0, False
        self.table = np.zeros((self.vocab_size + 64, longest + 2), np.int32)
        for number, word in enumerate(self.vocabulary):
            self.put(number, [FIRST + number] if number in self.special else coded(word, self.letters, self.longest))
        self.put(self.unknown, [])  # stands only where the letters were not kept, as in the held-out part of a corpus

    def __deepcopy__(self, memory: Any) -> "OpenWords":
        return self  # a copy of a model reads what the task that it came from has met

    def save(self, folder: Any) -> None:
        self.closed.save(folder)

    @property
    def id_count(self) -> int:
        return self.vocab_size + MOST_NEW

    @property
    def hash(self) -> str:
        return self.closed.hash

    def tell_of_long(self, words: Iterable[str]) -> None:
        """That some words are cut, once."""
        long = None if self.said else next((word for word in words if len(word if self.letters == "unicode" else word.encode()) > self.longest), None)
        if long is not None:
            self.said = True
            say(f"words such as {long[:60]!r} have more than {self.longest} letters; the first {self.longest} of each are read")

    def put(self, number: int, codes: list[int]) -> None:
        row = self.table[number]
        row[:] = PAD
        row[: len(codes) + 2] = [BEGIN, *codes, END]

    def character_ids(self, ids: torch.Tensor) -> torch.Tensor:
        """The letters of words, (N,) to (N, C)."""
        return torch.from_numpy(self.table[ids.cpu().numpy()].astype(np.int64)).to(ids.device)

    def id(self, token: str) -> int:
        """The id of a word; a new one gets one."""
        known = self.numbers.get(token)
        return self.met(token) if known is None else known

    def met(self, word: str) -> int:
        place = self.places.get(word)
        if place is None:
            place = self.places[word] = self.came % MOST_NEW
            if self.came < MOST_NEW:
                self.new.append(word)
                if self.vocab_size + place >= len(self.table):
                    self.table = np.concatenate([self.table, np.zeros_like(self.table[: len(self.table) // 2 + 1])])
            else:
                del self.places[self.new[place]]
                self.new[place] = word
            self.came += 1
            self.put(self.vocab_size + place, coded(word, self.letters, self.longest))
            self.tell_of_long([word])
        return self.vocab_size + place

    def token(self, number: int) -> str:
        beyond = number - self.vocab_size
        return self.new[beyond] if 0 <= beyond < len(self.new) else super().token(number)

    def encoding(self, text: str) -> Any:
        found, text = super().encoding(text), self.prepared(text)
        spans = zip(found.ids, found.offsets, strict=True)
        return Open([self.id(self.normal(text[a:b])) if number == self.unknown else number for number, (a, b) in spans], found.offsets)

    def normal(self, word: str) -> str:
        return self.library.normalizer.normalize_str(word) if self.library.normalizer else word

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        found = zip(super().encode_batch(texts), texts, strict=True)
        return [self.encode(text) if self.unknown in ids else ids for ids, text in found]

    def encode_pretokens(self, spellings: list[str]) -> list[list[int]]:
        return [[self.id(spelling)] for spelling in spellings]

    def tokens(self, text: str) -> list[str]:
        return [self.token(number) for number in self.encode(text)]

    def unknown_words(self, text: str) -> list[str]:
        return []
