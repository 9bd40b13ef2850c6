"""The one step of word2vec: an input vector x against a few rows c of the context matrix, some of which it should match and some not.

    error = target - sigmoid(x c)        x += rate sum of error c        c += rate error x

Six or seven rows are compared at a time, a group, with one or two input vectors, and the sums stay in registers. Matrices and lists are flat, and
every place in them is a number: a slice would count its users, which threads that share a matrix would wait for. A group has sixteen places in each
list: eight for the first input vector and eight for the second.
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
SECOND = LANES // 2  # where the places of the second input vector begin
CLEAR = 15.0  # a score beyond which sigmoid is as good as 0 or 1


class Targets(NamedTuple):
    """Which rows of the context matrix a word is compared with: itself and words drawn, or the nodes on its way down a Huffman tree."""

    table: np.ndarray  # alias table of the words
    negatives: int  # how many are drawn; 0: hierarchical softmax
    path_starts: np.ndarray  # (V + 1,) where each word's way begins
    nodes: np.ndarray  # row of each node on the way
    codes: np.ndarray  # float32, the target at each node
    max_rows: int  # rows of any word


class Scratch(NamedTuple):
    """What a step reads and writes besides the matrices. There are two of the first three: one is filled while the other is used."""

    rows: np.ndarray  # where each row begins in the context matrix
    targets: np.ndarray
    real: np.ndarray  # 0 where a row does not count
    errors: np.ndarray  # times the rate
    likelihood: np.ndarray  # the product of all chances given to what was right: sixteen mantissas, and sixteen exponents


@njit(nogil=True, cache=True)
def new_scratch(outputs):
    slots = slots_of(outputs)
    luck = np.zeros(2 * LANES, np.float32)
    luck[:LANES] = 1
    return Scratch(np.zeros(2 * slots, np.int64), np.zeros(2 * slots, np.float32), np.zeros(2 * slots, np.float32), np.zeros(LANES, np.float32), luck)


@njit(nogil=True, cache=True)
def slots_of(outputs):
    return (outputs.max_rows + GROUP) // GROUP * LANES


@njit(nogil=True, cache=True)
def nats(likelihood):
    """The loss: minus the natural log of the luck."""
    total = 0.0
    for i in range(LANES):
        total -= np.log(np.float64(likelihood[i])) + likelihood[LANES + i] * np.log(2.0)
    return total


@njit(nogil=True, cache=True, forceinline=True)
def prefetch_row(matrix, at, width):
    for i in range(at, at + width, LANES):
        prefetch(matrix, i)


@njit(nogil=True, cache=True, forceinline=True)
def push_row(lists, slot, row, contexts, width, target, also_target, real, also_real):
    """Write down a row to compare with, for either input vector, and ask memory for it."""
    lists.rows[slot] = row * width
    lists.targets[slot], lists.targets[slot + SECOND] = target, also_target
    lists.real[slot], lists.real[slot + SECOND] = real, also_real
    prefetch_row(contexts, row * width, width)


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows(outputs, word, bits, contexts, width, lists, half):
    """Write down what `word` is compared with, from place `half` of the lists on: the number of groups. Where the last is not full, a row that does
    not count is repeated."""
    count = outputs.negatives + 1 if outputs.negatives else outputs.path_starts[word + 1] - outputs.path_starts[word]
    groups = (count + GROUP - 1) // GROUP
    for i in range(groups * GROUP):
        if outputs.negatives:
            row, target = word, i == 0
            if 0 < i < count:
                bits += STEP
                row = draw(outputs.table, scramble(bits))
            real = i < count and (i == 0 or row != word)
        else:
            at = outputs.path_starts[word] + min(i, count - 1)
            row, target, real = np.int64(outputs.nodes[at]), outputs.codes[at] > 0, i < count
        push_row(lists, half + i // GROUP * LANES + i % GROUP, row, contexts, width, target, target, real, real)
    return groups


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows_for_two(outputs, word, other, bits, contexts, width, lists, half):
    """The same for two words, in groups of seven: both words, and negatives that they share. `other` may be -1, none."""
    count = outputs.negatives + 2
    groups = count // (GROUP + 1) + (count % (GROUP + 1) > 0)
    for i in range(groups * (GROUP + 1)):
        row = max(other, 0) if i == 1 else word
        if 1 < i < count:
            bits += STEP
            row = draw(outputs.table, scramble(bits))
        real = i == 0 or (1 < i < count and row != word)
        also = other >= 0 and (i == 1 or (1 < i < count and row != other))
        push_row(lists, half + i // (GROUP + 1) * LANES + i % (GROUP + 1), row, contexts, width, i == 0, i == 1, real, also)
    return groups


@njit(nogil=True, cache=True, forceinline=True)
def choose_rows_for(outputs, step, word, other, bits, contexts, width, lists, half):
    """For one word or, if `step` is 2, for two."""
    if step == 2:
        return choose_rows_for_two(outputs, word, other, bits, contexts, width, lists, half)
    return choose_rows(outputs, word, bits, contexts, width, lists, half)


@njit(nogil=True, cache=True, forceinline=True)
def push_errors(scores, real, lists, h, rate):
    error = real * (load(lists.targets, h) - sigmoid(clamp(broadcast(-CLEAR), scores, broadcast(CLEAR))))
    store(lists.errors, 0, error * broadcast(rate))
    probability = load(lists.likelihood, 0) * (broadcast(1.0) - absolute(error))
    store(lists.likelihood, 0, mantissa(probability))
    store(lists.likelihood, LANES, load(lists.likelihood, LANES) + exponent(probability))


@njit(nogil=True, cache=True, forceinline=True)
def learn(inputs, at, contexts, width, lists, half, groups, rate):
    """One step of the input vector that begins at `at` and of the rows it is compared with."""
    rows, errors = lists.rows, lists.errors
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
        push_errors(sums(aa, bb, cc, dd, ee, ff), first_half(load(lists.real, h)), lists, h, rate)
        aa, bb, cc = broadcast(errors[0]), broadcast(errors[1]), broadcast(errors[2])
        dd, ee, ff = broadcast(errors[3]), broadcast(errors[4]), broadcast(errors[5])
        for i in range(0, width, LANES):
            x = load(inputs, at + i)
            moved = x + move_row(contexts, a + i, aa, x)
            moved += move_row(contexts, b + i, bb, x)
            moved += move_row(contexts, c + i, cc, x)
            moved += move_row(contexts, d + i, dd, x)
            moved += move_row(contexts, e + i, ee, x)
            moved += move_row(contexts, f + i, ff, x)
            store(inputs, at + i, moved)


@njit(nogil=True, cache=True, forceinline=True)
def move_row(contexts, at, error, x):
    """Move sixteen numbers of a row towards x, or away from it; what they would add to x."""
    row = load(contexts, at)
    store(contexts, at, row + error * x)
    return error * row


@njit(nogil=True, cache=True, forceinline=True)
def learn_two(inputs, at, also, contexts, width, lists, half, groups, rate, seven):
    """`learn` for two input vectors at once, which is half the waiting; in groups of seven rows, if so asked."""
    rows, errors = lists.rows, lists.errors
    for h in range(half, half + groups * LANES, LANES):
        a, b, c, d, e, f, g = rows[h], rows[h + 1], rows[h + 2], rows[h + 3], rows[h + 4], rows[h + 5], rows[h + 6]
        aa, bb, cc, dd, ee, ff, gg = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        aaa, bbb, ccc, ddd, eee, fff, ggg = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        for i in range(0, width, LANES):
            x, y = load(inputs, at + i), load(inputs, also + i)
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
        push_errors(sums_of_two(aa, bb, cc, dd, ee, ff, gg, aaa, bbb, ccc, ddd, eee, fff, ggg), load(lists.real, h), lists, h, rate)
        aa, bb, cc, dd = broadcast(errors[0]), broadcast(errors[1]), broadcast(errors[2]), broadcast(errors[3])
        ee, ff, gg = broadcast(errors[4]), broadcast(errors[5]), broadcast(errors[6])
        aaa, bbb, ccc, ddd = broadcast(errors[8]), broadcast(errors[9]), broadcast(errors[10]), broadcast(errors[11])
        eee, fff, ggg = broadcast(errors[12]), broadcast(errors[13]), broadcast(errors[14])
        for i in range(0, width, LANES):
            x, y = load(inputs, at + i), load(inputs, also + i)
            row = load(contexts, a + i)
            moved, other = aa * row, aaa * row
            store(contexts, a + i, row + aa * x + aaa * y)
            row = load(contexts, b + i)
            moved, other = moved + bb * row, other + bbb * row
            store(contexts, b + i, row + bb * x + bbb * y)
            row = load(contexts, c + i)
            moved, other = moved + cc * row, other + ccc * row
            store(contexts, c + i, row + cc * x + ccc * y)
            row = load(contexts, d + i)
            moved, other = moved + dd * row, other + ddd * row
            store(contexts, d + i, row + dd * x + ddd * y)
            row = load(contexts, e + i)
            moved, other = moved + ee * row, other + eee * row
            store(contexts, e + i, row + ee * x + eee * y)
            row = load(contexts, f + i)
            moved, other = moved + ff * row, other + fff * row
            store(contexts, f + i, row + ff * x + fff * y)
            if seven:
                row = load(contexts, g + i)
                moved, other = moved + gg * row, other + ggg * row
                store(contexts, g + i, row + gg * x + ggg * y)
            store(inputs, at + i, load(inputs, at + i) + moved)
            store(inputs, also + i, load(inputs, also + i) + other)  # loaded again: it may be the same row


@njit(nogil=True, cache=True, forceinline=True)
def learn_one_or_two(inputs, step, also, contexts, width, lists, half, groups, rate):
    """For the input vector at 0 or, if `step` is 2, for that and the one at `also`, which may be the same."""
    if step == 2:
        learn_two(inputs, 0, also, contexts, width, lists, half, groups, rate, True)
    else:
        learn(inputs, 0, contexts, width, lists, half, groups, rate)
