"""Sentences gathered into stretches of about a wanted number of tokens, never across the end of a document."""

import numpy as np
from numba import njit

from stairs.kernels.sampling import HALF, STEP, WHOLE, below, scrambled, stream

FEWEST = 2  # tokens of a short stretch


@njit(nogil=True, cache=True)
def gathered(lengths, closing, room, short, seed):
    """The first sentence of each stretch, and one more number at the end; and how many tokens each was to have: `room`, or for a share of `short`
    any number up to that. A stretch ends with the sentence that brings it to that number, or with its document."""
    sentences = len(lengths)
    starts, wanted = np.empty(sentences + 1, np.int64), np.empty(sentences, np.int64)
    count, tokens = 0, 0
    starts[0] = 0
    aim = chosen(room, short, seed, 0)
    for sentence in range(sentences):
        tokens += lengths[sentence]
        if tokens >= aim or closing[sentence]:
            wanted[count] = aim
            count += 1
            starts[count] = sentence + 1
            aim, tokens = chosen(room, short, seed, count), 0
    return starts[: count + 1], wanted[:count]


@njit(nogil=True, cache=True)
def chosen(room, short, seed, number):
    counter = stream(seed, number)
    if (scrambled(counter) >> HALF) >= short * WHOLE:
        return room
    return FEWEST + below(scrambled(counter + STEP), max(room - FEWEST, 1))
