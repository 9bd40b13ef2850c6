"""Texts longer than a model can read: which part of them is read instead.

Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?": the head, the tail, or both; of 510 tokens the first 128 and the last 382.

    head        the beginning
    tail        the end
    head+tail   the beginning and the end: a quarter and the rest, for much longer texts half and half
    window      all of it, in windows that overlap by half

Departures: texts of more than 800 tokens keep 256 and 254; where fewer or more than 510 can be read, all of these numbers are scaled.
"""

from itertools import pairwise
from typing import Literal

LongTextRule = Literal["head", "tail", "head+tail", "window"]
PAPER_TOKENS, SHORT_HEAD, LONG_HEAD, MUCH_LONGER = 510, 128, 256, 800


def kept_positions(length: int, max_tokens: int, rule: LongTextRule) -> list[int]:
    """The positions, at most `max_tokens`, that a truncating rule keeps of a text of `length` tokens."""
    if length <= max_tokens:
        return list(range(length))
    head = {"head": max_tokens, "tail": 0, "head+tail": head_length(length, max_tokens)}[rule]
    return [*range(head), *range(length - (max_tokens - head), length)]


def head_length(length: int, max_tokens: int) -> int:
    """How many tokens of the beginning `head+tail` keeps."""
    return round(max_tokens * (SHORT_HEAD if length * PAPER_TOKENS <= MUCH_LONGER * max_tokens else LONG_HEAD) / PAPER_TOKENS)


def window_spans(length: int, max_tokens: int) -> list[tuple[int, int]]:
    """Where each window begins and ends: overlapping by half, the last one flush with the end."""
    if length <= max_tokens:
        return [(0, length)]
    starts = [*range(0, length - max_tokens, max(max_tokens // 2, 1)), length - max_tokens]
    return [(start, start + max_tokens) for start in starts]


def window_around(positions: list[int], length: int, max_tokens: int) -> tuple[int, int]:
    """The window with these positions as near to its middle as possible."""
    middle = (min(positions) + max(positions) + 1) // 2
    start = min(max(middle - max_tokens // 2, 0), max(length - max_tokens, 0))
    return start, min(start + max_tokens, length)


def owned_spans(length: int, max_tokens: int) -> list[tuple[int, int]]:
    """The part of the text that each window predicts: up to the middle of its overlaps, where both windows see equally far."""
    spans = window_spans(length, max_tokens)
    borders = [0, *((left[1] + right[0]) // 2 for left, right in pairwise(spans)), length]
    return list(pairwise(borders))
