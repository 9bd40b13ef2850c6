"""The update of word2vec: an input vector x against a few rows c of the context matrix, some of which it should match and some not.

    error = target - sigmoid(x c)        x += rate sum of error c        c += rate error x

With noise-contrastive estimation the score of a row is x c less the row's shift.
A group of six or seven rows is compared at a time with one or two input vectors, and the sums stay in registers. Matrices and lists are flat, and
positions in them are integers: a slice would count its references, which threads that share a matrix would wait for. A group has sixteen slots in
each list: eight for the first input vector and eight for the second.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from stairs.kernels.sampling import STEP, draw, scramble
from stairs.kernels.simd import (
    LANES,
    absolute,
    broadcast,
    clamp,
    exponent,
    first_half,
    load,
    mantissa,
    prefetch,
    sigmoid,
    store,
    sums,
    sums_of_two,
    zeros,
)

GROUP = 6  # rows compared at a time
SECOND = LANES // 2  # first slot of the second input vector
CLEAR = 15.0  # score beyond which the sigmoid is 0 or 1 in effect


class Targets(NamedTuple):
    """Which rows of the context matrix a word is compared with: itself and its negatives, or the nodes of its path down a Huffman tree."""

    table: np.ndarray  # alias table of the words
    negatives: int  # negatives of each word; 0: hierarchical softmax
    path_starts: np.ndarray  # (V + 1,) where each word's path starts
    nodes: np.ndarray  # row of each node of the path
    codes: np.ndarray  # float32, the target at each node
    max_rows: int  # the most rows that a word has
    shifts: np.ndarray  # float32, what is taken from the score of each word; empty: nothing


class Scratch(NamedTuple):
    """What an update reads and writes besides the matrices. The first four are double: one half is filled while the other is used."""

    rows: np.ndarray  # where each row starts in the context matrix
    targets: np.ndarray
    real: np.ndarray  # 0 where a row does not count
    shifts: np.ndarray
    errors: np.ndarray  # errors times the rate
    likelihood: np.ndarray  # the product of the probabilities of all targets: sixteen mantissas, and sixteen exponents


@njit(nogil=True, cache=True)
def new_scratch(targets):
    slots = slots_of(targets)
    likelihood = np.zeros(2 * LANES, np.float32)
    likelihood[:LANES] = 1
    rows, numbers = np.zeros(2 * slots, np.int64), np.zeros(2 * slots, np.float32)
    return Scratch(rows, numbers, numbers.copy(), numbers.copy(), np.zeros(LANES, np.float32), likelihood)


@njit(nogil=True, cache=True)
def slots_of(targets):
    return (targets.max_rows + GROUP) // GROUP * LANES


@njit(nogil=True, cache=True)
def nats(likelihood):
    """The loss: minus the natural log of the likelihood."""
    total = 0.0
    for i in range(LANES):
        total -= np.log(np.float64(likelihood[i])) + likelihood[LANES + i] * np.log(2.0)
    return total


@njit(nogil=True, cache=True, forceinline=True)
def prefetch_row(matrix, at, width):
    for i in range(at, at + width, LANES):
        prefetch(matrix, i)


@njit(nogil=True, cache=True, forceinline=True)
def push_row(scratch, slot, row, contexts, width, target, second_target, real, second_real):
    """List a row to compare with, for either input vector, and prefetch it."""
    scratch.rows[slot] = row * width
    scratch.targets[slot], scratch.targets[slot + SECOND] = target, second_target
    scratch.real[slot], scratch.real[slot + SECOND] = real, second_real
    prefetch_row(contexts, row * width, width)


@njit(nogil=True, cache=True, forceinline=True)
def push_shift(targets, scratch, slot, row):
    if len(targets.shifts):
        scratch.shifts[slot] = scratch.shifts[slot + SECOND] = targets.shifts[row]


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows(targets, word, bits, contexts, width, scratch, half):
    """List the rows that `word` is compared with, from slot `half` on, and return the number of groups. The last is filled up with a row
    that does not count."""
    count = targets.negatives + 1 if targets.negatives else targets.path_starts[word + 1] - targets.path_starts[word]
    groups = (count + GROUP - 1) // GROUP
    for i in range(groups * GROUP):
        if targets.negatives:
            row, target = word, i == 0
            if 0 < i < count:
                bits += STEP
                row = draw(targets.table, scramble(bits))
            real = i < count and (i == 0 or row != word)
        else:
            at = targets.path_starts[word] + min(i, count - 1)
            row, target, real = np.int64(targets.nodes[at]), targets.codes[at] > 0, i < count
        slot = half + i // GROUP * LANES + i % GROUP
        push_row(scratch, slot, row, contexts, width, target, target, real, real)
        push_shift(targets, scratch, slot, row)
    return groups


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows_for_two(targets, word, other, bits, contexts, width, scratch, half):
    """The same for two words, in groups of seven: both words, and negatives that they share. `other` may be -1: none."""
    count = targets.negatives + 2
    groups = count // (GROUP + 1) + (count % (GROUP + 1) > 0)
    for i in range(groups * (GROUP + 1)):
        row = max(other, 0) if i == 1 else word
        if 1 < i < count:
            bits += STEP
            row = draw(targets.table, scramble(bits))
        real = i == 0 or (1 < i < count and row != word)
        second = other >= 0 and (i == 1 or (1 < i < count and row != other))
        slot = half + i // (GROUP + 1) * LANES + i % (GROUP + 1)
        push_row(scratch, slot, row, contexts, width, i == 0, i == 1, real, second)
        push_shift(targets, scratch, slot, row)
    return groups


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows_for(targets, step, word, other, bits, contexts, width, scratch, half):
    """For one word or, if `step` is 2, for two."""
    if step == 2:
        return choose_rows_for_two(targets, word, other, bits, contexts, width, scratch, half)
    return choose_rows(targets, word, bits, contexts, width, scratch, half)


@njit(nogil=True, cache=True, forceinline=True)
def push_errors(scores, real, scratch, h, rate):
    error = real * (load(scratch.targets, h) - sigmoid(clamp(broadcast(-CLEAR), scores - load(scratch.shifts, h), broadcast(CLEAR))))
    store(scratch.errors, 0, error * broadcast(rate))
    probability = load(scratch.likelihood, 0) * (broadcast(1.0) - absolute(error))
    store(scratch.likelihood, 0, mantissa(probability))
    store(scratch.likelihood, LANES, load(scratch.likelihood, LANES) + exponent(probability))


@njit(nogil=True, cache=True, forceinline=True)
def learn(inputs, at, contexts, width, scratch, half, groups, rate):
    """One update of the input vector that starts at `at` and of the rows it is compared with."""
    rows, errors = scratch.rows, scratch.errors
    for h in range(half, half + groups * LANES, LANES):
        a, b, c, d, e, f = rows[h], rows[h + 1], rows[h + 2], rows[h + 3], rows[h + 4], rows[h + 5]
        aa, bb, cc, dd, ee, ff = zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        for i in range(0, width, LANES):
            x = load(inputs, at + i)
            aa += x * load(contexts, a + i)
            bb += x * load(contexts, b + i)
            cc += x * load(contexts, c + i)
            dd += x * load(contexts, d + i)
            ee += x * load(contexts, e + i)
            ff += x * load(contexts, f + i)
        push_errors(sums(aa, bb, cc, dd, ee, ff), first_half(load(scratch.real, h)), scratch, h, rate)
        aa, bb, cc = broadcast(errors[0]), broadcast(errors[1]), broadcast(errors[2])
        dd, ee, ff = broadcast(errors[3]), broadcast(errors[4]), broadcast(errors[5])
        for i in range(0, width, LANES):
            x = load(inputs, at + i)
            change = x + move_row(contexts, a + i, aa, x)
            change += move_row(contexts, b + i, bb, x)
            change += move_row(contexts, c + i, cc, x)
            change += move_row(contexts, d + i, dd, x)
            change += move_row(contexts, e + i, ee, x)
            change += move_row(contexts, f + i, ff, x)
            store(inputs, at + i, change)


@njit(nogil=True, cache=True, forceinline=True)
def move_row(contexts, at, error, x):
    """Move sixteen numbers of a row towards x, or away from it; return their share of the change of x."""
    row = load(contexts, at)
    store(contexts, at, row + error * x)
    return error * row


@njit(nogil=True, cache=True, forceinline=True)
def learn_two(inputs, at, second, contexts, width, scratch, half, groups, rate, seven):
    """`learn` for two input vectors at once, with half the memory traffic; in groups of seven rows if `seven`."""
    rows, errors = scratch.rows, scratch.errors
    for h in range(half, half + groups * LANES, LANES):
        a, b, c, d, e, f, g = rows[h], rows[h + 1], rows[h + 2], rows[h + 3], rows[h + 4], rows[h + 5], rows[h + 6]
        aa, bb, cc, dd, ee, ff, gg = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        aaa, bbb, ccc, ddd, eee, fff, ggg = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        for i in range(0, width, LANES):
            x, y = load(inputs, at + i), load(inputs, second + i)
            row = load(contexts, a + i)
            aa, aaa = aa + x * row, aaa + y * row
            row = load(contexts, b + i)
            bb, bbb = bb + x * row, bbb + y * row
            row = load(contexts, c + i)
            cc, ccc = cc + x * row, ccc + y * row
            row = load(contexts, d + i)
            dd, ddd = dd + x * row, ddd + y * row
            row = load(contexts, e + i)
            ee, eee = ee + x * row, eee + y * row
            row = load(contexts, f + i)
            ff, fff = ff + x * row, fff + y * row
            if seven:
                row = load(contexts, g + i)
                gg, ggg = gg + x * row, ggg + y * row
        push_errors(sums_of_two(aa, bb, cc, dd, ee, ff, gg, aaa, bbb, ccc, ddd, eee, fff, ggg), load(scratch.real, h), scratch, h, rate)
        aa, bb, cc, dd = broadcast(errors[0]), broadcast(errors[1]), broadcast(errors[2]), broadcast(errors[3])
        ee, ff, gg = broadcast(errors[4]), broadcast(errors[5]), broadcast(errors[6])
        aaa, bbb, ccc, ddd = broadcast(errors[8]), broadcast(errors[9]), broadcast(errors[10]), broadcast(errors[11])
        eee, fff, ggg = broadcast(errors[12]), broadcast(errors[13]), broadcast(errors[14])
        for i in range(0, width, LANES):
            x, y = load(inputs, at + i), load(inputs, second + i)
            row = load(contexts, a + i)
            change, other = aa * row, aaa * row
            store(contexts, a + i, row + aa * x + aaa * y)
            row = load(contexts, b + i)
            change, other = change + bb * row, other + bbb * row
            store(contexts, b + i, row + bb * x + bbb * y)
            row = load(contexts, c + i)
            change, other = change + cc * row, other + ccc * row
            store(contexts, c + i, row + cc * x + ccc * y)
            row = load(contexts, d + i)
            change, other = change + dd * row, other + ddd * row
            store(contexts, d + i, row + dd * x + ddd * y)
            row = load(contexts, e + i)
            change, other = change + ee * row, other + eee * row
            store(contexts, e + i, row + ee * x + eee * y)
            row = load(contexts, f + i)
            change, other = change + ff * row, other + fff * row
            store(contexts, f + i, row + ff * x + fff * y)
            if seven:
                row = load(contexts, g + i)
                change, other = change + gg * row, other + ggg * row
                store(contexts, g + i, row + gg * x + ggg * y)
            store(inputs, at + i, load(inputs, at + i) + change)
            store(inputs, second + i, load(inputs, second + i) + other)  # loaded again: it may be the same row


@njit(nogil=True, cache=True, forceinline=True)
def learn_one_or_two(inputs, step, second, contexts, width, scratch, half, groups, rate):
    """For the input vector at 0 or, if `step` is 2, for that and the one at `second`, which may be the same."""
    if step == 2:
        learn_two(inputs, 0, second, contexts, width, scratch, half, groups, rate, True)
    else:
        learn(inputs, 0, contexts, width, scratch, half, groups, rate)
