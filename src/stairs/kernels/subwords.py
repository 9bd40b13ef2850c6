"""The character n-grams of many words at once, as numbers of buckets."""

import numpy as np
from numba import njit

OFFSET, PRIME = np.uint32(2166136261), np.uint32(16777619)  # FNV-1a, 32 bits


@njit(nogil=True, cache=True)
def character_at(text, at):
    """The code point at a position of UTF-8, and its length in bytes."""
    byte = np.int64(text[at])
    if byte < 0x80:
        return byte, 1
    length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    code = byte & (0x7F >> length)
    for i in range(1, length):
        code = code << 6 | (np.int64(text[at + i]) & 0x3F)
    return code, length


@njit(nogil=True, cache=True)
def is_within(code, ranges):
    """Whether a code point is in one of the ranges, which are sorted."""
    is_inside = False
    if code >= ranges[0, 0]:
        for i in range(len(ranges)):
            is_inside |= ranges[i, 0] <= code <= ranges[i, 1]
    return is_inside


@njit(nogil=True, cache=True)
def bucket_ids(text, starts, shortest, longest, buckets, han_ranges):
    """Buckets of the n-grams of each word, word by word, and where those of each begin. `text` is UTF-8: all words, each as <word>.

    An n-gram has `shortest` to `longest` characters, but one of Han characters alone, those within `han_ranges` (R, 2), may be shorter. A mark by
    itself is none.
    """
    ngram_starts = np.zeros(len(starts), np.int64)
    ngrams = np.empty(max(len(text) * 4, 16), np.int32)
    filled = 0
    for word in range(len(starts) - 1):
        begin, stop = starts[word], starts[word + 1]
        at = begin
        while at < stop:
            hash_value, end, is_han = OFFSET, at, True
            for n in range(1, longest + 1):
                if end >= stop:
                    break
                code, length = character_at(text, end)
                is_han = is_han and is_within(code, han_ranges)
                for i in range(end, end + length):
                    hash_value = np.uint32((hash_value ^ np.uint32(np.int8(text[i]))) * PRIME)  # bytes have a sign, as fastText's do
                end += length
                if (n >= shortest or is_han) and not (n == 1 and (at == begin or end == stop)):
                    if filled == len(ngrams):
                        ngrams = np.concatenate((ngrams, np.empty(len(ngrams), np.int32)))
                    ngrams[filled] = hash_value % np.uint32(buckets)
                    filled += 1
            at += character_at(text, at)[1]
        ngram_starts[word + 1] = filled
    return ngram_starts, ngrams[:filled].copy()
