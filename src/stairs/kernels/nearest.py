"""The compiled part of nearest-neighbour search: lengths, scans by cosine, the best of many scores, and their exact order.

A scan may be rounded by a known error at most. If a_k is the k-th best rounded score, a row among the true best k has a rounded score of at least
a_k - 2 error: every such row is kept, and `rank` orders them with exact numbers. Nothing is missed.
"""

import numpy as np
from numba import njit

GROUP = 64  # scores compared together: most groups hold none that is good enough


@njit(nogil=True, cache=True, fastmath=True)
def lengths_of(vectors, out):
    for row in range(vectors.shape[0]):
        total = 0.0
        for column in range(vectors.shape[1]):
            total += np.float64(vectors[row, column]) * np.float64(vectors[row, column])
        out[row] = np.sqrt(total)


@njit(nogil=True, cache=True, fastmath=True)
def cosines(vectors, lengths, unit, out):
    """Of every row with a vector of length 1, in float32; 0 for a row of zeros."""
    for row in range(vectors.shape[0]):
        total = np.float32(0)
        for column in range(vectors.shape[1]):
            total += vectors[row, column] * unit[column]
        out[row] = total / lengths[row] if lengths[row] > 0 else np.float32(0)


@njit(nogil=True, cache=True)
def sift_down(scores, rows, count):
    """Repair a heap whose least element, at the top, was replaced."""
    at, score, row = 0, scores[0], rows[0]
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[at], rows[at] = scores[child], rows[child]
        at = child
    scores[at], rows[at] = score, row


@njit(nogil=True, cache=True)
def keep_best(block, first, scores, rows):
    """Let the scores of rows `first`, `first` + 1, ... (Q, R) into the heaps of the best so far, (Q, K) with the least on top."""
    size = scores.shape[1]
    for query in range(block.shape[0]):
        query_scores, heap, best_rows = block[query], scores[query], rows[query]
        for begin in range(0, len(query_scores), GROUP):
            end = min(begin + GROUP, len(query_scores))
            best = query_scores[begin]
            for i in range(begin + 1, end):
                best = max(best, query_scores[i])
            if best > heap[0]:
                for i in range(begin, end):
                    if query_scores[i] > heap[0]:
                        heap[0], best_rows[0] = query_scores[i], first + i
                        sift_down(heap, best_rows, size)


@njit(nogil=True, cache=True)
def at_least(scores, bound):
    """The rows whose score reaches the bound."""
    count = 0
    for row in range(len(scores)):
        count += scores[row] >= bound
    result = np.empty(count, np.int64)
    count = 0
    for row in range(len(scores)):
        if scores[row] >= bound:
            result[count] = row
            count += 1
    return result


@njit(nogil=True, cache=True)
def rank(vectors, unit, rows, top):
    """The `top` best of some rows by their exact cosine, in float64; of equals the first row comes first."""
    exact = np.empty(len(rows))
    for i in range(len(rows)):
        product = length = 0.0
        for column in range(vectors.shape[1]):
            value = np.float64(vectors[rows[i], column])
            product += value * unit[column]
            length += value * value
        exact[i] = product / np.sqrt(length) if length > 0 else 0.0
    by_row = np.argsort(rows)
    order = by_row[np.argsort(-exact[by_row], kind="mergesort")[:top]]
    return rows[order], exact[order]
