"""One name for every tokenizer: text to ids and back.

tokenizer = Tokenizer.train(TokenizerSpec("bpe"), lambda: [["the cat sat .", "the mat ."]])
tokenizer.encode("the cat")      # ids, without special ones
tokenizer.decode(ids)

Where a kind drops the spaces, `decode` restores those of English by rule, and puts none around Chinese.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
from tokenizers import decoders

from stairs.errors import BadInput
from stairs.files import write_atomically, write_json
from stairs.text.chinese import chinese_word_starts, has_han, space_words
from stairs.text.encoding import refuse_lone_surrogates
from stairs.text.special import BEGIN, END, MASK, PAD, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.joining import join_tokens
from stairs.text.tokenizers.spec import (
    CONFIG_FILE,
    KINDS,
    SENTENCEPIECE_FILE,
    SPECIAL_TOKEN_KEYS,
    TOKENIZER_FILE,
    WORDS_FILE,
    TokenizerSpec,
    read_backend,
    read_settings,
    spec_from,
)  # fmt: skip
from stairs.text.tokenizers.word_pieces import PRETOKEN_FORMS, Encoding, group_by_word

if TYPE_CHECKING:
    from stairs.text.tokenizers.bulk_tokenization import Sentences
    from stairs.text.tokenizers.pretoken_index import SpacingTable, SpellingTable

__all__ = ["KINDS", "SPECIAL_TOKENS", "TOKENIZERS", "Tokenizer", "TokenizerSpec"]

TOKENIZERS = {kind: TokenizerSpec(kind) for kind in KINDS}  # each kind with its default settings



class Tokenizer:
    """Text to ids and back. Special tokens have the ids 0 to 4 in every kind, and no text is ever encoded as one of them but [UNK]."""

    pad, unknown, begin, end, mask = PAD, UNKNOWN, BEGIN, END, MASK
    special_ids = frozenset(range(len(SPECIAL_TOKENS)))
    stored_spacing: tuple[object, Path] | None = None  # the table of spaces as it was read, and the file
    encodes_sentences = False  # whether only a whole sentence decides its tokens, not each word by itself
    adds_begin = True  # whether a text is read with [CLS], or what stands for it, before it

    def __init__(self, spec: TokenizerSpec, backend: tokenizers.Tokenizer, vocabulary: list[str] | None = None):
        self.spec, self.backend, self.kind = spec, backend, spec.kind
        if vocabulary is not None:
            self.vocabulary = vocabulary  # reading a large one from the backend takes a while

    @classmethod
    def train(cls, spec: TokenizerSpec, sentences: "Sentences") -> "Tokenizer":
        """Learn the vocabulary from `sentences()`, a fresh iterator of documents, each a list of sentences."""
        from stairs.text.tokenizers.bulk_tokenization import train_backend  # which is compiled, and an answer needs none of it

        return cls(spec, train_backend(spec, sentences))

    @classmethod
    def load(cls, folder: str | Path) -> "Tokenizer":
        """The tokenizer of a folder that its `save` wrote."""
        path = Path(folder) / CONFIG_FILE
        settings = read_settings(path)
        if (path.parent / WORDS_FILE).is_file():
            from stairs.text.tokenizers.word_table import WordTable

            return WordTable.read(path.parent)
        if "sentencepiece" in settings:
            from stairs.text.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer

            return SentencePieceTokenizer.read(path.with_name(SENTENCEPIECE_FILE))
        if "adopted" in settings:
            from stairs.text.tokenizers.adopted_tokenizer import AdoptedTokenizer

            return AdoptedTokenizer.read(path.parent)
        spec = spec_from(settings, path)
        tokenizer = cls(spec, read_backend(path.with_name(TOKENIZER_FILE), spec))
        tokenizer.stored_spacing = (settings["spacing"], path) if "spacing" in settings else None
        return tokenizer

    def save(self, folder: str | Path) -> None:
        """Write tokenizer.json and tokenizer_config.json."""
        write_atomically(Path(folder) / TOKENIZER_FILE, self.backend.to_str().encode())
        self.save_config(Path(folder))

    def save_config(self, folder: Path) -> None:
        names = dict(zip(SPECIAL_TOKEN_KEYS, SPECIAL_TOKENS, strict=True))
        spacing = {"spacing": self.spacing.to_lines()} if self.spacing else {}
        write_json(folder / CONFIG_FILE, {"tokenizer_class": "PreTrainedTokenizerFast", **names, "stairs": {**self.spec.settings, **spacing}})

    @functools.cached_property
    def hash(self) -> str:
        """A hash of what decides the ids, not of how a version of the library writes it."""
        rules = None
        if self.spec.kind in ("bpe", "byte-bpe", "unigram"):
            model = json.loads(self.backend.to_str())["model"]
            rules = model["vocab"] if self.spec.kind == "unigram" else model["merges"]
        return hashlib.sha256(json.dumps([self.spec.settings, self.vocabulary, rules]).encode()).hexdigest()

    @functools.cached_property
    def vocabulary(self) -> list[str]:
        """The tokens by id."""
        return sorted(self.ids_by_token, key=self.ids_by_token.__getitem__)

    @functools.cached_property
    def ids_by_token(self) -> dict[str, int]:
        return self.backend.get_vocab(with_added_tokens=True)

    @functools.cached_property
    def vocab_size(self) -> int:
        return self.backend.get_vocab_size(with_added_tokens=True)

    @property
    def id_count(self) -> int:
        """How many different ids a text can be encoded with."""
        return self.vocab_size

    @property
    def vocabulary_settings(self) -> dict[str, Any]:
        """What the config of a model takes from a tokenizer."""
        return {"vocab_size": self.vocab_size, "begin": self.begin, "end": self.end, "unknown": self.unknown}

    @property
    def suppressed_ids(self) -> list[int]:
        """The ids that are never generated: all special ones but the end."""
        return sorted(self.special_ids - {self.end})

    def token(self, number: int) -> str:
        if not 0 <= number < self.vocab_size:
            raise BadInput(f"no token has the id {number}; the vocabulary ends at {self.vocab_size - 1}")
        return self.vocabulary[number]

    def display_token(self, number: int) -> str:
        """A token as people read it: characters instead of bytes, with the space before a word."""
        token = self.token(number)
        return decoders.ByteLevel().decode([token]) if self.spec.kind == "byte-bpe" and number not in self.special_ids else token

    def id(self, token: str) -> int:
        """The id of a token; that of [UNK] if it is not in the vocabulary."""
        return self.ids_by_token.get(token, self.unknown)

    def with_special_ids(self, ids: list[int], adds_end_token: bool = False) -> tuple[list[int], int]:
        """The ids of a text with the special ids around it, and where the text itself begins. An empty text always gets the one before it."""
        before = [self.begin] if self.adds_begin or not ids else []
        return [*before, *ids, *([self.end] if adds_end_token else [])], len(before)

    def preprocess(self, text: str) -> str:
        return space_words(text) if self.spec.chinese == "words" else text

    def normalize(self, text: str) -> str:
        return self.backend.normalizer.normalize_str(refuse_lone_surrogates(text)) if self.backend.normalizer else text

    def encode_with_offsets(self, text: str) -> Encoding:
        return self.backend.encode(refuse_lone_surrogates(self.preprocess(text)), add_special_tokens=False)

    def encode(self, text: str) -> list[int]:
        return self.encode_with_offsets(text).ids

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        encodings = self.backend.encode_batch_fast([refuse_lone_surrogates(self.preprocess(text)) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def tokens(self, text: str) -> list[str]:
        return [self.vocabulary[number] for number in self.encode(text)]

    def words(self, text: str) -> list[str]:
        """The words of a text, known or not, before they are cut into pieces."""
        return [word for word, _ in self.backend.pre_tokenizer.pre_tokenize_str(self.normalize(self.preprocess(text)))]

    def decode(self, ids: list[int]) -> str:
        """The text of the ids; [PAD], [CLS] and [SEP] are left out."""
        return join_tokens([self.token(int(number)) for number in ids if number not in (self.pad, self.begin, self.end)], self.spec.kind)

    def word_ids(self, text: str) -> list[int]:
        """The number of the word each token belongs to: pieces of one word share it, and so do the characters of one Chinese word."""
        return group_by_word(self.preprocess(text), self.encode_with_offsets(text).offsets, self.spec)

    @functools.cached_property
    def continues_word(self) -> np.ndarray:
        """Of each id, whether it is a later piece of a word."""
        is_piece = self.spec.kind == "wordpiece"
        return np.array([is_piece and token.startswith("##") and len(token) > 2 for token in self.vocabulary])

    @functools.cached_property
    def is_han(self) -> np.ndarray:
        """Of each id, whether it is a single Han character."""
        return np.array([len(token) == 1 and has_han(token) for token in self.vocabulary])

    def word_starts(self, ids: np.ndarray) -> np.ndarray:
        """Of each id of a sentence, whether a word begins there, (T,) bool; Chinese words of several characters are those of jieba's dictionary
        (Cui et al. 2019, "Pre-Training with Whole Word Masking for Chinese BERT")."""
        if self.spec.kind not in ("wordpiece", "words"):  # only the text tells
            text = self.decode(ids.tolist())
            word_ids = np.array(self.word_ids(text), np.int64)
            is_same = len(word_ids) == len(ids) and self.encode(text) == ids.tolist()
            return np.diff(word_ids, prepend=-1) != 0 if is_same else np.ones(len(ids), bool)
        starts, han = ~self.continues_word[ids], self.is_han[ids]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], han, [False]]).astype(np.int8))) if han.any() else np.zeros(0, np.int64)
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            run = "".join([self.vocabulary[i] for i in ids[start:stop].tolist()])
            starts[start:stop] = False
            starts[start + np.array(chinese_word_starts(run))] = True
        starts[:1] = True
        return starts

    def unknown_words(self, text: str) -> list[str]:
        """The text behind each [UNK]: words, or single characters for bpe, unigram and characters."""
        encoding, text = self.encode_with_offsets(text), self.preprocess(text)
        return [text[start:end] for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True) if number == self.unknown]

    @functools.cached_property
    def spacing(self) -> "SpacingTable | None":
        """What the dropped spaces cost, counted on the training text; None if not counted."""
        from stairs.text.tokenizers.pretoken_index import SpacingTable

        return SpacingTable.from_lines(*self.stored_spacing) if self.stored_spacing else None

    @functools.cached_property
    def spelling_table(self) -> "SpellingTable":
        from stairs.text.tokenizers.pretoken_index import SpellingTable

        tokens = [token for number, token in enumerate(self.vocabulary) if number not in self.special_ids]
        return SpellingTable([token.removeprefix("##").removesuffix("</w>").replace("▁", "") for token in tokens])

    def spelling_bits(self, word: str) -> float:
        """Bits that spell an unknown word."""
        return self.spelling_table.bits(word)

    def encode_pretokens(self, spellings: list[str]) -> list[list[int]]:
        """The ids of pre-tokens as kernels/pretokens.py cuts them, for bulk encoding."""
        kind = self.spec.kind
        if kind in ("words", "characters"):
            return [[self.ids_by_token.get(spelling, self.unknown)] for spelling in spellings]
        tokenize = self.backend.model.tokenize
        return [[piece.id for piece in tokenize(spelling)] for spelling in map(PRETOKEN_FORMS.get(kind, str), spellings)]
