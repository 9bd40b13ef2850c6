"""One name for every tokenizer: text to ids and back.

tokenizer = Tokenizer.train(TokenizerSpec("bpe"), lambda: [["the cat sat .", "the mat ."]])
tokenizer.encode("the cat")      # ids, without special ones
tokenizer.decode(ids)
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from stairs.errors import BadInput
from stairs.text.chinese import HAN_RUN, chinese_word_spans, chinese_word_starts, has_han, space_words
from stairs.text.special import BEGIN, END, MASK, PAD, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers import spec as files
from stairs.text.tokenizers.bulk_encoding import BYTE_CHARACTERS, lone_surrogate_error
from stairs.text.tokenizers.spacing import SpacingTable, SpellingTable, join_words
from stairs.text.tokenizers.spec import KINDS, TokenizerSpec, assemble_backend
from stairs.text.tokenizers.vocabulary_training import Sentences, train_backend

__all__ = ["KINDS", "SPECIAL_TOKENS", "TOKENIZERS", "Tokenizer", "TokenizerSpec"]

TOKENIZERS = {kind: TokenizerSpec(kind) for kind in KINDS}  # each kind with its default settings


class Encoding(Protocol):
    """The ids of a text, and (start, end) of each in the preprocessed text."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def offsets(self) -> list[tuple[int, int]]: ...


class Tokenizer:
    """Text to ids and back. Special tokens have the ids 0 to 4 in every kind, and no text is ever encoded as one of them but [UNK]."""

    pad, unknown, begin, end, mask = PAD, UNKNOWN, BEGIN, END, MASK
    special_ids = frozenset(range(len(SPECIAL_TOKENS)))
    spacing: SpacingTable | None = None  # what the dropped spaces cost, counted on the training text; None if not counted
    adds_begin = True  # whether a text is read with [CLS], or what stands for it, before it

    def __init__(self, spec: TokenizerSpec, backend: tokenizers.Tokenizer, vocabulary: list[str] | None = None):
        self.spec = spec
        self.backend = backend
        if vocabulary is not None:
            self.vocabulary = vocabulary  # reading a large one from the backend takes a while

    @classmethod
    def train(cls, spec: TokenizerSpec, sentences: Sentences) -> "Tokenizer":
        """Learn the vocabulary from `sentences()`, a fresh iterator of documents, each a list of sentences."""
        return cls(spec, train_backend(spec, sentences))

    @classmethod
    def from_words(cls, words: list[str]) -> "Tokenizer":
        """A tokenizer with this vocabulary, for text whose words are separated by spaces."""
        special = next((word for word in words if word in SPECIAL_TOKENS), None)
        if special:
            raise BadInput(f"the word {special} has the name of a special token; rename it")
        spec = TokenizerSpec("words", chinese="characters", split="spaces")
        vocabulary = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *words])}
        return cls(spec, assemble_backend(spec, models.WordLevel(vocabulary, unk_token=SPECIAL_TOKENS[UNKNOWN])))

    @classmethod
    def load(cls, folder: str | Path) -> "Tokenizer":
        if (Path(folder) / files.WORDS_FILE).is_file():
            from stairs.text.tokenizers.word_table import WordTable

            return WordTable.read(Path(folder))
        from stairs.text.tokenizers.adopted_tokenizer import AdoptedTokenizer

        if AdoptedTokenizer.is_adopted(Path(folder)):
            return AdoptedTokenizer.read(folder)
        tokenizer = cls(*files.load(Path(folder)))
        tokenizer.spacing = files.read_spacing(Path(folder))
        return tokenizer

    def save(self, folder: str | Path) -> None:
        """Write tokenizer.json and tokenizer_config.json."""
        files.save(Path(folder), self.spec, self.backend, self.spacing)

    @functools.cached_property
    def hash(self) -> str:
        """A hash of what decides the ids, not of how a version of the library writes it."""
        rules = None
        if self.spec.kind in ("bpe", "byte-bpe", "unigram"):
            model = json.loads(self.backend.to_str())["model"]
            rules = model["vocab"] if self.spec.kind == "unigram" else model["merges"]
        return hashlib.sha256(json.dumps([files.stored_settings(self.spec), self.vocabulary, rules]).encode()).hexdigest()

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
        prepared = self.preprocess(text)
        normal = self.backend.normalizer.normalize_str(prepared) if self.backend.normalizer else prepared
        return [word for word, _ in self.backend.pre_tokenizer.pre_tokenize_str(normal)]

    def decode(self, ids: list[int]) -> str:
        """The text of the ids; [PAD], [CLS] and [SEP] are left out."""
        tokens = [self.token(int(number)) for number in ids if number not in (self.pad, self.begin, self.end)]
        if self.spec.kind == "characters":
            return "".join(tokens)
        if self.spec.kind == "byte-bpe":
            return decoders.ByteLevel().decode(tokens)
        if self.spec.kind == "unigram":
            return "".join(tokens).replace("▁", " ").removeprefix(" ")
        if self.spec.kind == "bpe":
            ended = "".join(token + "</w>" if token in SPECIAL_TOKENS else token for token in tokens)
            return join_words(ended.removesuffix("</w>").split("</w>")) if ended else ""
        words: list[str] = []
        for token in tokens:
            if self.spec.kind == "wordpiece" and token.startswith("##") and words:
                words[-1] += token[2:]
            else:
                words.append(token)
        return join_words(words)

    def word_ids(self, text: str) -> list[int]:
        """The number of the word each token belongs to: pieces of one word share it, and so do the characters of one Chinese word."""
        encoding, text = self.encode_with_offsets(text), self.preprocess(text)
        word_at = [-1] * len(text)
        chinese = [run.span() for run in HAN_RUN.finditer(text)] if self.spec.chinese == "words" else chinese_word_spans(text)
        spans = [span for _, span in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
        for number, (start, end) in enumerate(spans + chinese):
            word_at[start:end] = [number] * (end - start)
        spaces_belong = self.spec.kind in ("byte-bpe", "unigram")  # to the word that follows
        groups: list[int] = []
        group, reached, after_space = -1, -1, False
        for start, end in encoding.offsets:
            word = next((word_at[at] for at in range(start, end) if word_at[at] >= 0), -1)
            if not after_space and (word < 0 or word != reached):
                group += 1
            after_space = word < 0 and spaces_belong
            reached = word_at[end - 1] if end > start else word
            groups.append(group)
        return groups

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
    def spelling_table(self) -> SpellingTable:
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

    def unknown_in_pretoken(self, spelling: str) -> list[str]:
        if self.spec.kind in ("words", "characters", "wordpiece"):
            return [spelling]
        form = PRETOKEN_FORMS.get(self.spec.kind, str)(spelling)
        pieces = self.backend.model.tokenize(form)
        return [piece_text(form, piece.offsets) for piece in pieces if piece.id == self.unknown]


def refuse_lone_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate_error(error) from None
    return text


def piece_text(text: str, offsets: tuple[int, int]) -> str:
    start, end = offsets  # in bytes
    return text.encode()[start:end].decode()


def bytes_as_characters(spelling: str) -> str:
    return spelling.encode().decode("latin-1").translate(BYTE_CHARACTERS)


def spaces_as_metaspaces(spelling: str) -> str:
    form = spelling.replace(" ", "▁")
    return form if form.startswith("▁") else "▁" + form


PRETOKEN_FORMS = {"byte-bpe": bytes_as_characters, "unigram": spaces_as_metaspaces}
