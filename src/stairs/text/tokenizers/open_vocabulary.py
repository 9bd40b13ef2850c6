"""An open vocabulary, for models that read characters: no word is unknown.

ids of the vocabulary      as the tokenizer has them
ids behind it              new words in the order in which they occur; the oldest are replaced when there are too many
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from stairs.errors import Unsupported
from stairs.progress import say
from stairs.text.batch import Batch
from stairs.text.character_ids import FIRST_SPECIAL, PAD_CHARACTER, WORD_BEGIN, WORD_END, CharacterSet, character_ids
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_NEW_WORDS = 1 << 18  # that are remembered


class OpenEncoding(NamedTuple):
    """The ids of a text, and the span of each word in it."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class OpenVocabulary(Tokenizer):
    """A tokenizer of whole words with more ids, for words that it does not know."""

    def __init__(self, tokenizer: Tokenizer, character_set: CharacterSet, max_characters: int) -> None:
        if tokenizer.spec.kind != "words":
            raise Unsupported(f"the model reads the characters of whole words, and this tokenizer has {tokenizer.kind}; use --tokenizer words")
        super().__init__(tokenizer.spec, tokenizer.backend, tokenizer.vocabulary)
        self.closed_tokenizer, self.spacing = tokenizer, tokenizer.spacing
        self.character_set, self.max_characters = character_set, max_characters
        self.new_words: list[str] = []  # by id, less the size of the vocabulary
        self.new_word_slots: dict[str, int] = {}
        self.words_added, self.has_warned = 0, False
        self.character_table = np.zeros((self.vocab_size + 64, max_characters + 2), np.int32)
        for number, word in enumerate(self.vocabulary):
            is_special = number in self.special_ids
            self.set_characters(number, [FIRST_SPECIAL + number] if is_special else character_ids(word, character_set, max_characters))
        self.set_characters(self.unknown, [])  # occurs only where the characters were not kept, as in the held-out splits of a corpus

    def __deepcopy__(self, memory: dict[int, object]) -> "OpenVocabulary":
        return self  # a copy of a model shares the new words of its task

    def save(self, folder: str | Path) -> None:
        self.closed_tokenizer.save(folder)

    @property
    def id_count(self) -> int:
        return self.vocab_size + MAX_NEW_WORDS

    @property
    def hash(self) -> str:
        return self.closed_tokenizer.hash

    def warn_of_long_words(self, words: Iterable[str]) -> None:
        """Say once that some words are cut."""
        is_unicode = self.character_set == "unicode"
        long = next((word for word in words if len(word if is_unicode else word.encode()) > self.max_characters), None)
        if long is not None and not self.has_warned:
            self.has_warned = True
            say(f"words such as {long[:60]!r} have more than {self.max_characters} characters; the first {self.max_characters} of each are read")

    def set_characters(self, number: int, characters: list[int]) -> None:
        row = self.character_table[number]
        row[:] = PAD_CHARACTER
        row[: len(characters) + 2] = [WORD_BEGIN, *characters, WORD_END]

    def add_characters(self, batch: Batch) -> Batch:
        """The batch, with the characters of its words, (B, T, C), and of those of its source."""
        ids = batch.ids.where(batch.real, self.begin)
        source = None if batch.source is None else self.add_characters(batch.source)
        return replace(batch, characters=self.character_ids(ids.flatten()).unflatten(0, ids.shape), source=source)

    def character_ids(self, ids: torch.Tensor) -> torch.Tensor:
        """The character ids of words, (N,) to (N, C)."""
        return torch.from_numpy(self.character_table[ids.cpu().numpy()].astype(np.int64)).to(ids.device)

    def id(self, token: str) -> int:
        """The id of a word; a new word gets one."""
        known = self.ids_by_token.get(token)
        return self.add_word(token) if known is None else known

    def add_word(self, word: str) -> int:
        slot = self.new_word_slots.get(word)
        if slot is None:
            slot = self.new_word_slots[word] = self.words_added % MAX_NEW_WORDS
            if self.words_added < MAX_NEW_WORDS:
                self.new_words.append(word)
                if self.vocab_size + slot >= len(self.character_table):
                    more = np.zeros_like(self.character_table[: len(self.character_table) // 2 + 1])
                    self.character_table = np.concatenate([self.character_table, more])
            else:
                del self.new_word_slots[self.new_words[slot]]
                self.new_words[slot] = word
            self.words_added += 1
            self.set_characters(self.vocab_size + slot, character_ids(word, self.character_set, self.max_characters))
            self.warn_of_long_words([word])
        return self.vocab_size + slot

    def token(self, number: int) -> str:
        beyond = number - self.vocab_size
        return self.new_words[beyond] if 0 <= beyond < len(self.new_words) else super().token(number)

    def encode_with_offsets(self, text: str) -> OpenEncoding:
        encoding, text = super().encode_with_offsets(text), self.preprocess(text)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        return OpenEncoding([self.id(self.normalize(text[a:b])) if number == self.unknown else number for number, (a, b) in spans], encoding.offsets)

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        encoded = zip(super().encode_batch(texts), texts, strict=True)
        return [self.encode(text) if self.unknown in ids else ids for ids, text in encoded]

    def encode_pretokens(self, spellings: list[str]) -> list[list[int]]:
        return [[self.id(spelling)] for spelling in spellings]

    def tokens(self, text: str) -> list[str]:
        return [self.token(number) for number in self.encode(text)]

    def unknown_words(self, text: str) -> list[str]:
        return []
