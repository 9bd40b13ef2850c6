"""A matrix in bfloat16 times one vector: as fast as the memory gives the matrix, which the library's kernels for many rows are not."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True)
def times_vector(weight, x, bias, out):
    """out = weight x + bias; `weight` holds the upper halves of float32s, so a shift makes it one, and the sum is in float32."""
    for row in range(weight.shape[0]):
        total = np.float32(0)
        for column in range(weight.shape[1]):
            total += np.uint32(np.uint32(weight[row, column]) << np.uint32(16)).view(np.float32) * x[column]
        out[row] = total + bias[row]
