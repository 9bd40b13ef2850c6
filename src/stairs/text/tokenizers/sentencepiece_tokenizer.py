"""A tokenizer that SentencePiece trained, unigram or BPE (Kudo & Richardson 2018), with the same pieces for every text.

    unigram    the cut with the highest sum of scores (kernels/piece_lattice.py)
    bpe        of all neighbours that together are a piece, those with the highest score are joined, the first of equals, until there are none

The special tokens have the ids 0 to 4 here, as in every tokenizer that a model is trained with; the other pieces follow in the order of the file.
`piece_ids` gives the ids of the file, which equal those of the `sentencepiece` package. A character that is no piece is unknown, neighbours together,
or becomes its bytes if the model has byte_fallback.

Departures: none in the ids. A model whose pieces cross spaces is refused, because text is counted and encoded word by word elsewhere.
"""

import functools
import hashlib
import heapq
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stairs.files import write_atomically, write_json
from stairs.kernels.piece_lattice import best_cut, build_trie
from stairs.text.encoding import refuse_lone_surrogates
from stairs.text.special import BEGIN, END, MASK, PAD, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.sentencepiece_file import BYTE, CONTROL, NORMAL, UNKNOWN_TYPE, UNUSED, USER_DEFINED, Piece, SentencePieceModel, refusal
from stairs.text.tokenizers.sentencepiece_normalizer import SentencePieceNormalizer
from stairs.text.tokenizers.spec import (
    CONFIG_FILE,
    MIN_VOCAB_SIZE,
    SENTENCEPIECE_FILE,
    SPECIAL_TOKEN_KEYS,
    TokenizerSpec,
    assemble_backend,
    build_model,
)  # fmt: skip
from stairs.text.tokenizers.tokenizer import Tokenizer

UNKNOWN_PENALTY = 10.0  # below the lowest score
MASK_NAMES = ("[MASK]", "<mask>")
ROLE_IDS = {"pad": PAD, "begin": BEGIN, "end": END}
WORD = re.compile("▁?[^▁]+|▁")


class PieceEncoding(NamedTuple):
    """The ids of a text, and the start and end of each in the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class SentencePieceTokenizer(Tokenizer):
    """`SentencePieceTokenizer.read("m.model").encode("the cat")`."""

    encodes_sentences = True

    def __init__(self, model: SentencePieceModel) -> None:
        spec = TokenizerSpec("unigram", max(len(model.pieces), MIN_VOCAB_SIZE["unigram"]))  # how it marks spaces, whichever way it cuts words
        super().__init__(spec, assemble_backend(spec, build_model("words", {token: i for i, token in enumerate(SPECIAL_TOKENS)})))
        self.model = model
        self.kind = f"SentencePiece {model.kind}"
        special = special_numbers(model)
        others = [number for number in range(len(model.pieces)) if number not in special.values()]
        self.numbers: list[int | None] = [*(special.get(i) for i in range(len(SPECIAL_TOKENS))), *others]  # of our ids in the file
        self.ids_by_number = {number: i for i, number in enumerate(self.numbers) if number is not None}
        self.vocabulary = [SPECIAL_TOKENS[i] if number is None else model.pieces[number].text for i, number in enumerate(self.numbers)]
        self.special_ids = frozenset(i for i, own in enumerate(self.numbers) if own is None or model.pieces[own].type in (CONTROL, UNKNOWN_TYPE))
        self.byte_ids = {int(text[3:5], 16): self.ids_by_number[number] for number, (text, _, kind) in enumerate(model.pieces) if kind == BYTE}
        self.bytes_by_id = {i: byte for byte, i in self.byte_ids.items()}
        user_defined = [piece.text for piece in model.pieces if piece.type == USER_DEFINED]
        self.normalizer = SentencePieceNormalizer(model.charsmap, user_defined, model.adds_dummy_prefix, model.removes_extra_spaces)
        self.merge_word = functools.lru_cache(1 << 16)(self.merge)

    @classmethod
    def read(cls, path: str | Path) -> "SentencePieceTokenizer":
        model = SentencePieceModel.read(path)
        try:
            return cls(model)
        except ValueError as error:
            raise refusal(path, str(error)) from None

    def save(self, folder: str | Path) -> None:
        """Write the model file and tokenizer_config.json."""
        write_atomically(Path(folder) / SENTENCEPIECE_FILE, self.model.to_bytes())
        names = {key: self.vocabulary[i] for i, key in enumerate(SPECIAL_TOKEN_KEYS)}
        write_json(Path(folder) / CONFIG_FILE, {**names, "stairs": {"version": 1, "sentencepiece": self.model.kind}})

    @functools.cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.model.to_bytes()).hexdigest()

    @functools.cached_property
    def ids_by_token(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.vocabulary)}

    @functools.cached_property
    def vocab_size(self) -> int:
        return len(self.vocabulary)

    def piece_ids(self, text: str) -> list[int]:
        """The ids as the file numbers them, and the `sentencepiece` package."""
        return [number for i in self.encode(text) if (number := self.numbers[i]) is not None]

    def normalize(self, text: str) -> str:
        return self.normalizer.normalize(refuse_lone_surrogates(text))

    def encode(self, text: str) -> list[int]:
        return [i for ids, _ in self.pieces_of(self.normalize(text)) for i in ids]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def encode_with_offsets(self, text: str) -> PieceEncoding:
        normalized, origins = self.normalizer.normalize_with_origins(refuse_lone_surrogates(text))
        encoding, start = PieceEncoding([], []), 0
        for ids, stop in self.pieces_of(normalized):
            encoding.ids.extend(ids)
            encoding.offsets.extend([(origins[start][0], origins[stop - 1][1])] * len(ids))
            start = stop
        return encoding

    def pieces_of(self, normalized: str) -> list[tuple[list[int], int]]:
        """The ids of each piece, several for the bytes of an unknown one, and the character after its last."""
        cut = self.cut_unigram(normalized.replace(" ", "▁")) if self.model.kind == "unigram" else self.cut_bpe(normalized.replace(" ", "▁"))
        result: list[tuple[list[int], int]] = []
        start, was_unknown = 0, False
        for number, stop in cut:
            is_unknown = number is None
            if number is not None:
                result.append(([self.ids_by_number[number]], stop))
            elif self.model.byte_fallback:
                spelling = normalized[start:stop].replace(" ", "▁").encode()
                result.append(([self.byte_ids.get(byte, UNKNOWN) for byte in spelling], stop))
            elif was_unknown:
                result[-1] = ([UNKNOWN], stop)
            else:
                result.append(([UNKNOWN], stop))
            start, was_unknown = stop, is_unknown and not self.model.byte_fallback
        return result

    def cut_unigram(self, text: str) -> list[tuple[int | None, int]]:
        numbers, trie, scores, lowest = self.tables
        spelling = text.encode()
        utf8, fixed = np.frombuffer(spelling, np.uint8), np.zeros(len(spelling), np.int32)
        for found in self.user_defined.finditer(spelling) if self.user_defined else ():
            fixed[found.start()] = found.end()
        pieces, stops = best_cut(utf8, *trie, scores, fixed, np.float32(lowest - UNKNOWN_PENALTY))
        characters = np.cumsum((utf8 & 0xC0) != 0x80)
        return [(None if piece < 0 else numbers[piece], stop) for piece, stop in zip(pieces.tolist(), characters[stops - 1].tolist(), strict=True)]

    @functools.cached_property
    def tables(self) -> tuple[list[int], tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, float]:
        """What the kernel reads: the numbers of the pieces that can be in a text, their trie and scores, and the lowest score."""
        own = [(number, piece) for number, piece in enumerate(self.model.pieces) if piece.type in (NORMAL, USER_DEFINED)]
        spellings = [piece.text.encode() for _, piece in own]
        starts = np.concatenate([[0], np.cumsum([len(spelling) for spelling in spellings], dtype=np.int64)])
        trie = build_trie(np.frombuffer(b"".join(spellings), np.uint8), starts)
        lowest = min((piece.score for _, piece in own if piece.type == NORMAL), default=0.0)
        return [number for number, _ in own], trie, np.array([piece.score for _, piece in own], np.float32), lowest

    @functools.cached_property
    def user_defined(self) -> re.Pattern[bytes] | None:
        """The pieces that are never cut, the longest first."""
        pieces = [re.escape(piece.encode()) for piece in self.normalizer.user_defined]
        return re.compile(b"|".join(pieces)) if pieces else None

    def cut_bpe(self, text: str) -> list[tuple[int | None, int]]:
        cut = []
        for word in WORD.finditer(text):
            cut += [(number, word.start() + stop) for number, stop in self.merge_word(word.group())]
        return cut

    @functools.cached_property
    def mergeable(self) -> dict[str, int]:
        in_text = (NORMAL, USER_DEFINED, UNUSED)
        return {piece.text: number for number, piece in enumerate(self.model.pieces) if piece.type in in_text}

    def merge(self, word: str) -> list[tuple[int | None, int]]:
        """The pieces of a word and where each ends. Symbols are a linked list; a merge that a symbol has outgrown is passed over."""
        symbols = self.symbols(word)
        after = [*range(1, len(symbols)), -1]
        before = list(range(-1, len(symbols) - 1))
        waiting: list[tuple[float, int, int, int]] = []
        parts: dict[str, tuple[str, str]] = {}  # of pieces that may be joined to larger ones, but not stay

        def offer(left: int, right: int) -> None:
            if min(left, right) < 0 or not (symbols[left][1] and symbols[right][1]):
                return
            joined = symbols[left][0] + symbols[right][0]
            number = self.mergeable.get(joined)
            if number is not None:
                heapq.heappush(waiting, (-self.model.pieces[number].score, left, right, len(joined)))
                if self.model.pieces[number].type == UNUSED:
                    parts[joined] = symbols[left][0], symbols[right][0]

        for left in range(len(symbols) - 1):
            offer(left, left + 1)
        while waiting:
            _, left, right, size = heapq.heappop(waiting)
            joined = symbols[left][0] + symbols[right][0]
            if not symbols[left][0] or not symbols[right][0] or len(joined) != size:
                continue
            symbols[left], symbols[right] = (joined, True), ("", False)
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            offer(before[left], left)
            offer(left, after[left])
        pieces = [piece for symbol, _ in symbols if symbol for piece in split_unused(symbol, parts)]
        stops = np.cumsum([len(piece) for piece in pieces]).tolist()
        return [(self.mergeable.get(piece), stop) for piece, stop in zip(pieces, stops, strict=True)]

    def symbols(self, word: str) -> list[tuple[str, bool]]:
        """The characters and user-defined pieces of a word, and whether each may be merged."""
        result, at = [], 0
        while at < len(word):
            own = next((piece for piece in self.normalizer.user_defined if word.startswith(piece, at)), None)
            result.append((own or word[at], own is None))
            at += len(result[-1][0])
        return result

    def decode(self, ids: list[int]) -> str:
        """The text of the ids; the tokens for padding, begin and end are left out."""
        shown = [int(i) for i in ids if i not in (self.pad, self.begin, self.end)]
        parts = [bytes([self.bytes_by_id[i]]) if i in self.bytes_by_id else self.token(i).encode() for i in shown]
        text = b"".join(parts).decode("utf-8", "replace").replace("▁", " ")
        return text.removeprefix(" ") if self.model.adds_dummy_prefix else text

    def words(self, text: str) -> list[str]:
        return WORD.findall(self.normalize(text).replace(" ", "▁"))


def split_unused(piece: str, parts: dict[str, tuple[str, str]]) -> list[str]:
    return [own for part in parts[piece] for own in split_unused(part, parts)] if piece in parts else [piece]


def special_numbers(model: SentencePieceModel) -> dict[int, int]:
    """The piece of the file behind each of our special ids that it has."""
    numbers = {piece.text: number for number, piece in enumerate(model.pieces) if piece.type in (CONTROL, USER_DEFINED)}
    special = {ROLE_IDS[role]: numbers[name] for role, name in model.role_names if role in ROLE_IDS and name in numbers}
    mask = next((numbers[name] for name in MASK_NAMES if name in numbers), None)
    special |= {} if mask is None else {MASK: mask}
    return special | {UNKNOWN: next(number for number, piece in enumerate(model.pieces) if piece.type == UNKNOWN_TYPE)}


def renumber(tokenizer: SentencePieceTokenizer) -> SentencePieceModel:
    """The model with its pieces in the order of our ids, so that the package gives the ids of the run."""
    model = tokenizer.model
    pieces = tuple(Piece(tokenizer.vocabulary[i], 0.0, CONTROL) if own is None else model.pieces[own] for i, own in enumerate(tokenizer.numbers))
    names = dict(model.role_names) | {role: tokenizer.vocabulary[i] for role, i in {**ROLE_IDS, "unknown": UNKNOWN}.items()}
    return SentencePieceModel(
        pieces, model.kind, model.charsmap, model.normalization, model.adds_dummy_prefix, model.removes_extra_spaces, model.byte_fallback,
        tuple(names.items()),
    )  # fmt: skip
