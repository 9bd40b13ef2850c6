"""The mask of dropout, drawn by hashing the position of each number, so that a vector instruction draws several at once."""

import numpy as np
from numba import njit

HALF = np.uint32(16)


@njit(nogil=True, cache=True)
def fill_dropout_mask(out, seed, other, dropped, kept):
    """Fill `out` with `kept`, or, at about `dropped` in 2^32 of its positions, with 0. The hash is Wellons' lowbias32, with a seed in two halves."""
    zero = out.dtype.type(0)
    for position in range(len(out)):
        bits = np.uint32(np.uint32(position) + seed)  # each sum and product is cut to 32 bits again
        bits = np.uint32((bits ^ (bits >> HALF)) * np.uint32(0x7FEB352D)) ^ other
        bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
        out[position] = kept if np.uint32(bits ^ (bits >> HALF)) >= dropped else zero
