"""Counting the whitespace between words: the inner loop of what spaces cost (text/tokenizers/pretoken_index.py)."""

import numpy as np
from numba import njit

from stairs.kernels.pretokens import DOCUMENT_END, code_point

NOTHING, ONE_SPACE, OTHER = 0, 1, 2  # between two words
START = 2  # in place of that for the first word of a sentence
ISOLATED, WHITESPACE = 128, 255  # a kind is below 128; with ISOLATED added to it, a character is a word by itself


@njit(cache=True, nogil=True)
def spelling_bits(characters, plain):
    """Bits of whitespace that is not one space: one says whether it is spaces only, then follow their number (Elias's gamma code), or the characters
    and an end, five bits each, since there are fewer than 32 sorts."""
    if not plain:
        return 1 + 5 * (characters + 1)
    bits, rest = 2, characters - 1
    while rest > 1:
        bits += 2
        rest >>= 1
    return bits


@njit(cache=True, nogil=True)
def count_gaps(text, kinds, joint, counts):
    """Add the gaps of a block as kernels/pretokens.py reads it, cut by its rule ISOLATE, to counts[kind of the last character of the word on the
    left, kind of the first one on the right, gap before the left word, gap]. `joint` is whitespace that was put in by the one who cuts words, and
    does not count. Returns the bits that spell all gaps of the sort OTHER."""
    at, size, bits = 0, text.shape[0], 0
    left, before, spaces, plain = np.int64(-1), START, 0, True
    while at < size:
        if text[at] >= DOCUMENT_END:
            left, before, spaces, plain = np.int64(-1), START, 0, True
            at += 1
            continue
        point, width = code_point(text, at)
        at += width
        kind = np.int64(kinds[point])
        if kind == WHITESPACE:
            if point != joint:
                spaces += 1
                plain = plain and point == 32
            continue
        if left >= 0:
            gap = NOTHING
            if spaces > 0:
                gap = ONE_SPACE if spaces == 1 and plain else OTHER
            counts[left, kind % ISOLATED, before, gap] += 1
            if gap == OTHER:
                bits += spelling_bits(spaces, plain)
            before = min(gap, ONE_SPACE)
        left, spaces, plain = kind % ISOLATED, 0, True
        while kind < ISOLATED and at < size and text[at] < DOCUMENT_END:  # the rest of the word
            if text[at] < 0x80:
                point, width = np.int64(text[at]), 1
            else:
                point, width = code_point(text, at)
            kind = np.int64(kinds[point])
            if kind < ISOLATED:
                left = kind
                at += width
    return bits
