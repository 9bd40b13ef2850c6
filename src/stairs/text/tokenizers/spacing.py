"""The spaces between words: what they cost where a tokenizer drops them, and how they are restored; and what unknown words cost.

The tokenizers that drop spaces pay what it takes to restore them, so that bits per character can be compared. Between two words of a sentence stands
nothing, one space, or something else. With the words known, a decoder needs only that:

    bits = sum over gaps of -log2 P(gap | kind of the character on the left, kind of the one on the right, gap before the word on the left)
         + the bits that spell anything else: a number of spaces, or one character after another (kernels/gaps.py: spelled)

P is counted on the training text. A rare context is interpolated with the pair of kinds alone, and that with all gaps. Each ASCII punctuation mark
is a kind of its own; the others are lower and upper case, digits, Han, and a few more. The gap before tells an opening quotation mark from a closing
one.

Decoding does not use the table: `join_words` restores English spacing by rule and puts none around Chinese.

Departures from a full account: the case that a tokenizer with `lowercase` drops is not paid for.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from stairs.kernels.gaps import OTHER, START, count_gaps
from stairs.text.chinese import CJK, CJK_CHARACTER, HAN_RUN

CODE_POINTS = 0x110000
GAPS = OTHER + 1
PRIOR_COUNT = 1.0  # counts that the wider context is worth
WORD_JOINT = "\x0b"  # put between Chinese words: whitespace that no text is written with
PUNCTUATION = [chr(code) for code in range(33, 127) if not chr(code).isalnum()]
LOWER, UPPER, DIGIT, HAN, LETTER, WIDE, OPENING, CLOSING, OTHER_KIND = range(len(PUNCTUATION), len(PUNCTUATION) + 9)
KINDS = OTHER_KIND + 1
TABLE_SHAPE = (KINDS, KINDS, START + 1, GAPS)

NO_SPACE_BEFORE = set(".,;:!?)]}%…’”»°") | {"n't"}
NO_SPACE_AFTER = set("([{$#“‘«£€@")
NO_SPACE_AROUND = set("-/_–=*+\\~^|<>&")  # written without spaces more often than with them
AFTER_APOSTROPHE = {"s", "t", "re", "ve", "m", "ll", "d", "S", "T"}  # endings inside a word: it's, don't
CJK_OR_QUOTE = re.compile(f"[{CJK}—…“”‘’·]")


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
    def from_lines(cls, lines: object) -> "SpacingTable":
        """The table that `to_lines` wrote; ValueError for anything else."""
        counts = np.zeros(TABLE_SHAPE, np.int64)
        if not isinstance(lines, list):
            raise ValueError("the spacing table is not a list")
        for line in lines:
            *context, nothing, one, other = (int(number) for number in str(line).split(" "))
            fits = len(context) == 3 and all(0 <= index < size for index, size in zip(context, TABLE_SHAPE[:3], strict=True))
            if not fits or not all(0 <= count < 1 << 48 for count in (nothing, one, other)):
                raise ValueError(f"{str(line)[:40]!r} is not a line of a spacing table")
            counts[tuple(context)] = nothing, one, other
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


def join_words(words: Sequence[str]) -> str:
    """`["He", "said", ":", "it", "'", "s", "3", ".", "5", "!"]` -> `He said: it's 3.5!`"""
    text: list[str] = []
    in_quotes = {'"': False, "'": False}
    no_space = True  # whether the next word follows without a space
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == "'" and before[-1:].isalnum() and after in AFTER_APOSTROPHE:
            tight, no_space_next = True, True
        elif word in in_quotes:
            tight, no_space_next = no_space or in_quotes[word], not in_quotes[word]
            in_quotes[word] = not in_quotes[word]
        elif word in NO_SPACE_AROUND:
            tight, no_space_next = True, True
        else:
            number = before in (".", ",", ":") and at > 1 and words[at - 2][-1:].isdigit() and word[:1].isdigit()
            tight = no_space or word in NO_SPACE_BEFORE or touches_cjk(before, word) or (number and (before != "," or len(word) == 3))
            no_space_next = word in NO_SPACE_AFTER
        if text and not tight:
            text.append(" ")
        text.append(word)
        no_space = no_space_next
    return "".join(text)


def touches_cjk(before: str, word: str) -> bool:
    """Whether either of the two sides is Chinese: `2003` `年`, `。` `他`."""
    if before.isascii() and word.isascii():
        return False
    return bool(CJK_CHARACTER.match(before[-1:]) or CJK_CHARACTER.match(word) or (CJK_OR_QUOTE.match(before[-1:]) and CJK_OR_QUOTE.match(word)))
