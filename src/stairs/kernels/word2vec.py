"""The sweeps of word2vec over a text: skip-gram and CBOW, with negative sampling or hierarchical softmax, with or without subwords.

`models/word2vec.py` has the equations, in PyTorch, and `kernels/word2vec_update.py` the update they are made of. What makes it fast: the words around
a centre are all compared with the same rows, the centre and one draw of negatives, which stay in the L1 cache; rows are prefetched one centre ahead;
a draw costs one read of an alias table; threads share the matrices without locks (Hogwild, Niu et al. 2011).

Rows are `width` numbers apart, a multiple of 16; those beyond the model's width are 0 and stay 0.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from stairs.kernels.cooccurrence import BEGIN, END, SPECIAL
from stairs.kernels.sampling import LOWER, below, scramble, stream
from stairs.kernels.simd import LANES, broadcast, load, store, zeros
from stairs.kernels.word2vec_update import choose_rows, choose_rows_for, learn, learn_one_or_two, learn_two, nats, new_scratch, prefetch_row, slots_of

UNKNOWN = 1
BORDER = -1
CHUNK = 1 << 15  # ids of a thread's task
LONGEST = 1 << 10  # the most that the end of a chunk is moved to reach the end of a sentence
ANOTHER = np.uint64(0xD1342543DE82EF95)  # for a second stream of random numbers from one seed


@njit(nogil=True, cache=True)
def subsample(ids, offset, limits, seed):
    """The words that subsampling keeps, with BORDER where a sentence ends, and the number of words read. `offset` is that of ids[0] in the text."""
    words = np.empty(len(ids), np.int32)
    filled = read = 0
    for i in range(len(ids)):
        word = np.int64(ids[i])
        ends = (word == BEGIN) | (word == END)
        is_kept = (stream(seed, offset + i) & LOWER) <= np.uint64(limits[word])
        words[filled] = BORDER if ends else word
        filled += ends | (is_kept & (word >= SPECIAL))  # by arithmetic, since the branch would be unpredictable
        read += (word >= SPECIAL) | (word == UNKNOWN)
    return words[:filled], read


@njit(nogil=True, cache=True, forceinline=True)
def neighbours(words, i, reach):
    """Where the window around i starts and ends: at most `reach` words to each side, without crossing a border."""
    low = i
    while low > 0 and i - low < reach and words[low - 1] != BORDER:
        low -= 1
    high = i + 1
    while high < len(words) and high - i <= reach and words[high] != BORDER:
        high += 1
    return low, high


@njit(nogil=True, cache=True)
def skipgram(words, offset, inputs, contexts, width, targets, window, rate_from, rate_to, seed):
    """Each neighbour's vector learns to match the centre's row and not those of other words: loss in nats, and pairs."""
    scratch, slots = new_scratch(targets), slots_of(targets)
    seed = np.uint64(seed) ^ ANOTHER
    pairs, size = 0, len(words)
    groups, ahead = np.int64(0), np.int64(0)
    for i in range(-1, size):
        groups = ahead
        if i + 1 < size and words[i + 1] != BORDER:
            ahead = choose_rows(targets, np.int64(words[i + 1]), stream(seed, offset + i + 1), contexts, width, scratch, (i + 1 & 1) * slots)
        if i + 1 + window < size and words[i + 1 + window] != BORDER:
            prefetch_row(inputs, np.int64(words[i + 1 + window]) * width, width)
        if i < 0 or words[i] == BORDER:
            continue
        low, high = neighbours(words, i, 1 + below(stream(seed, offset + i), window))
        rate = np.float32(rate_from + (rate_to - rate_from) * (i / size))
        waiting = np.int64(-1)
        for j in range(low, high):
            if j != i:
                at = np.int64(words[j]) * width
                if waiting < 0:
                    waiting = at
                else:
                    learn_two(inputs, waiting, at, contexts, width, scratch, (i & 1) * slots, groups, rate, False)
                    waiting = np.int64(-1)
        if waiting >= 0:
            learn(inputs, waiting, contexts, width, scratch, (i & 1) * slots, groups, rate)
        pairs += high - low - 1
    return nats(scratch.likelihood), pairs


@njit(nogil=True, cache=True)
def cbow(words, offset, inputs, contexts, width, targets, window, rate_from, rate_to, seed, starts, subwords):
    """The mean of the neighbours' vectors learns to match the centre's row: loss in nats, and centres. `subwords` are the rows that make up a
    word's vector, from `starts` of it on: its own and those of its n-grams. With negatives, two centres far apart learn at once and share them."""
    scratch, slots = new_scratch(targets), slots_of(targets)
    seed = np.uint64(seed) ^ ANOTHER
    centres = interleave_halves(centres_with_neighbours(words))
    mean, change = np.zeros(2 * width, np.float32), np.zeros(2 * width, np.float32)
    sources = np.empty(4 * window * np.max(starts[1:] - starts[:-1]), np.int64)
    groups, ahead = np.int64(0), np.int64(0)
    step, size = 2 if targets.negatives else 1, len(centres)
    for p in range(-step, size, step):
        groups = ahead
        if p + step < size:
            i = centres[p + step]
            bits, half = stream(seed, offset + i), (p // step + 1 & 1) * slots
            other = np.int64(words[centres[p + step + 1]]) if p + step + 1 < size else np.int64(-1)
            ahead = choose_rows_for(targets, step, np.int64(words[i]), other, bits, contexts, width, scratch, half)
            for q in range(p + step, min(p + 2 * step, size)):
                j = min(centres[q] + window, len(words) - 1)
                if words[j] != BORDER:
                    for subword in range(starts[words[j]], starts[words[j] + 1]):
                        prefetch_row(inputs, np.int64(subwords[subword]) * width, width)
        if p < 0:
            continue
        middle = end = neighbours_parts(words, centres[p], offset, window, seed, starts, subwords, width, sources, 0)
        mean_of(inputs, sources, 0, middle, width, mean, change, 0)
        rate = np.float32(rate_from + (rate_to - rate_from) * (p / size))
        if p + 1 < min(p + step, size):
            end = neighbours_parts(words, centres[p + 1], offset, window, seed, starts, subwords, width, sources, middle)
            mean_of(inputs, sources, middle, end, width, mean, change, width)
        learn_one_or_two(change, step, width, contexts, width, scratch, (p // step & 1) * slots, groups, rate)
        distribute_change(inputs, sources, 0, middle, width, mean, change, 0)
        distribute_change(inputs, sources, middle, end, width, mean, change, width)
    return nats(scratch.likelihood), size


@njit(nogil=True, cache=True)
def centres_with_neighbours(words):
    """Positions of the words that are not alone in their sentence."""
    result = np.empty(len(words), np.int64)
    filled = 0
    for i in range(len(words)):
        alone = (i == 0 or words[i - 1] == BORDER) and (i + 1 == len(words) or words[i + 1] == BORDER)
        result[filled] = i
        filled += words[i] != BORDER and not alone
    return result[:filled]


@njit(nogil=True, cache=True)
def interleave_halves(positions):
    """Alternately from the first and the second half, so that two in a row have hardly a neighbour in common."""
    result = np.empty_like(positions)
    half = len(positions) - len(positions) // 2
    result[::2], result[1::2] = positions[:half], positions[half:]
    return result


@njit(nogil=True, cache=True, forceinline=True)
def neighbours_parts(words, i, offset, window, seed, starts, subwords, width, sources, filled):
    """List where the subword rows of the centre's neighbours start, from `filled` on; return where the list ends."""
    low, high = neighbours(words, i, 1 + below(stream(seed, offset + i), window))
    for j in range(low, high):
        if j != i:
            for subword in range(starts[words[j]], starts[words[j] + 1]):
                sources[filled] = np.int64(subwords[subword]) * width
                filled += 1
    return filled


@njit(nogil=True, cache=True, forceinline=True)
def mean_of(inputs, sources, start, stop, width, mean, copy, at):
    """The mean of some rows, written twice, from `at` on."""
    share = broadcast(np.float32(1) / np.float32(max(stop - start, 1)))
    for i in range(0, width, LANES):
        total = zeros()
        for j in range(start, stop):
            total += load(inputs, sources[j] + i)
        store(mean, at + i, total * share)
        store(copy, at + i, total * share)


@njit(nogil=True, cache=True, forceinline=True)
def distribute_change(inputs, sources, start, stop, width, mean, change, at):
    """Each row takes the whole change of their mean."""
    for i in range(0, width, LANES):
        step = load(change, at + i) - load(mean, at + i)
        for j in range(start, stop):
            store(inputs, sources[j] + i, load(inputs, sources[j] + i) + step)


@njit(nogil=True, cache=True)
def skipgram_by_parts(words, offset, inputs, contexts, width, targets, window, rate_from, rate_to, seed, starts, subwords):
    """The centre's vector, the mean of its subwords, learns to match the rows of its neighbours, two of which share their negatives: loss in nats,
    and pairs."""
    scratch, slots = new_scratch(targets), slots_of(targets)
    seed = np.uint64(seed) ^ ANOTHER
    pairs, size = 0, len(words)
    mean, change = np.empty(width, np.float32), np.empty(width, np.float32)
    sources = np.empty(np.max(starts[1:] - starts[:-1]), np.int64)
    near = np.empty(2 * window + 2, np.int64)
    groups, ahead = np.int64(0), np.int64(0)
    step = 2 if targets.negatives else 1
    for i in range(size):
        if words[i] == BORDER:
            continue
        if i + 1 < size and words[i + 1] != BORDER:
            for subword in range(starts[words[i + 1]], starts[words[i + 1] + 1]):
                prefetch_row(inputs, np.int64(subwords[subword]) * width, width)
        bits = stream(seed, offset + i)
        low, high = neighbours(words, i, 1 + below(bits, window))
        count = high - low - 1
        for j in range(count):
            near[j] = words[low + j + (low + j >= i)]
        near[count] = -1
        end = starts[words[i] + 1] - starts[words[i]]
        for subword in range(end):
            sources[subword] = np.int64(subwords[starts[words[i]] + subword]) * width
        mean_of(inputs, sources, 0, end, width, mean, change, 0)
        rate = np.float32(rate_from + (rate_to - rate_from) * (i / size))
        for p in range(-step, count, step):
            groups = ahead
            if p + step < count:
                bits, half = scramble(bits), (p // step + 1 & 1) * slots
                ahead = choose_rows_for(targets, step, near[p + step], near[p + step + 1], bits, contexts, width, scratch, half)
            if p >= 0:
                learn_one_or_two(change, step, 0, contexts, width, scratch, (p // step & 1) * slots, groups, rate)
        distribute_change(inputs, sources, 0, end, width, mean, change, 0)
        pairs += count
    return nats(scratch.likelihood), pairs


@njit(nogil=True, cache=True)
def compose_words(inputs, starts, subwords, result):
    """The mean of each word's subwords."""
    for word in range(len(result)):
        result[word] = 0
        for subword in range(starts[word], starts[word + 1]):
            result[word] += inputs[subwords[subword], : result.shape[1]]
        result[word] /= starts[word + 1] - starts[word]


def sweep(kernel, ids, edges, limits, rates, seed, threads, *arguments) -> np.ndarray:
    """Sweep over the parts of a text between `edges`, by several threads: loss in nats, pairs and words read of each part, (parts, 3).

    The rate falls linearly from the first edge to the last, and depends on the position alone.
    """
    slope = (rates[1] - rates[0]) / max(edges[-1] - edges[0], 1)
    seed = np.uint64(seed)

    def work(index: int) -> tuple[float, int, int]:
        low, high = int(edges[index]), int(edges[index + 1])
        words, read = subsample(ids[low:high], low, limits, seed)
        within = [rates[0] + slope * (edge - edges[0]) for edge in (low, high)]
        return (*kernel(words, low, *arguments[:5], *within, seed, *arguments[5:]), read)

    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(work, range(len(edges) - 1))), np.float64).reshape(-1, 3)


def edges(ids: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Where to cut ids[start:stop] into chunks, between sentences; neighbouring slices agree on the border between them."""
    return np.array([border(ids, at) for at in (*range(start, stop, CHUNK), stop)], np.int64)


def border(ids: np.ndarray, at: int) -> int:
    """The first position from `at` on after the end of a sentence, if one is near."""
    if at == 0:
        return 0
    ends = np.flatnonzero(np.isin(ids[at - 1 : at + LONGEST], (BEGIN, END)))
    return min(at + int(ends[0]), len(ids)) if len(ends) else at
