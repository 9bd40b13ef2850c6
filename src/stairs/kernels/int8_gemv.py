"""A matrix of signed bytes times one vector of bytes: exact, and as fast as the memory gives the matrix, a quarter of the same in float32.

Sums are in 32 bits of numbers that were widened to 16, so nothing saturates on any machine; the compiler knows an instruction for that wherever there
is one. (A product of two int32 would be int64, half as fast: every result is told its width.)
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def times_bytes(weight, given, middle, scales, out):
    """out = scales * (weight (given - middle)): (O, D) int8, (D,) uint8, whose byte of 0 is `middle`, (O,) and (O,) float32."""
    x = np.empty(len(given), np.int16)
    for column in range(len(given)):
        x[column] = np.int16(given[column]) - middle
    for number in range(weight.shape[0]):
        row, total = weight[number], np.int32(0)
        for column in range(len(row)):
            total = np.int32(total + np.int32(np.int32(row[column]) * np.int32(x[column])))
        out[number] = np.float32(total) * scales[number]
