"""What spaces cost: the tokenizers that drop them pay as much as it takes to put them back, so that bits per character can be compared.

Between two words of a sentence stands nothing, one space, or something else. With the words known, a decoder needs only that:

    bits = sum over gaps of -log2 P(gap | kind of the character on the left, kind of the one on the right, gap before the word on the left)
         + bits that spell something else: a number of spaces, or one character after the other (kernels/gaps.py: spelled)

P is counted on the training text; a context that was seen seldom leans on the pair of kinds, and that on all gaps. Kinds are each ASCII punctuation
mark by itself, lower and upper case, digits, Han, and a few more. The gap before is what tells an opening quotation mark from a closing one.

Departures from a full account: the case that a tokenizer with `lowercase` drops is not paid for.
"""

import unicodedata
from typing import Any

import numpy as np

from stairs.kernels.gaps import OTHER, START, count_gaps
from stairs.text.chinese import HAN_RUN

GAPS = OTHER + 1
PRIOR_COUNT = 1.0  # counts that the wider context is worth
WORD_JOINT = "\x0b"  # put between Chinese words: whitespace that no text is written with
PUNCTUATION = [chr(code) for code in range(33, 127) if not chr(code).isalnum()]
LOWER, UPPER, DIGIT, HAN, LETTER, WIDE, OPENING, CLOSING, OTHER_KIND = range(len(PUNCTUATION), len(PUNCTUATION) + 9)
KINDS = OTHER_KIND + 1
TABLE_SHAPE = (KINDS, KINDS, START + 1, GAPS)


def character_kind(character: str) -> int:
    """What a character is, as far as spaces beside it depend on that."""
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
    """The gaps of a text, counted."""

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
        """As it stands in tokenizer_config.json: a context and its three counts in a line."""
        contexts = np.argwhere(self.counts.sum(-1))
        return [" ".join(map(str, (*context, *self.counts[tuple(context)]))) for context in contexts.tolist()]

    @classmethod
    def read(cls, lines: Any) -> "SpacingTable":
        """What `to_lines` gave; a ValueError if it is something else."""
        counts = np.zeros(TABLE_SHAPE, np.int64)
        if not isinstance(lines, list):
            raise ValueError("the spacing is not a list")
        for line in lines:
            *context, nothing, one, other = (int(number) for number in str(line).split(" "))
            fits = len(context) == 3 and all(0 <= place < size for place, size in zip(context, TABLE_SHAPE[:3], strict=True))
            if not fits or not all(0 <= count < 1 << 48 for count in (nothing, one, other)):
                raise ValueError(f"{str(line)[:40]!r} is no line of a spacing table")
            counts[tuple(context)] = nothing, one, other
        return cls(counts)


def interpolate(counts: np.ndarray, wider: np.ndarray) -> np.ndarray:
    """Shares of the counts, which lean on those of a wider context."""
    return (counts + PRIOR_COUNT * wider) / (counts.sum(-1, keepdims=True) + PRIOR_COUNT)
