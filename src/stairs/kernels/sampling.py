"""Random numbers that are a function of a seed and a place in the text, and drawing words by their frequency in constant time.

Splitmix64 (Steele, Lea & Flood 2014) scrambles a counter, so there is no state to lose: whoever works on a place draws the same numbers.
The alias table (Walker 1977, Vose 1991) turns drawing from any distribution over n words into one even choice among n and one comparison.
"""

import numpy as np
from numba import njit

STEP = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
LOWER = np.uint64(0xFFFFFFFF)
WHOLE = float(1 << 32)


@njit(nogil=True, cache=True, forceinline=True)
def scramble(counter):
    """64 random bits; the next ones are those of counter + STEP."""
    bits = np.uint64(counter)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@njit(nogil=True, cache=True, forceinline=True)
def stream(seed, place):
    """The counter from which the random numbers of a place in the text begin."""
    return scramble(np.uint64(seed) + np.uint64(place) * STEP)


@njit(nogil=True, cache=True, forceinline=True)
def below(bits, limit):
    """A whole number from 0 up to but not including `isa_limit`, from the upper half of 64 random bits."""
    return np.int64(((bits >> HALF) * np.uint64(limit)) >> HALF)


@njit(nogil=True, cache=True, forceinline=True)
def draw(table, bits):
    """A word, by 64 random bits; by arithmetic, since a processor can not guess which of the two it will be."""
    place = below(bits, len(table))
    other = np.int64(table[place, 1])
    return other + (place - other) * np.int64((bits & LOWER) < np.uint64(table[place, 0]))


@njit(nogil=True, cache=True)
def uniform_rows(matrix, width, bound, seed):
    """Fill the first `width` columns with numbers between -bound and bound, each a function of the seed and of its place."""
    for row in range(len(matrix)):
        for column in range(width):
            bits = stream(seed, row * width + column) >> np.uint64(40)
            matrix[row, column] = bound * (np.float32(np.int64(bits)) * np.float32(2.0**-23) - np.float32(1))


@njit(nogil=True, cache=True)
def alias_table(weights):
    """(n, 2) uint32: below which of 2^32 a place stands for itself, and for which word it stands otherwise. A weight of 0 is never drawn."""
    size = len(weights)
    share = weights * (size / weights.sum())  # 1 on average
    table = np.empty((size, 2), np.uint32)
    small = np.empty(size, np.int64)
    large = np.empty(size, np.int64)
    smalls = larges = 0
    for word in range(size):
        table[word, 0] = np.uint32(0xFFFFFFFF)
        table[word, 1] = word
        if share[word] < 1:
            small[smalls] = word
            smalls += 1
        else:
            large[larges] = word
            larges += 1
    while smalls and larges:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        table[poor, 0] = np.uint32(min(share[poor] * WHOLE, WHOLE - 1))
        table[poor, 1] = rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    heaviest = np.argmax(weights)
    for i in range(smalls):  # left over by rounding: their share is 1, or the weight was 0 and no rich one was left
        if weights[small[i]] == 0:
            table[small[i], 0] = 0
            table[small[i], 1] = heaviest
    return table


def keep_limits(counts: np.ndarray, subsample: float) -> np.ndarray:
    """Below which of 2^32 an occurrence of each word is kept: frequent words are thinned out (Mikolov et al. 2013b), as word2vec.c does it.

    keep(w) = sqrt(t / f(w)) + t / f(w), where f(w) is the share of w in the text and t is `subsample`; 0 keeps all.
    """
    share = counts / max(counts.sum(), 1)
    with np.errstate(divide="ignore"):
        keep = np.sqrt(subsample / share) + subsample / share if subsample > 0 else np.ones(len(counts))
    return np.where(counts > 0, np.minimum(keep * WHOLE, WHOLE - 1), 0).astype(np.uint32)
