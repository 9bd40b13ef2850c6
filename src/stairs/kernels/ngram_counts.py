"""Counting every n-gram of a stream of ids, one hash table per order, in memory that grows with distinct n-grams and not with text.

An n-gram is (its first n-1 words, its last word), and its first n-1 words are themselves a counted n-gram with a number, so a key is
always two integers whatever the order. A slot of a table is two int64: the key, and number << 32 | count.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit, prange

from stairs.machine import cores

EMPTY = -1
WORD_BITS = 31
NUMBER_BITS = 32
BATCH = 128  # probes whose memory is asked for before any is used, so that the cache misses overlap
FULLEST = 0.6
LARGE = 1 << 23  # slots from which on a table grows by twice, not four times
THREADS = 1 << (cores().bit_length() - 1)  # the largest power of two that does not exceed the cores


@njit(nogil=True, cache=True)
def sentences_of(ids, begin, end, at_start):
    """A `begin` ends the last sentence of a document, and counts as an `end`; empty sentences are dropped.

    Returns the words, whether each begins a sentence, and whether the next one will.
    """
    words = np.empty(len(ids), np.int32)
    begins = np.empty(len(ids), np.bool_)
    filled = 0
    for i in range(len(ids)):
        word = end if ids[i] == begin else ids[i]
        if word == end and at_start:
            continue
        words[filled] = word
        begins[filled] = at_start
        at_start = word == end
        filled += 1
    return words[:filled], begins[:filled], at_start


@njit(nogil=True, cache=True)
def slot_of(key, slots):
    hash_value = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    hash_value ^= hash_value >> np.uint64(29)
    hash_value *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(hash_value >> np.uint64(11)) & (slots - 1)


@njit(nogil=True, cache=True)
def count_block(table, suffixes, size, words, begins, shorter, previous_number, before_sentence, numbers):
    """Count the n-grams that end in this block; `shorter[i]` is the number of the (n-1)-gram ending at i, or -1.

    `previous_number` is that of the position before the block, `before_sentence` takes its place at a sentence start. Writes the number of
    each n-gram into `numbers` and of a new one's last n-1 words into `suffixes`; returns how many n-grams the table now holds.
    """
    slots = len(table) // 2
    keys = np.empty(BATCH, np.int64)
    indices = np.empty(BATCH, np.int64)
    previous = previous_number
    prefetch_sum = np.int64(0)
    for start in range(0, len(words), BATCH):
        length = min(BATCH, len(words) - start)
        for j in range(length):
            i = start + j
            context = before_sentence if begins[i] else previous
            previous = shorter[i]
            key = (np.int64(context) << WORD_BITS) | np.int64(words[i])
            keys[j] = key if context >= 0 else EMPTY
            indices[j] = slot_of(key, slots)
            prefetch_sum ^= table[2 * indices[j]]
        for j in range(length):
            key = keys[j]
            if key == EMPTY:
                numbers[start + j] = -1
                continue
            index = indices[j]
            while table[2 * index] != key and table[2 * index] != EMPTY:
                index = (index + 1) & (slots - 1)
            if table[2 * index] == EMPTY:
                table[2 * index] = key
                table[2 * index + 1] = np.int64(size) << NUMBER_BITS
                suffixes[size] = shorter[start + j]
                size += 1
            table[2 * index + 1] += 1
            numbers[start + j] = table[2 * index + 1] >> NUMBER_BITS
    if prefetch_sum == 1:  # never true in effect; it keeps the early reads from being optimised away
        size += 0
    return size, previous


@njit(nogil=True, cache=True)
def grow(table, slots):
    """The same entries in a table of more slots."""
    larger = np.full(2 * slots, EMPTY, np.int64)
    for old in range(0, len(table), 2):
        key = table[old]
        if key != EMPTY:
            index = slot_of(key, slots)
            while larger[2 * index] != EMPTY:
                index = (index + 1) & (slots - 1)
            larger[2 * index] = key
            larger[2 * index + 1] = table[old + 1]
    return larger


@njit(nogil=True, cache=True, parallel=True)
def group_by_context(table, size, indices, contexts, parts):
    """The n-grams by context: where those of each of the `contexts` contexts begin, and word << 32 | number of each, not yet sorted.

    `indices` gives the index in the sorted level below for the number of a context. Each of `parts` threads, a power of two, passes
    over the whole table and takes its own share of the contexts, so that no two write to the same memory.
    """
    first = np.zeros(contexts + 1, np.int32)
    for part in prange(parts):
        for slot in range(0, len(table), 2):
            if table[slot] != EMPTY and (table[slot] >> WORD_BITS) & (parts - 1) == part:
                first[indices[table[slot] >> WORD_BITS] + 1] += 1
    for context in range(contexts):
        first[context + 1] += first[context]
    free = first[:-1].copy()
    grams = np.empty(size, np.int64)
    for part in prange(parts):
        for slot in range(0, len(table), 2):
            key = table[slot]
            if key != EMPTY and (key >> WORD_BITS) & (parts - 1) == part:
                context = indices[key >> WORD_BITS]
                number = table[slot + 1] >> NUMBER_BITS
                grams[free[context]] = ((key & ((np.int64(1) << WORD_BITS) - 1)) << NUMBER_BITS) | number
                free[context] += 1
    return first, grams


@njit(nogil=True, cache=True, parallel=True)
def sort_within(first, grams):
    """Sort the n-grams of each context, where they stand."""
    for context in prange(len(first) - 1):
        low, high = first[context], first[context + 1]
        if high - low > 16:
            grams[low:high].sort()
        else:
            for i in range(low + 1, high):
                gram = grams[i]
                j = i - 1
                while j >= low and grams[j] > gram:
                    grams[j + 1] = grams[j]
                    j -= 1
                grams[j + 1] = gram
    return grams


@njit(nogil=True, cache=True, parallel=True)
def counts_of(table, size):
    """The count of each n-gram, by its number."""
    counts = np.empty(size, np.int32)
    for slot in prange(len(table) // 2):
        if table[2 * slot] != EMPTY:
            value = table[2 * slot + 1]
            counts[value >> NUMBER_BITS] = min(value & ((np.int64(1) << NUMBER_BITS) - 1), np.int64(0x7FFFFFFF))
    return counts


@njit(nogil=True, cache=True, parallel=True)
def columns(grams, counts_by_number, suffixes_by_number, indices_below):
    """Word, count and suffix of the sorted n-grams, and the index of each by its number."""
    size = len(grams)
    words = np.empty(size, np.int32)
    counts = np.empty(size, np.int32)
    suffixes = np.empty(size, np.int32)
    indices = np.empty(size, np.int32)
    for index in prange(size):
        number = grams[index] & ((np.int64(1) << NUMBER_BITS) - 1)
        words[index] = grams[index] >> NUMBER_BITS
        counts[index] = counts_by_number[number]
        suffixes[index] = indices_below[suffixes_by_number[number]]
        indices[number] = index
    return words, counts, suffixes, indices


class Counter:
    """The table of one order."""

    def __init__(self) -> None:
        self.table = np.full(2 << 16, EMPTY, np.int64)
        self.suffixes = np.empty(1 << 16, np.int32)
        self.size = 0
        self.carried = -1

    def count(self, words: np.ndarray, begins: np.ndarray, shorter: np.ndarray, before_sentence: int) -> np.ndarray:
        capacity = self.size + len(words)
        slots = len(self.table) // 2
        if capacity > FULLEST * slots:
            while capacity > FULLEST * slots:
                slots *= 4 if slots < LARGE else 2
            self.table = grow(self.table, slots)
        if capacity > len(self.suffixes):
            self.suffixes = np.concatenate([self.suffixes[: self.size], np.empty(max(capacity, self.size) + len(words), np.int32)])
        numbers = np.empty(len(words), np.int32)
        self.size, self.carried = count_block(
            self.table, self.suffixes, self.size, words, begins, shorter, self.carried, before_sentence, numbers
        )
        return numbers


def count(
    ids: np.ndarray,
    order: int,
    begin: int,
    end: int,
    vocab_size: int,
    *,
    advance: Callable[[float], None] = lambda amount: None,
    block: int = 1 << 19,
) -> tuple[np.ndarray, list[Counter]]:
    """Counts of the words, and the counters of orders 2 to `order`, of a stream in which `end` closes each sentence, or `begin` a document's
    last.

    Order n of a block needs order n-1 of that block and order n of the block before, so the blocks move through the orders as along an
    assembly line, and the orders work at the same time.
    """
    single = np.zeros(vocab_size, np.int64)
    counters = [Counter() for _ in range(order - 1)]
    line: deque[list[np.ndarray] | None] = deque(maxlen=order - 1)  # block p is due at counters[p]
    at_start = True

    def work(index: int) -> None:
        item = line[index]
        if item is not None:
            words, begins, shorter = item
            item[2] = counters[index].count(words, begins, shorter, begin if index == 0 else -1)

    with ThreadPoolExecutor(THREADS) as pool:
        for position in range(0, len(ids) + block * max(order - 2, 0), block):
            words, begins, at_start = sentences_of(ids[position : position + block].astype(np.int32), begin, end, at_start)
            single += np.bincount(words, minlength=vocab_size)
            line.appendleft([words, begins, words] if len(words) else None)
            list(pool.map(work, range(len(line))))
            advance(min(block, max(len(ids) - position, 0)))
    return single, counters
