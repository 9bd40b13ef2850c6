"""Random numbers as a function of a seed and a position in the text, and words drawn by their frequency in constant time.

Splitmix64 (Steele, Lea & Flood 2014) hashes a counter, so there is no state: any thread that works on a position draws the same numbers.
The alias table (Walker 1977, Vose 1991) turns a draw from any distribution over n words into one uniform choice among n and one comparison.
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
def stream(seed, position):
    """The counter that the random numbers of a position in the text start from."""
    return scramble(np.uint64(seed) + np.uint64(position) * STEP)


@njit(nogil=True, cache=True, forceinline=True)
def below(bits, limit):
    """A whole number from 0 up to but not including `limit`, from the upper half of 64 random bits."""
    return np.int64(((bits >> HALF) * np.uint64(limit)) >> HALF)


@njit(nogil=True, cache=True, forceinline=True)
def draw(table, bits):
    """A word, by 64 random bits; by arithmetic, since the branch would be unpredictable."""
    position = below(bits, len(table))
    other = np.int64(table[position, 1])
    return other + (position - other) * np.int64((bits & LOWER) < np.uint64(table[position, 0]))


@njit(nogil=True, cache=True)
def uniform_rows(matrix, width, bound, seed):
    """Fill the first `width` columns with numbers between -bound and bound, each a function of the seed and of its position."""
    for row in range(len(matrix)):
        for column in range(width):
            bits = stream(seed, row * width + column) >> np.uint64(40)
            matrix[row, column] = bound * (np.float32(np.int64(bits)) * np.float32(2.0**-23) - np.float32(1))


@njit(nogil=True, cache=True)
def alias_table(weights):
    """(n, 2) uint32: below which of 2^32 an entry stands for its own word, and the word it stands for otherwise. A weight of 0 is never drawn."""
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
        below_mean, above_mean = small[smalls], large[larges - 1]
        table[below_mean, 0] = np.uint32(min(share[below_mean] * WHOLE, WHOLE - 1))
        table[below_mean, 1] = above_mean
        share[above_mean] -= 1 - share[below_mean]
        if share[above_mean] < 1:
            larges -= 1
            small[smalls] = above_mean
            smalls += 1
    heaviest = np.argmax(weights)
    for i in range(smalls):  # left over by rounding: their share is 1, or the weight was 0 and no larger one was left
        if weights[small[i]] == 0:
            table[small[i], 0] = 0
            table[small[i], 1] = heaviest
    return table


def keep_limits(counts: np.ndarray, subsample: float) -> np.ndarray:
    """Below which of 2^32 an occurrence of each word is kept: frequent words are subsampled (Mikolov et al. 2013b), as in word2vec.c.

    keep(w) = sqrt(t / f(w)) + t / f(w), where f(w) is the share of w in the text and t is `subsample`; 0 keeps all.
    """
    share = counts / max(counts.sum(), 1)
    with np.errstate(divide="ignore"):
        keep = np.sqrt(subsample / share) + subsample / share if subsample > 0 else np.ones(len(counts))
    return np.where(counts > 0, np.minimum(keep * WHOLE, WHOLE - 1), 0).astype(np.uint32)
