"""A product in float32 for processors with AVX2 and without AVX-512: weights in panels, sums in registers.

A panel holds sixteen outputs: the first weight of each, then the second, ... A tile of six rows and one panel is twelve registers of eight sums;
of the sixteen there are, the others hold weights and a number of a row. The sixteen lanes of `simd.py` are two registers here.
"""

import numpy as np
from numba import njit

from stairs.kernels.simd import LANES, broadcast_from, load, store

ROWS = 6  # of a tile
TOGETHER = 96  # rows that are multiplied with all panels before the next ones, so that they stay in the cache


def panels_of(weight: np.ndarray) -> np.ndarray:
    """(O, D) as panels, flat, filled up with zeros."""
    outputs = -(-len(weight) // LANES) * LANES
    padded = np.zeros((outputs, weight.shape[1]), np.float32)
    padded[: len(weight)] = weight
    return np.ascontiguousarray(padded.reshape(-1, LANES, weight.shape[1]).swapaxes(1, 2)).reshape(-1)


@njit(nogil=True, cache=True)
def times_panels(x, panels, bias, out, first, stop):
    """out[:, of the panels first to stop] = x W^T + bias: (N, D), `panels_of` (O, D), (O, filled up), (N, O)."""
    count, depth = x.shape
    flat, out_flat, width = x.reshape(-1), out.reshape(-1), out.shape[1]
    rest = np.empty(ROWS * LANES, np.float32)  # of a panel that is wider than what is left
    for begin in range(0, count, TOGETHER):
        end = min(begin + TOGETHER, count)
        for panel in range(first, stop):
            base, column = panel * depth * LANES, panel * LANES
            fits = column + LANES <= width
            start_sums = load(bias, column)
            for row in range(begin, end, ROWS):
                last = end - 1  # which is computed again where rows are missing
                r0, r1, r2, r3, r4, r5 = row, min(row + 1, last), min(row + 2, last), min(row + 3, last), min(row + 4, last), min(row + 5, last)
                x0, x1, x2, x3, x4, x5 = r0 * depth, r1 * depth, r2 * depth, r3 * depth, r4 * depth, r5 * depth
                s0 = s1 = s2 = s3 = s4 = s5 = start_sums
                for column_index in range(depth):
                    weight = load(panels, base + column_index * LANES)
                    s0 += broadcast_from(flat, x0 + column_index) * weight
                    s1 += broadcast_from(flat, x1 + column_index) * weight
                    s2 += broadcast_from(flat, x2 + column_index) * weight
                    s3 += broadcast_from(flat, x3 + column_index) * weight
                    s4 += broadcast_from(flat, x4 + column_index) * weight
                    s5 += broadcast_from(flat, x5 + column_index) * weight
                into, step, start = (out_flat, width, row * width + column) if fits else (rest, LANES, 0)
                store(into, start, s0)
                store(into, start + (r1 - row) * step, s1)
                store(into, start + (r2 - row) * step, s2)
                store(into, start + (r3 - row) * step, s3)
                store(into, start + (r4 - row) * step, s4)
                store(into, start + (r5 - row) * step, s5)
                if not fits:
                    for number in range(row, min(row + ROWS, end)):
                        out[number, column:] = rest[(number - row) * LANES : (number - row) * LANES + width - column]
