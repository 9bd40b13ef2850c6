"""What a block does between its products in 8 bits, row by row: each row is read once, stays in the L1 cache, and is written once.

A row of numbers x becomes bytes round(x / scale) + 128 with scale = max |x| / 127, a scale per row, so that one token with large
values does not cost the others of its batch their precision. (`error_model="numpy"`: with Python's, every division would first be
checked for zero, one number at a time.)
"""

import numpy as np
from numba import njit

LEVELS = np.float32(127)
MIDDLE = np.float32(128.5)  # the byte of 0, and a half for rounding
HALF = np.float32(0.5)
LOW, HIGH, LEAST = np.float32(16), np.float32(239), np.float32(0.17)  # of gelu: the byte of 0, the steps above it, and how far below 0 it goes
LOW_ROUNDED = np.float32(16.5)
ONE = np.float32(1)
WITHOUT_SIGN = np.int32(0x7FFFFFFF)
ROOT = np.float32(0.7071067811865476)
FAR = np.float32(4)  # erf is 1 in float32 from here on
# erf(x) = x P(x^2) / Q(x^2), a fit with an error of a unit in the last place, as Eigen has it
P = tuple(
    map(
        np.float32,
        (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
         -1.60960333262415e-02),
    )
)  # fmt: skip
Q = tuple(map(np.float32, (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)))


@njit(inline="always")
def gelu(x):
    """x times the probability that a normal number is below x."""
    z = min(max(x * ROOT, -FAR), FAR)
    square = z * z
    over = ((((((P[0] * square + P[1]) * square + P[2]) * square + P[3]) * square + P[4]) * square + P[5]) * square + P[6]) * z
    under = (((Q[0] * square + Q[1]) * square + Q[2]) * square + Q[3]) * square + Q[4]
    return HALF * x * (ONE + over / under)


@njit(inline="always")
def as_bytes(row, bits, scales, scale_bits, index, out):
    """A row as bytes. Absolute floats compare like the integers of the same bits, and the largest integer is found faster."""
    largest = np.int32(0)
    for column in range(row.shape[0]):
        largest = max(largest, bits[column] & WITHOUT_SIGN)
    scale_bits[index] = largest
    factor = LEVELS / scales[index] if largest else np.float32(0)
    scales[index] /= LEVELS
    for column in range(row.shape[0]):
        out[column] = np.uint8(np.int32(row[column] * factor + MIDDLE))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def quantize(x, out, scales):
    """x (N, D) as bytes and a scale per row."""
    bits, scale_bits = x.view(np.int32), scales.view(np.int32)
    for index in range(x.shape[0]):
        as_bytes(x[index], bits[index], scales, scale_bits, index, out[index])


@njit(nogil=True, cache=True, fastmath=True)
def scale_and_add(y, scales, bias):
    """y = y * scale of the row + bias, in place."""
    for index in range(y.shape[0]):
        row, scale = y[index], scales[index]
        for column in range(row.shape[0]):
            row[column] = row[column] * scale + bias[column]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def gelu_and_quantize(y, scales, bias, out, new_scales):
    """gelu(y * scale of the row + bias) as bytes and a scale per row; y is overwritten.

    gelu is hardly ever negative, so nearly all bytes are above LOW, the byte of 0: the steps are half as wide."""
    bits, scale_bits = y.view(np.int32), new_scales.view(np.int32)
    for index in range(y.shape[0]):
        row, row_bits, scale, outputs = y[index], bits[index], scales[index], out[index]
        for column in range(row.shape[0]):
            row[column] = gelu(row[column] * scale + bias[column])
        largest = np.int32(0)
        for column in range(row.shape[0]):
            largest = max(largest, row_bits[column])  # a negative number is negative as an integer, too
        scale_bits[index] = largest
        new_scales[index] = max(new_scales[index] / HIGH, LEAST / LOW)
        factor = ONE / new_scales[index]
        for column in range(row.shape[0]):
            outputs[column] = np.uint8(np.int32(row[column] * factor + LOW_ROUNDED))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def add_and_norm(y, scales, bias, x, weight, shift, epsilon):
    """y = norm(x + y * scale of the row + bias), in place."""
    width = np.float32(y.shape[1])
    for index in range(y.shape[0]):
        row, residual, scale = y[index], x[index], scales[index]
        total = np.float32(0)
        for column in range(row.shape[0]):
            value = row[column] * scale + bias[column] + residual[column]
            row[column] = value
            total += value
        mean = total / width
        squares = np.float32(0)
        for column in range(row.shape[0]):
            difference = row[column] - mean
            squares += difference * difference
        factor = ONE / np.sqrt(squares / width + epsilon)
        for column in range(row.shape[0]):
            row[column] = (row[column] - mean) * factor * weight[column] + shift[column]
