"""Sentences packed into passages of about a target number of tokens, never across the end of a document."""

import numpy as np
from numba import njit

from stairs.kernels.sampling import HALF, STEP, WHOLE, below, scramble, stream

FEWEST = 2  # tokens of a short passage


@njit(nogil=True, cache=True)
def pack_sentences(lengths, ends_document, max_tokens, short_prob, seed):
    """The first sentence of each passage, and the end of the last; and the target length of each: `max_tokens`, or with probability `short_prob` any
    smaller one. A passage ends with the sentence that reaches the target, or with its document."""
    sentences = len(lengths)
    starts, targets = np.empty(sentences + 1, np.int64), np.empty(sentences, np.int64)
    count, tokens = 0, 0
    starts[0] = 0
    target = target_length(max_tokens, short_prob, seed, 0)
    for sentence in range(sentences):
        tokens += lengths[sentence]
        if tokens >= target or ends_document[sentence]:
            targets[count] = target
            count += 1
            starts[count] = sentence + 1
            target, tokens = target_length(max_tokens, short_prob, seed, count), 0
    return starts[: count + 1], targets[:count]


@njit(nogil=True, cache=True)
def target_length(max_tokens, short_prob, seed, number):
    counter = stream(seed, number)
    if (scramble(counter) >> HALF) >= short_prob * WHOLE:
        return max_tokens
    return FEWEST + below(scramble(counter + STEP), max(max_tokens - FEWEST, 1))
