"""Row by row what a block does between its products in 8 bits: each row is read once, stays in the nearest cache, and is written once.

A row of numbers x becomes bytes round(x / scale) + 128 with scale = max |x| / 127, a scale per row, so that one loud token does not drown the
quiet ones of its batch. (`error_model="numpy"`: with Python's, every division would first look for a zero, one number at a time.)
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
    """x times the chance that a normal number is below x."""
    z = min(max(x * ROOT, -FAR), FAR)
    square = z * z
    over = ((((((P[0] * square + P[1]) * square + P[2]) * square + P[3]) * square + P[4]) * square + P[5]) * square + P[6]) * z
    under = (((Q[0] * square + Q[1]) * square + Q[2]) * square + Q[3]) * square + Q[4]
    return HALF * x * (ONE + over / under)


@njit(inline="always")
def as_bytes(row, bits, scales, scale_bits, number, out):
    """A row as bytes. Floats without their sign compare like the integers of the same bits, and the largest integer is found faster."""
    largest = np.int32(0)
    for column in range(row.shape[0]):
        largest = max(largest, bits[column] & WITHOUT_SIGN)
    scale_bits[number] = largest
    factor = LEVELS / scales[number] if largest else np.float32(0)
    scales[number] /= LEVELS
    for column in range(row.shape[0]):
        out[column] = np.uint8(np.int32(row[column] * factor + MIDDLE))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def quantize(x, out, scales):
    """x (N, D) as bytes and a scale per row."""
    bits, scale_bits = x.view(np.int32), scales.view(np.int32)
    for number in range(x.shape[0]):
        as_bytes(x[number], bits[number], scales, scale_bits, number, out[number])


@njit(nogil=True, cache=True, fastmath=True)
def scale_and_add(y, scales, bias):
    """y = y * scale of the row + bias, in place."""
    for number in range(y.shape[0]):
        row, scale = y[number], scales[number]
        for column in range(row.shape[0]):
            row[column] = row[column] * scale + bias[column]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def gelu_and_quantize(y, scales, bias, out, new_scales):
    """gelu(y * scale of the row + bias) as bytes and a scale per row; y is overwritten.

    gelu is hardly ever negative, so nearly all bytes are for what is above 0, whose byte is LOW: the steps are half as wide."""
    bits, scale_bits = y.view(np.int32), new_scales.view(np.int32)
    for number in range(y.shape[0]):
        row, row_bits, scale, given = y[number], bits[number], scales[number], out[number]
        for column in range(row.shape[0]):
            row[column] = gelu(row[column] * scale + bias[column])
        largest = np.int32(0)
        for column in range(row.shape[0]):
            largest = max(largest, row_bits[column])  # what is negative is so as an integer, too
        scale_bits[number] = largest
        new_scales[number] = max(new_scales[number] / HIGH, LEAST / LOW)
        factor = ONE / new_scales[number]
        for column in range(row.shape[0]):
            given[column] = np.uint8(np.int32(row[column] * factor + LOW_ROUNDED))


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def add_and_norm(y, scales, bias, x, weight, shift, epsilon):
    """y = norm(x + y * scale of the row + bias), in place."""
    width = np.float32(y.shape[1])
    for number in range(y.shape[0]):
        row, before, scale = y[number], x[number], scales[number]
        total = np.float32(0)
        for column in range(row.shape[0]):
            value = row[column] * scale + bias[column] + before[column]
            row[column] = value
            total += value
        mean = total / width
        squares = np.float32(0)
        for column in range(row.shape[0]):
            away = row[column] - mean
            squares += away * away
        factor = ONE / np.sqrt(squares / width + epsilon)
        for column in range(row.shape[0]):
            row[column] = (row[column] - mean) * factor * weight[column] + shift[column]
