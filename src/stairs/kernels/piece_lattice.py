"""The most probable cut of a text into pieces (Kudo 2018), with SentencePiece's arithmetic, so that ties are broken as there.

    best(t) = max over pieces that end at t of best(start of the piece) + score(piece)

Sums are float32, from left to right; of equals the one that starts first wins. A character that is no
piece may be unknown, for ten less than the lowest score. Positions count bytes of UTF-8.
"""

import numpy as np
from numba import njit

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def slot_of(keys, key):
    """Where a key is in the open hash table, or the empty slot where it belongs."""
    mask = np.uint64(len(keys) - 1)
    slot = ((key * SPREAD) >> np.uint64(24)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def build_trie(utf8, starts):
    """A trie of texts over bytes, as a hash table from (node, byte) to node, and the text that ends at each node, or -1."""
    size = 16
    while size < 2 * len(utf8):
        size *= 2
    keys, values = np.full(size, EMPTY, np.uint64), np.zeros(size, np.int32)
    ends = np.full(len(utf8) + 1, -1, np.int32)
    count = 1
    for i in range(len(starts) - 1):
        node = 0
        for at in range(starts[i], starts[i + 1]):
            key = np.uint64(node) << np.uint64(8) | np.uint64(utf8[at])
            slot = slot_of(keys, key)
            if keys[slot] == EMPTY:
                keys[slot], values[slot] = key, count
                count += 1
            node = values[slot]
        ends[node] = i
    return keys, values, ends[:count]


@njit(nogil=True, cache=True)
def best_cut(text, keys, values, ends, scores, fixed, unknown_score):
    """The pieces of a text (-1: an unknown character) and where each ends. `fixed` is where a user-defined piece that starts at a byte ends, or 0."""
    size = len(text)
    best, begins, piece = np.zeros(size + 1, np.float32), np.full(size + 1, -1, np.int32), np.full(size + 1, -1, np.int32)
    start = 0
    while start < size:
        lead = text[start]
        character = start + (1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)
        node, at, has_single = np.int32(0), start, False
        while at < size and (at == start or not fixed[at] or fixed[start]):
            slot = slot_of(keys, np.uint64(node) << np.uint64(8) | np.uint64(text[at]))
            if keys[slot] == EMPTY:
                break
            node = values[slot]
            at += 1
            found = ends[node]
            if found >= 0 and (not fixed[start] or at == fixed[start]):
                total = np.float32(scores[found] + best[start])
                if begins[at] < 0 or total > best[at]:
                    best[at], begins[at], piece[at] = total, start, found
                has_single = has_single or at == character
        if fixed[start]:
            character = fixed[start]
        elif not has_single:
            total = np.float32(unknown_score + best[start])
            if begins[character] < 0 or total > best[character]:
                best[character], begins[character], piece[character] = total, start, -1
        start = character
    count, at = 0, size
    while at > 0:
        count, at = count + 1, begins[at]
    pieces, stops = np.empty(count, np.int32), np.empty(count, np.int64)
    at = size
    while at > 0:
        count -= 1
        pieces[count], stops[count] = piece[at], at
        at = begins[at]
    return pieces, stops
