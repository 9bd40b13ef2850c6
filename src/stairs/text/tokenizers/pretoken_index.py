"""The pre-tokens of much text (words, punctuation marks, characters), each distinct one numbered once, and what stands between them.

The compiled loop in kernels/pretokens.py needs a class for every code point. It is found by probing the library's own pre-tokenizer with each code
point that occurs, so that the two cannot drift apart.

The tokenizers that drop spaces pay what it takes to restore them, so that bits per character can be compared. Between two words of a sentence stands
nothing, one space, or something else. With the words known, a decoder needs only that:

    bits = sum over gaps of -log2 P(gap | kind of the character on the left, kind of the one on the right, gap before the word on the left)
         + the bits that spell anything else: a number of spaces, or one character after another (kernels/gaps.py: spelled)

P is counted on the training text. A rare context is interpolated with the pair of kinds alone, and that with all gaps. Each ASCII punctuation mark
is a kind of its own; the others are lower and upper case, digits, Han, and a few more. The gap before tells an opening quotation mark from a closing
one.

Departures from a full account: the case that a tokenizer with `lowercase` drops is not paid for.
"""

import functools
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tokenizers
from tokenizers import normalizers

from stairs.errors import BadInput
from stairs.kernels import pretokens as kernel
from stairs.kernels.gaps import ISOLATED, OTHER, START, WHITESPACE, count_gaps
from stairs.text.chinese import HAN_RUN, space_words
from stairs.text.encoding import lone_surrogate_error

if TYPE_CHECKING:
    from stairs.text.tokenizers.spec import TokenizerSpec

RULES = {"characters": kernel.CHARACTERS, "byte-bpe": kernel.GPT2, "unigram": kernel.METASPACE}  # the others: ISOLATE
HAN_BEGINS = [bytes([byte]) for byte in (*range(0xE3, 0xEA), 0xEF, 0xF0)]  # the first bytes of Han characters in UTF-8
WORD_JOINT = "\x0b"  # put between Chinese words: whitespace that no text is written with
CODE_POINTS = 0x110000
PRIOR_COUNT = 1.0  # counts that the wider context is worth
PUNCTUATION = [chr(code) for code in range(33, 127) if not chr(code).isalnum()]
LOWER, UPPER, DIGIT, HAN, LETTER, WIDE, OPENING, CLOSING, OTHER_KIND = range(len(PUNCTUATION), len(PUNCTUATION) + 9)
TABLE_SHAPE = (OTHER_KIND + 1, OTHER_KIND + 1, START + 1, OTHER + 1)


class LowerCase(dict):
    """The library's lower case of each code point, looked up when it first occurs (Python's own differs for a final sigma)."""

    def __missing__(self, point: int) -> str:
        self[point] = lower = normalizers.Lowercase().normalize_str(chr(point))
        return lower


class PretokenIndex:
    """Numbers the distinct pre-tokens of a growing text: `number_block(block(documents))`, then `spellings()`."""

    def __init__(self, spec: "TokenizerSpec", backend: tokenizers.Tokenizer):
        self.rule = RULES.get(spec.kind, kernel.ISOLATE)
        self.normalizer, self.pre_tokenizer = backend.normalizer, backend.pre_tokenizer
        self.preprocessor, self.always_preprocesses = text_preprocessor(spec), spec.lowercase
        self.drops_spaces = self.rule == kernel.ISOLATE
        self.word_joint = ord(WORD_JOINT) if spec.chinese == "words" else -1
        self.classes, self.gap_kinds = np.zeros(CODE_POINTS, np.uint8), np.zeros(CODE_POINTS, np.uint8)
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

    def count_gaps(self, block: bytes, gaps: "Gaps") -> None:
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


def grow_array(array: np.ndarray, size: int) -> np.ndarray:
    """The array, or a longer one that starts with it, so that `size` elements fit."""
    if size <= len(array):
        return array
    longer = np.zeros(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


def text_preprocessor(spec: "TokenizerSpec") -> Callable[[str], str] | None:
    """What the library's normalizer does to a sentence, for the kernel, which does not call it; None if nothing."""
    lower = LowerCase()

    def lowercase(text: str) -> str:
        return text.lower() if text.isascii() else text.translate(lower)

    if spec.chinese == "words":
        segment = functools.partial(space_words, space=WORD_JOINT)
        return (lambda sentence: lowercase(segment(sentence))) if spec.lowercase else segment
    return lowercase if spec.lowercase else None


def character_kind(character: str) -> int:
    """The kind of a character, as far as the spaces beside it depend on it."""
    if character in PUNCTUATION:
        return PUNCTUATION.index(character)
    if HAN_RUN.match(character):
        return HAN
    category = unicodedata.category(character)
    if category[0] in "LM":
        return {"Ll": LOWER, "Lu": UPPER}.get(category, LETTER)
    if category[0] == "N":
        return DIGIT
    if unicodedata.east_asian_width(character) in "WF":
        return WIDE
    return {"Ps": OPENING, "Pi": OPENING, "Pe": CLOSING, "Pf": CLOSING}.get(category, OTHER_KIND)


class Gaps:
    """Counts of the gaps of a text."""

    def __init__(self) -> None:
        self.counts = np.zeros(TABLE_SHAPE, np.int64)
        self.spelling_bits = 0  # of gaps that are neither nothing nor one space

    def add(self, block: bytes, kinds: np.ndarray, joint: int) -> None:
        self.spelling_bits += count_gaps(np.frombuffer(block, np.uint8), kinds, joint, self.counts)


class SpacingTable:
    """The probability of each gap in each context, from the counts of a training text."""

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = counts
        everywhere = counts.sum((0, 1, 2)) + 0.5
        wider = interpolate(counts.sum(2), everywhere / everywhere.sum())
        self.probabilities = interpolate(counts, wider[:, :, None])

    def bits(self, gaps: Gaps) -> float:
        return float(-(gaps.counts * np.log2(self.probabilities)).sum()) + gaps.spelling_bits

    def to_lines(self) -> list[str]:
        """The table as tokenizer_config.json keeps it: a context and its three counts on each line."""
        contexts = np.argwhere(self.counts.sum(-1))
        return [" ".join(map(str, (*context, *self.counts[tuple(context)]))) for context in contexts.tolist()]

    @classmethod
    def from_lines(cls, lines: object, path: Path) -> "SpacingTable":
        """The table that `to_lines` wrote; anything else in this file is refused."""
        counts = np.zeros(TABLE_SHAPE, np.int64)
        try:
            rows = [[int(number) for number in str(line).split(" ")] for line in lines] if isinstance(lines, list) else [[]]
            for first, second, before, *three in rows:
                is_inside = all(0 <= index < size for index, size in zip((first, second, before), TABLE_SHAPE, strict=False))
                if not is_inside or len(three) != 3 or not all(0 <= count < 1 << 48 for count in three):
                    raise ValueError
                counts[first, second, before] = three
        except ValueError:
            raise BadInput(f"{path} is not a usable tokenizer: its spacing table is damaged; train it again or restore the file") from None
        return cls(counts)


class SpellingTable:
    """What it takes to spell an unknown word: add-one frequencies of the characters, and of the end, in the words of a vocabulary."""

    def __init__(self, words: Sequence[str]) -> None:
        self.counts = Counter("".join(words))
        self.counts[""] = len(words)  # the end of a word
        self.total = self.counts.total() + len(self.counts) + 1  # one more for each, and for the unseen

    def bits(self, word: str) -> float:
        slot = math.log2(self.total)
        bits = slot - math.log2(self.counts[""] + 1)
        for character in word:
            bits += slot - math.log2(self.counts[character] + 1) if character in self.counts else slot + math.log2(CODE_POINTS)
        return bits


def interpolate(counts: np.ndarray, wider: np.ndarray) -> np.ndarray:
    """Relative frequencies, interpolated with those of a wider context."""
    return (counts + PRIOR_COUNT * wider) / (counts.sum(-1, keepdims=True) + PRIOR_COUNT)
