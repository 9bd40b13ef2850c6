"""The compiled part of saying a sentence in several ways at once: each way looks back at its own past and across at what is real of the source, and
nothing is computed for what it may not see."""

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True)
def attend_row(query, keys, values, places, heads, weights, out):
    """softmax(query keys / sqrt(D)) values for the keys and values at some places, for each head: (D,), (S, D), (S, D), (T,) to (D,)."""
    size = len(query) // heads
    scale = np.float32(1 / math.sqrt(size))
    for head in range(heads):
        begin, end = head * size, (head + 1) * size
        own, mixed = query[begin:end], out[begin:end]  # slices of one row, which the compiler can take sixteen numbers at a time
        top = np.float32(-np.inf)
        for number in range(len(places)):
            key = keys[places[number], begin:end]
            total = np.float32(0)
            for i in range(size):
                total += own[i] * key[i]
            weights[number] = total * scale
            top = max(top, weights[number])
        total = np.float32(0)
        for number in range(len(places)):
            weights[number] = np.exp(weights[number] - top)
            total += weights[number]
        mixed[:] = 0
        for number in range(len(places)):
            value = values[places[number], begin:end]
            share = weights[number] / total
            for i in range(size):
                mixed[i] += share * value[i]


@njit(nogil=True, cache=True, fastmath=True)
def attend_ancestry(query, keys, values, ancestry, heads, out):
    """Of the ways (B, K, D) over the keys and values (B, T K, D) of their steps; at step t way k had taken way past[b, k, t]."""
    sources, ways, steps = ancestry.shape
    weights, places = np.empty(steps, np.float32), np.empty(steps, np.int64)
    for source in range(sources):
        for way in range(ways):
            for step in range(steps):
                places[step] = step * ways + ancestry[source, way, step]
            attend_row(query[source, way], keys[source], values[source], places, heads, weights, out[source, way])


@njit(nogil=True, cache=True, fastmath=True)
def attend_source(query, keys, values, lengths, heads, out):
    """Of the ways (B, K, D) over the first `lengths` (B,) of the keys and values (B, S, D) of their source."""
    weights, places = np.empty(keys.shape[1], np.float32), np.arange(keys.shape[1])
    for source in range(query.shape[0]):
        for way in range(query.shape[1]):
            attend_row(query[source, way], keys[source], values[source], places[: lengths[source]], heads, weights, out[source, way])
