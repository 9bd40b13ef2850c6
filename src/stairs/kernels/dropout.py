"""Which numbers dropout keeps: drawn by scrambling each one's place, so that a vector of the processor draws several at once."""

import numpy as np
from numba import njit

HALF = np.uint32(16)


@njit(nogil=True, cache=True)
def fill_dropout_mask(out, seed, other, dropped, kept):
    """Fill `out` with `cached_features`, or, at about `dropped` in 2^32 of its places, with 0. The scrambling is Wellons' lowbias32, by a seed in
    two halves."""
    zero = out.dtype.type(0)
    for place in range(len(out)):
        bits = np.uint32(np.uint32(place) + seed)  # each sum and product is cut to 32 bits again
        bits = np.uint32((bits ^ (bits >> HALF)) * np.uint32(0x7FEB352D)) ^ other
        bits = np.uint32((bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B))
        out[place] = kept if np.uint32(bits ^ (bits >> HALF)) >= dropped else zero
