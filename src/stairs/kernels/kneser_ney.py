"""The inner loops of modified Kneser-Ney smoothing; the recursion that they compute is in `models/kneser_ney.py`."""

import numpy as np
from numba import njit, prange


@njit(nogil=True, cache=True, parallel=True)
def interpolate(first, counts, keep, discounts, suffixes, shorter):
    """P of each n-gram and its log10, and gamma of each context, whose n-grams are `first[context] : first[context + 1]`.

    P = (c - D(c)) / total + gamma P(suffix), where `shorter` are the probabilities of the level below.
    """
    probabilities = np.empty(len(counts), np.float64)
    log10s = np.empty(len(counts), np.float32)
    gammas = np.ones(len(first) - 1, np.float64)
    for context in prange(len(first) - 1):
        total = 0.0
        left_over = 0.0
        for i in range(first[context], first[context + 1]):
            total += counts[i]
            left_over += discounts[min(counts[i], 3)] if keep[i] else counts[i]
        if total > 0:
            gammas[context] = left_over / total
            for i in range(first[context], first[context + 1]):
                own = (counts[i] - discounts[min(counts[i], 3)]) / total
                probabilities[i] = own + gammas[context] * shorter[suffixes[i]]
                log10s[i] = np.log10(probabilities[i])
    return probabilities, log10s, gammas
