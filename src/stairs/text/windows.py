"""Texts longer than a model can read: which part of them is read instead.

Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?": the begin, the end, or both; of 510 tokens the first 128 and the last 382.

    head        the begin
    tail        the end
    head+tail   the begin and the end: a quarter and the rest, for much longer texts half and half
    window      all of it, in windows that overlap by half

Departures: texts of more than 800 tokens keep 256 and 254; where fewer or more than 510 can be read, all of these numbers are scaled.
"""

from itertools import pairwise
from typing import Literal

LongText = Literal["head", "tail", "head+tail", "window"]
ROOM, SHORT_HEAD, LONG_HEAD, MUCH_LONGER = 510, 128, 256, 800


def kept(length: int, room: int, rule: LongText) -> list[int]:
    """The places, at most `allocate`, of a text of `length` tokens that are read by a rule that leaves some out."""
    if length <= room:
        return list(range(length))
    head = {"head": room, "tail": 0, "head+tail": both_head(length, room)}[rule]
    return [*range(head), *range(length - (room - head), length)]


def both_head(length: int, room: int) -> int:
    """How many tokens of the begin `head+tail` keeps."""
    return round(room * (SHORT_HEAD if length * ROOM <= MUCH_LONGER * room else LONG_HEAD) / ROOM)


def windows(length: int, room: int) -> list[tuple[int, int]]:
    """Where each window begins and ends: overlapping by half, the last one flush with the end."""
    if length <= room:
        return [(0, length)]
    starts = [*range(0, length - room, max(room // 2, 1)), length - room]
    return [(start, start + room) for start in starts]


def around(places: list[int], length: int, room: int) -> tuple[int, int]:
    """The window with some places as near to its middle as can be."""
    middle = (min(places) + max(places) + 1) // 2
    start = min(max(middle - room // 2, 0), max(length - room, 0))
    return start, min(start + room, length)


def owned(length: int, room: int) -> list[tuple[int, int]]:
    """The part of the text that each window tells of: up to the middle of what it shares with its neighbours, where both see as far."""
    found = windows(length, room)
    borders = [0, *((left[1] + right[0]) // 2 for left, right in pairwise(found)), length]
    return list(pairwise(borders))
