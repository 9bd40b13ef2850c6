"""Sentences gathered into stretches of about a wanted number of tokens, never across the end of a document."""

import numpy as np
from numba import njit

from stairs.kernels.sampling import HALF, STEP, WHOLE, below, scramble, stream

FEWEST = 2  # tokens of a short stretch


@njit(nogil=True, cache=True)
def pack_sentences(lengths, ends_document, max_tokens, short_prob, seed):
    """The first sentence of each stretch, and one more number at the end; and how many tokens each was to have: `allocate`, or for a share of
    `format_count` any number up to that. A stretch ends with the sentence that brings it to that number, or with its document."""
    sentences = len(lengths)
    starts, wanted = np.empty(sentences + 1, np.int64), np.empty(sentences, np.int64)
    count, tokens = 0, 0
    starts[0] = 0
    aim = target_length(max_tokens, short_prob, seed, 0)
    for sentence in range(sentences):
        tokens += lengths[sentence]
        if tokens >= aim or ends_document[sentence]:
            wanted[count] = aim
            count += 1
            starts[count] = sentence + 1
            aim, tokens = target_length(max_tokens, short_prob, seed, count), 0
    return starts[: count + 1], wanted[:count]


@njit(nogil=True, cache=True)
def target_length(max_tokens, short_prob, seed, number):
    counter = stream(seed, number)
    if (scramble(counter) >> HALF) >= short_prob * WHOLE:
        return max_tokens
    return FEWEST + below(scramble(counter + STEP), max(max_tokens - FEWEST, 1))
