"""Tokenizing much text: each distinct pre-token is encoded once by the library and spliced in wherever it occurs.

The compiled loop in kernels/pretokens.py needs a class for every code point. It is found by probing the library's own pre-tokenizer with each code
point that occurs, so that the two cannot drift apart.
"""

import functools
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tokenizers
from tokenizers import normalizers

from stairs.errors import BadInput, Unsupported
from stairs.kernels import pretokens as kernel
from stairs.kernels.gaps import ISOLATED, WHITESPACE
from stairs.text.chinese import space_words
from stairs.text.special import BEGIN, END, UNKNOWN
from stairs.text.tokenizers.spacing import WORD_JOINT, Gaps, character_kind
from stairs.text.tokenizers.spec import TokenizerSpec

if TYPE_CHECKING:
    from stairs.text.tokenizers.tokenizer import Tokenizer

RULES = {"characters": kernel.CHARACTERS, "byte-bpe": kernel.GPT2, "unigram": kernel.METASPACE}  # the others: ISOLATE
MAX_PRETOKENS, MAX_SPELLING_BYTES = 1 << 21, 1 << 26  # an encoder that has cached more than this starts anew
HAN_BEGINS = [bytes([byte]) for byte in (*range(0xE3, 0xEA), 0xEF, 0xF0)]  # the first bytes of Han characters in UTF-8
# GPT-2's characters for the 256 bytes: the printable ones stand for themselves
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_CHARACTERS = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + at) for at, byte in enumerate(byte for byte in range(256) if byte not in set(PRINTABLE))
}


class LowerCase(dict):
    """The library's lower case of each code point, looked up when it first occurs (Python's own differs for a final sigma)."""

    def __missing__(self, point: int) -> str:
        self[point] = lower = normalizers.Lowercase().normalize_str(chr(point))
        return lower


class PretokenIndex:
    """Numbers the distinct pre-tokens of a growing text: `number_block(block(documents))`, then `spellings()`."""

    def __init__(self, spec: TokenizerSpec, backend: tokenizers.Tokenizer):
        self.rule = RULES.get(spec.kind, kernel.ISOLATE)
        self.normalizer, self.pre_tokenizer = backend.normalizer, backend.pre_tokenizer
        self.preprocessor, self.always_preprocesses = text_preprocessor(spec), spec.lowercase
        self.drops_spaces = self.rule == kernel.ISOLATE
        self.word_joint = ord(WORD_JOINT) if spec.chinese == "words" else -1
        self.classes, self.gap_kinds = np.zeros(0x110000, np.uint8), np.zeros(0x110000, np.uint8)
        self.classify(range(128))
        self.clear()

    def clear(self) -> None:
        self.distinct_count = 0
        self.slots = np.zeros(1 << 16, np.uint64)
        self.starts = np.zeros((1 << 15) + 1, np.int64)
        self.spelling_bytes = np.zeros(1 << 20, np.uint8)

    def block(self, documents: Iterable[list[str]]) -> bytes:
        """Documents, each a list of sentences, as the kernel reads them."""
        try:
            parts = [self.sentence_bytes(sentences) for sentences in documents]
        except UnicodeEncodeError as error:
            raise lone_surrogate_error(error) from None
        return b"\xfe".join(parts) + b"\xfe" if parts else b""

    def sentence_bytes(self, sentences: list[str]) -> bytes:
        raw = b"\xff".join(map(str.encode, sentences))
        if self.preprocessor is None or not (self.always_preprocesses or any(byte in raw for byte in HAN_BEGINS)):
            return raw
        return b"\xff".join([self.preprocessor(sentence).encode() for sentence in sentences])

    def number_block(self, block: bytes) -> np.ndarray:
        """The number of each pre-token in order, kernel.SENTENCE after a sentence, kernel.DOCUMENT after the last of a document."""
        text = np.frombuffer(block, np.uint8)
        unseen = np.empty(4096, np.int64)
        while count := kernel.unseen_code_points(text, self.classes, unseen):
            self.classify(unseen[:count].tolist())
        position, parts = 0, []
        numbers = np.empty(len(text) // (1 if self.rule == kernel.CHARACTERS else 3) + 1024, np.int32)
        while position < len(text):
            position, filled, self.distinct_count = kernel.number_pretokens(
                text, position, self.rule, self.classes, self.slots, self.starts, self.spelling_bytes, self.distinct_count, numbers
            )
            parts.append(numbers[:filled])
            if position < len(text):
                self.make_room(len(text) - position)
                numbers = np.empty(len(text) - position, np.int32)
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def count_gaps(self, block: bytes, gaps: Gaps) -> None:
        """Count what stands between the pre-tokens of a numbered block, if the tokenizer drops it."""
        if self.drops_spaces:
            gaps.add(block, self.gap_kinds, self.word_joint)

    def make_room(self, ahead: int) -> None:
        """Space for twice the pre-tokens, and for the bytes that may follow."""
        if 2 * self.distinct_count >= len(self.slots):
            self.slots = np.zeros(4 * len(self.slots), np.uint64)
            kernel.rehash(self.slots, self.starts, self.spelling_bytes, self.distinct_count)
        if 2 * (len(self.starts) - 1) < len(self.slots):
            self.starts = grow_array(self.starts, len(self.slots) // 2 + 1)
        if len(self.spelling_bytes) < int(self.starts[self.distinct_count]) + ahead:
            self.spelling_bytes = grow_array(self.spelling_bytes, max(2 * len(self.spelling_bytes), int(self.starts[self.distinct_count]) + ahead))

    def spellings(self, first: int = 0) -> list[str]:
        """The pre-tokens numbered `first` and above, as they stand in the text."""
        starts = self.starts[first : self.distinct_count + 1].tolist()
        text = self.spelling_bytes[starts[0] : starts[-1]].tobytes()
        base = starts[0]
        return [text[start - base : end - base].decode() for start, end in pairwise(starts)]

    def spelling(self, number: int) -> str:
        return self.spelling_bytes[self.starts[number] : self.starts[number + 1]].tobytes().decode()

    def classify(self, points: Iterable[int]) -> None:
        for point in points:
            kind = self.classes[point] = self.character_class(chr(point))
            self.gap_kinds[point] = WHITESPACE if kind == kernel.SPACE else character_kind(chr(point)) + ISOLATED * (kind == kernel.ISOLATED)

    def character_class(self, character: str) -> int:
        """What the pre-tokenizer does to a character between two letters (for GPT-2 also digits and punctuation)."""
        if self.rule == kernel.CHARACTERS or 0xD800 <= ord(character) < 0xE000:
            return kernel.LETTER
        pieces = self.pieces_between("a", character)
        if self.rule == kernel.GPT2:
            if pieces == 1:
                return kernel.LETTER
            if self.pieces_between("1", character) == 1:
                return kernel.DIGIT
            return kernel.ISOLATED if self.pieces_between("!", character) == 1 else kernel.SPACE
        return {1: kernel.LETTER, 2: kernel.SPACE, 3: kernel.ISOLATED}[pieces]

    def pieces_between(self, neighbour: str, character: str) -> int:
        text = neighbour + character + neighbour
        return len(self.pre_tokenizer.pre_tokenize_str(self.normalizer.normalize_str(text) if self.normalizer else text))


class EncodedDocuments(NamedTuple):
    ids: np.ndarray  # uint16, or uint32 when the vocabulary is larger; [SEP] after each sentence, [CLS] after the last of a document
    unknown_words: int
    spelling_bits: float  # what it takes to spell the unknown words
    spacing_bits: float = 0.0  # and to restore the spaces


class BulkEncoder:
    """Encodes many documents at once: `BulkEncoder(tokenizer).encode_documents([["One sentence.", "Another."]]).ids`."""

    def __init__(self, tokenizer: "Tokenizer"):
        if (tokenizer.begin, tokenizer.end) != (BEGIN, END):
            raise Unsupported("this run was adopted from another tool, which marks sentences in its own way; ask it, or train a run to score text")
        self.tokenizer = tokenizer
        self.pretokens = PretokenIndex(tokenizer.spec, tokenizer.backend)
        self.dtype = id_dtype(tokenizer.id_count)
        self.reset()

    def reset(self) -> None:
        self.pretokens.clear()
        self.encoded_count = 0
        self.offsets = np.zeros(1 << 15, np.int64)
        self.ids: np.ndarray = np.zeros(1 << 16, self.dtype)
        self.unknown = np.zeros(1 << 15, np.int64)
        self.bits = np.zeros(1 << 15, np.float64)

    def encode_documents(self, documents: list[list[str]]) -> EncodedDocuments:
        block = self.pretokens.block(documents)
        encoded = self.encode_block(block)
        if self.tokenizer.spacing is None:
            return encoded
        gaps = Gaps()
        self.pretokens.count_gaps(block, gaps)
        return encoded._replace(spacing_bits=self.tokenizer.spacing.bits(gaps))

    def encode_block(self, block: bytes) -> EncodedDocuments:
        """Encode a block that `self.pretokens.block` made."""
        if self.encoded_count > MAX_PRETOKENS or self.pretokens.starts[self.encoded_count] > MAX_SPELLING_BYTES:
            self.reset()
        numbers = self.pretokens.number_block(block)
        self.encode_new()
        out = np.empty(kernel.spliced_size(numbers, self.offsets), self.dtype)
        kernel.splice(numbers, self.offsets, self.ids, END, BEGIN, out)
        words, bits = kernel.unknown_totals(numbers, self.unknown, self.bits)
        return EncodedDocuments(out, int(words), float(bits))

    def encode_new(self) -> None:
        """Let the library encode the pre-tokens that are new."""
        if self.encoded_count == self.pretokens.distinct_count:
            return
        first, self.encoded_count = self.encoded_count, self.pretokens.distinct_count
        spellings = self.pretokens.spellings(first)
        pieces = self.tokenizer.encode_pretokens(spellings)
        flat: np.ndarray = np.fromiter((one for ids in pieces for one in ids), self.dtype)
        ends = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces))) + self.offsets[first]
        self.offsets = grow_array(self.offsets, self.encoded_count + 1)
        self.unknown, self.bits = grow_array(self.unknown, self.encoded_count), grow_array(self.bits, self.encoded_count)
        self.ids = grow_array(self.ids, int(ends[-1]))
        self.ids[self.offsets[first] : ends[-1]] = flat
        self.offsets[first + 1 : self.encoded_count + 1] = ends
        for at, ids in enumerate(pieces):
            if UNKNOWN in ids:
                unknown = self.tokenizer.unknown_in_pretoken(spellings[at])
                self.unknown[first + at] = len(unknown)
                self.bits[first + at] = sum(map(self.tokenizer.spelling_bits, unknown))


class PretokenCounts:
    """How often each pre-token occurs, for vocabularies of whole words or characters."""

    def __init__(self, pretokens: PretokenIndex):
        self.pretokens = pretokens
        self.counts = np.zeros(1 << 15, np.int64)
        self.order = np.zeros(1 << 15, np.int64)
        self.seen_count = 0

    def add(self, numbers: np.ndarray) -> None:
        self.counts = grow_array(self.counts, self.pretokens.distinct_count)
        self.order = grow_array(self.order, self.pretokens.distinct_count)
        self.seen_count = kernel.count_numbers(numbers, self.counts, self.order, self.seen_count)

    def most_common(self, limit: int | None, min_count: int) -> np.ndarray:
        """The numbers of the pre-tokens by falling count; of equals the first seen first."""
        order = self.order[: self.seen_count]
        counts = self.counts[order]
        ranked = order[np.argsort(-counts, kind="stable")]
        return ranked[: min(len(ranked) if limit is None else limit, int((counts >= min_count).sum()))]


def id_dtype(vocab_size: int) -> type[np.uint16] | type[np.uint32]:
    return np.uint16 if vocab_size <= 65536 else np.uint32


def grow_array(array: np.ndarray, size: int) -> np.ndarray:
    """The array, or a longer one that starts with it, so that `size` elements fit."""
    if size <= len(array):
        return array
    longer = np.zeros(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


def text_preprocessor(spec: TokenizerSpec) -> Callable[[str], str] | None:
    """What the library's normalizer does to a sentence, for the kernel, which does not call it; None if nothing."""
    lower = LowerCase()

    def lowercase(text: str) -> str:
        return text.lower() if text.isascii() else text.translate(lower)

    if spec.chinese == "words":
        segment = functools.partial(space_words, space=WORD_JOINT)
        return (lambda sentence: lowercase(segment(sentence))) if spec.lowercase else segment
    return lowercase if spec.lowercase else None


def lone_surrogate_error(error: UnicodeEncodeError) -> BadInput:
    return BadInput(f"the text holds half a surrogate pair (U+{ord(error.object[error.start]):04X}), which is not a character; remove it")
