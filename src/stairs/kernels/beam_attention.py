"""Attention of beam search: each hypothesis over its own past, and over the real part of its source. Nothing is computed for masked positions.
`fast/decode_state.py` shows the same by PyTorch's kernel, and tests/fast/test_fast_attention.py that both are equal."""

import math

import numpy as np
from numba import njit


# Inlined by force: of a function that two kernels call there are several compiled copies, vectorized differently, and which of them runs would depend
# on whether this process compiled it or found it compiled.
@njit(nogil=True, cache=True, fastmath=True, forceinline=True)
def attend_row(query, keys, values, rows, heads, weights, out):
    """softmax(query keys / sqrt(D)) values for the keys and values of some rows, for each head: (D,), (S, D), (S, D), (T,) to (D,)."""
    size = len(query) // heads
    scale = np.float32(1 / math.sqrt(size))
    for head in range(heads):
        begin, end = head * size, (head + 1) * size
        head_query, mixed = query[begin:end], out[begin:end]  # slices of one row, which the compiler can vectorize
        top = np.float32(-np.inf)
        for index in range(len(rows)):
            key = keys[rows[index], begin:end]
            total = np.float32(0)
            for i in range(size):
                total += head_query[i] * key[i]
            weights[index] = total * scale
            top = max(top, weights[index])
        total = np.float32(0)
        for index in range(len(rows)):
            weights[index] = np.exp(weights[index] - top)
            total += weights[index]
        mixed[:] = 0
        for index in range(len(rows)):
            value = values[rows[index], begin:end]
            share = weights[index] / total
            for i in range(size):
                mixed[i] += share * value[i]


@njit(nogil=True, cache=True, fastmath=True)
def attend_ancestry(query, keys, values, ancestry, heads, out):
    """Queries of the hypotheses (B, K, D) over the keys and values (B, T K, D) of all steps; at step t hypothesis k was ancestry[b, k, t]."""
    sources, beam_size, steps = ancestry.shape
    weights, rows = np.empty(steps, np.float32), np.empty(steps, np.int64)
    for source in range(sources):
        for hypothesis in range(beam_size):
            for step in range(steps):
                rows[step] = step * beam_size + ancestry[source, hypothesis, step]
            attend_row(query[source, hypothesis], keys[source], values[source], rows, heads, weights, out[source, hypothesis])


@njit(nogil=True, cache=True, fastmath=True)
def attend_source(query, keys, values, lengths, heads, out):
    """Queries of the hypotheses (B, K, D) over the first `lengths` (B,) keys and values (B, S, D) of their source."""
    weights, rows = np.empty(keys.shape[1], np.float32), np.arange(keys.shape[1])
    for source in range(query.shape[0]):
        for hypothesis in range(query.shape[1]):
            attend_row(query[source, hypothesis], keys[source], values[source], rows[: lengths[source]], heads, weights, out[source, hypothesis])
