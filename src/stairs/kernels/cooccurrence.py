"""How often words stand near one another, counted exactly, in memory that does not grow with the text.

    X[i, j] = sum of 1 / distance over all occurrences of i and j at most `window` words apart in a sentence

X is symmetric, so a pair is stored once, as (i, j) with j <= i. The positions of a word are listed first, and then a row of X is one walk over
them that adds into an array of the words up to i: no hashing and no sorting, and frequent words, which have most of the positions, need the
shortest arrays. Rows are independent, so any number of threads gives the same bits.

Pairs are stored by cell. Words are dealt to `BLOCKS` blocks in turn, and cell (a, b) holds the pairs of a word of block a with one of
block b, each as one 64-bit number: index of i in its block, index of j in its block, ln X as a float32.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numba import njit, prange

from stairs.kernels.sampling import STEP, below, scramble, stream

BLOCKS = 64  # even; half of them are the threads that can learn at the same time
PLACE_BITS = 16
LARGEST_VOCABULARY = BLOCKS << PLACE_BITS
MAX_POSITIONS = 1 << 25  # of words, listed at a time
PARTS = 64  # of the rows, counted side by side
SPECIAL = 5  # the ids below are not words: [PAD] [UNK] [CLS] [SEP] [MASK]
BEGIN, END = 2, 3  # [CLS] ends a document and [SEP] a sentence, and no window reaches beyond
CELLS = BLOCKS * (BLOCKS + 1) // 2


@njit(nogil=True, cache=True)
def cell_of(a, b):
    """The number of the cell of two blocks, in either order."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


@njit(nogil=True, cache=True)
def positions_of(ids, low, high, starts):
    """Where the words `low` to `high` - 1 stand: word by word, those of a word from `starts[word - low]` on."""
    positions = np.empty(starts[-1], np.int64)
    free = starts[:-1].copy()
    for position in range(len(ids)):
        word = np.int64(ids[position])
        if low <= word < high:
            positions[free[word - low]] = position
            free[word - low] += 1
    return positions


@njit(nogil=True, cache=True)
def row_of(ids, positions, word, shares, row, neighbours):
    """Adds the neighbours of `word` that are no rarer into `row`, lists those met in `neighbours`, and returns how many there are."""
    size = 0
    for position in positions:
        for direction in (-1, 1):
            at = position
            for distance in range(1, len(shares)):
                at += direction
                if at < 0 or at >= len(ids):
                    break
                other = np.int64(ids[at])
                if other < SPECIAL:
                    if other in (BEGIN, END):
                        break
                elif other <= word:
                    if row[other] == 0.0:
                        neighbours[size] = other
                        size += 1
                    row[other] += shares[distance]
    return size


@njit(nogil=True, cache=True, parallel=True)
def count_part(ids, positions, starts, low, borders, shares, sizes, free, pairs):
    """Rows `low` + borders[part] to `low` + borders[part + 1] of every part: how many pairs each cell gets, or, with room in `pairs`, the pairs.

    `sizes` (parts, cells) are added to; `free` (parts, cells) is where the next pair of a part goes in each cell.
    """
    for part in prange(len(borders) - 1):
        stop = low + borders[part + 1]
        row = np.zeros(stop, np.float64)
        neighbours = np.empty(stop, np.int64)
        for word in range(low + borders[part], stop):
            size = row_of(ids, positions[starts[word - low] : starts[word - low + 1]], word, shares, row, neighbours)
            for k in range(size):
                other = neighbours[k]
                cell = cell_of(word % BLOCKS, other % BLOCKS)
                if len(pairs):
                    log_count = np.float32(np.log(row[other])).view(np.uint32)
                    first, second = np.uint64(word // BLOCKS), np.uint64(other // BLOCKS)
                    if word % BLOCKS < other % BLOCKS:
                        first, second = second, first
                    pairs[free[part, cell]] = (first << np.uint64(32 + PLACE_BITS)) | (second << np.uint64(32)) | np.uint64(log_count)
                    free[part, cell] += 1
                else:
                    sizes[part, cell] += 1
                row[other] = 0.0


@njit(nogil=True, cache=True, parallel=True)
def shuffle_cells(pairs, starts, seed):
    """Each cell in an order of its own that follows from the seed."""
    for cell in prange(len(starts) - 1):
        counter = stream(seed, cell)
        for left in range(starts[cell + 1] - starts[cell], 1, -1):
            other_pair = below(scramble(counter), left)
            counter += STEP
            here, there = starts[cell] + left - 1, starts[cell] + other_pair
            pairs[here], pairs[there] = pairs[there], pairs[here]


def portions(counts: np.ndarray, max_positions: int) -> Iterator[tuple[int, int]]:
    """Ranges of words that occur at no more than `max_positions` positions together, unless a single word does."""
    low = SPECIAL
    while low < len(counts):
        totals = np.cumsum(counts[low:])
        high = low + max(int(np.searchsorted(totals, max_positions, "right")), 1)
        yield low, high
        low = high


def cooccurrences(
    ids: np.ndarray,
    counts: np.ndarray,
    window: int,
    seed: int,
    allocate: Callable[[int], np.ndarray] = lambda size: np.empty(size, np.uint64),
    max_positions: int = MAX_POSITIONS,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a text, cell by cell, and where each cell begins. `counts` are those of the words in it.

    Counted twice: once to know how large each cell is, once to put every pair where it belongs, so nothing is held besides the pairs and
    the list of positions. `allocate(size)` gives the array they go into, in memory or on the disk.
    """
    shares = np.zeros(window + 1, np.float64)
    shares[1:] = 1.0 / np.arange(1, window + 1)
    ranges = list(portions(counts, max_positions))
    sizes = np.zeros((len(ranges), PARTS, CELLS), np.int64)
    free = np.zeros((PARTS, CELLS), np.int64)
    none = np.empty(0, np.uint64)

    def walk(number: int, sizes: np.ndarray, free: np.ndarray, pairs: np.ndarray) -> None:
        low, high = ranges[number]
        starts = np.concatenate([[0], np.cumsum(counts[low:high])])
        borders = np.searchsorted(starts, np.linspace(0, starts[-1], PARTS + 1)).astype(np.int64)
        borders[0], borders[-1] = 0, high - low
        count_part(ids, positions_of(ids, low, high, starts), starts, low, borders, shares, sizes, free, pairs)

    for number in range(len(ranges)):
        walk(number, sizes[number], free, none)
    flat = sizes.transpose(2, 0, 1).reshape(-1)  # within a cell, portion after portion and part after part
    positions = np.concatenate([[0], np.cumsum(flat)])
    starts = positions[:: len(ranges) * PARTS] if ranges else np.zeros(CELLS + 1, np.int64)
    begins = positions[:-1].reshape(CELLS, len(ranges), PARTS).transpose(1, 2, 0)
    pairs = allocate(int(positions[-1]))
    if len(pairs):
        for number in range(len(ranges)):
            walk(number, sizes[number], np.ascontiguousarray(begins[number]), pairs)
        shuffle_cells(pairs, starts, seed)
    return pairs, np.ascontiguousarray(starts)
