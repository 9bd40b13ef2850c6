"""A matrix in bfloat16 times one vector, at the speed of the memory, which the library's kernels for many rows do not reach."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True)
def times_vector(weight, x, bias, out):
    """out = weight x + bias; `weight` holds the upper halves of float32s, so that a shift gives the float32, and the sum is in float32."""
    for row in range(weight.shape[0]):
        total = np.float32(0)
        for column in range(weight.shape[1]):
            total += np.uint32(np.uint32(weight[row, column]) << np.uint32(16)).view(np.float32) * x[column]
        out[row] = total + bias[row]
