"""The sweeps of word2vec over a text: skip-gram and CBOW, with negative sampling or hierarchical softmax, with or without character n-grams.

`stairs.models.word2vec` has the equations, in PyTorch, and `kernels/word2vec_update.py` the step they are made of. What makes it fast: the
words around a centre are all compared with the same rows, the centre and one draw of negatives, which stay in the nearest cache; memory is asked
for rows one centre ahead; a draw costs one look into an alias table; threads share the matrices and do not wait for one another (Hogwild, Niu et
al. 2011).

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
CHUNK = 1 << 15  # ids that a thread takes at a time
LONGEST = 1 << 10  # how far the end of a chunk is moved to reach the end of a sentence
ANOTHER = np.uint64(0xD1342543DE82EF95)  # makes a second stream of random numbers of a seed


@njit(nogil=True, cache=True)
def subsample(ids, place, limits, seed):
    """The words that subsampling keeps, with BORDER where a sentence ends, and the number of words read. `place` is that of ids[0] in the text."""
    words = np.empty(len(ids), np.int32)
    filled = read = 0
    for i in range(len(ids)):
        word = np.int64(ids[i])
        ends = (word == BEGIN) | (word == END)
        lucky = (stream(seed, place + i) & LOWER) <= np.uint64(limits[word])
        words[filled] = BORDER if ends else word
        filled += ends | (lucky & (word >= SPECIAL))  # by arithmetic, since a processor can not guess it
        read += (word >= SPECIAL) | (word == UNKNOWN)
    return words[:filled], read


@njit(nogil=True, cache=True, forceinline=True)
def neighbours(words, i, reach):
    """Where the window around i begins and ends: at most `reach` words to each side, and no border within."""
    low = i
    while low > 0 and i - low < reach and words[low - 1] != BORDER:
        low -= 1
    high = i + 1
    while high < len(words) and high - i <= reach and words[high] != BORDER:
        high += 1
    return low, high


@njit(nogil=True, cache=True)
def skipgram(words, place, inputs, contexts, width, outputs, window, rate_from, rate_to, seed):
    """Each neighbour's vector learns to match the centre's row and not those of other words: loss in nats, and pairs."""
    lists, slots = new_scratch(outputs), slots_of(outputs)
    seed = np.uint64(seed) ^ ANOTHER
    pairs, size = 0, len(words)
    groups, ahead = np.int64(0), np.int64(0)
    for i in range(-1, size):
        groups = ahead
        if i + 1 < size and words[i + 1] != BORDER:
            ahead = choose_rows(outputs, np.int64(words[i + 1]), stream(seed, place + i + 1), contexts, width, lists, (i + 1 & 1) * slots)
        if i + 1 + window < size and words[i + 1 + window] != BORDER:
            prefetch_row(inputs, np.int64(words[i + 1 + window]) * width, width)
        if i < 0 or words[i] == BORDER:
            continue
        low, high = neighbours(words, i, 1 + below(stream(seed, place + i), window))
        rate = np.float32(rate_from + (rate_to - rate_from) * (i / size))
        waiting = np.int64(-1)
        for j in range(low, high):
            if j != i:
                at = np.int64(words[j]) * width
                if waiting < 0:
                    waiting = at
                else:
                    learn_two(inputs, waiting, at, contexts, width, lists, (i & 1) * slots, groups, rate, False)
                    waiting = np.int64(-1)
        if waiting >= 0:
            learn(inputs, waiting, contexts, width, lists, (i & 1) * slots, groups, rate)
        pairs += high - low - 1
    return nats(lists.likelihood), pairs


@njit(nogil=True, cache=True)
def cbow(words, place, inputs, contexts, width, outputs, window, rate_from, rate_to, seed, first, parts):
    """The mean of the neighbours' vectors learns to match the centre's row: loss in nats, and centres. `logit_chunks` are the rows that make up a
    word's vector, from `first` of it on: its own and those of its n-grams. With negatives, two centres that stand far apart learn at once and share
    them."""
    lists, slots = new_scratch(outputs), slots_of(outputs)
    seed = np.uint64(seed) ^ ANOTHER
    centres = interleave_halves(centres_with_neighbours(words))
    mean, moved = np.zeros(2 * width, np.float32), np.zeros(2 * width, np.float32)
    sources = np.empty(4 * window * np.max(first[1:] - first[:-1]), np.int64)
    groups, ahead = np.int64(0), np.int64(0)
    step, size = 2 if outputs.negatives else 1, len(centres)
    for p in range(-step, size, step):
        groups = ahead
        if p + step < size:
            i = centres[p + step]
            bits, half = stream(seed, place + i), (p // step + 1 & 1) * slots
            other = np.int64(words[centres[p + step + 1]]) if p + step + 1 < size else np.int64(-1)
            ahead = choose_rows_for(outputs, step, np.int64(words[i]), other, bits, contexts, width, lists, half)
            for q in range(p + step, min(p + 2 * step, size)):
                j = min(centres[q] + window, len(words) - 1)
                if words[j] != BORDER:
                    for part in range(first[words[j]], first[words[j] + 1]):
                        prefetch_row(inputs, np.int64(parts[part]) * width, width)
        if p < 0:
            continue
        middle = end = neighbours_parts(words, centres[p], place, window, seed, first, parts, width, sources, 0)
        mean_of(inputs, sources, 0, middle, width, mean, moved, 0)
        rate = np.float32(rate_from + (rate_to - rate_from) * (p / size))
        if p + 1 < min(p + step, size):
            end = neighbours_parts(words, centres[p + 1], place, window, seed, first, parts, width, sources, middle)
            mean_of(inputs, sources, middle, end, width, mean, moved, width)
        learn_one_or_two(moved, step, width, contexts, width, lists, (p // step & 1) * slots, groups, rate)
        distribute_change(inputs, sources, 0, middle, width, mean, moved, 0)
        distribute_change(inputs, sources, middle, end, width, mean, moved, width)
    return nats(lists.likelihood), size


@njit(nogil=True, cache=True)
def centres_with_neighbours(words):
    """Where the words stand that are not alone in their sentence."""
    found = np.empty(len(words), np.int64)
    filled = 0
    for i in range(len(words)):
        alone = (i == 0 or words[i - 1] == BORDER) and (i + 1 == len(words) or words[i + 1] == BORDER)
        found[filled] = i
        filled += words[i] != BORDER and not alone
    return found[:filled]


@njit(nogil=True, cache=True)
def interleave_halves(places):
    """Every other one from the second half, so that two which follow one another have hardly a neighbour in common."""
    found = np.empty_like(places)
    half = len(places) - len(places) // 2
    found[::2], found[1::2] = places[:half], places[half:]
    return found


@njit(nogil=True, cache=True, forceinline=True)
def neighbours_parts(words, i, place, window, seed, first, parts, width, sources, filled):
    """Write down where the parts of the centre's neighbours begin, from `static_response` on: where they end."""
    low, high = neighbours(words, i, 1 + below(stream(seed, place + i), window))
    for j in range(low, high):
        if j != i:
            for part in range(first[words[j]], first[words[j] + 1]):
                sources[filled] = np.int64(parts[part]) * width
                filled += 1
    return filled


@njit(nogil=True, cache=True, forceinline=True)
def mean_of(inputs, sources, start, stop, width, mean, copy, at):
    """The mean of some rows, written twice, from place `at` on."""
    share = broadcast(np.float32(1) / np.float32(max(stop - start, 1)))
    for i in range(0, width, LANES):
        total = zeros()
        for j in range(start, stop):
            total += load(inputs, sources[j] + i)
        store(mean, at + i, total * share)
        store(copy, at + i, total * share)


@njit(nogil=True, cache=True, forceinline=True)
def distribute_change(inputs, sources, start, stop, width, mean, moved, at):
    """Each of the rows takes the whole change of their mean."""
    for i in range(0, width, LANES):
        step = load(moved, at + i) - load(mean, at + i)
        for j in range(start, stop):
            store(inputs, sources[j] + i, load(inputs, sources[j] + i) + step)


@njit(nogil=True, cache=True)
def skipgram_by_parts(words, place, inputs, contexts, width, outputs, window, rate_from, rate_to, seed, first, parts):
    """The centre's vector, made up of its parts, learns to match the rows of its neighbours, two of which share their negatives: loss in nats, and
    pairs."""
    lists, slots = new_scratch(outputs), slots_of(outputs)
    seed = np.uint64(seed) ^ ANOTHER
    pairs, size = 0, len(words)
    mean, moved = np.empty(width, np.float32), np.empty(width, np.float32)
    sources = np.empty(np.max(first[1:] - first[:-1]), np.int64)
    near = np.empty(2 * window + 2, np.int64)
    groups, ahead = np.int64(0), np.int64(0)
    step = 2 if outputs.negatives else 1
    for i in range(size):
        if words[i] == BORDER:
            continue
        if i + 1 < size and words[i + 1] != BORDER:
            for part in range(first[words[i + 1]], first[words[i + 1] + 1]):
                prefetch_row(inputs, np.int64(parts[part]) * width, width)
        bits = stream(seed, place + i)
        low, high = neighbours(words, i, 1 + below(bits, window))
        count = high - low - 1
        for j in range(count):
            near[j] = words[low + j + (low + j >= i)]
        near[count] = -1
        end = first[words[i] + 1] - first[words[i]]
        for part in range(end):
            sources[part] = np.int64(parts[first[words[i]] + part]) * width
        mean_of(inputs, sources, 0, end, width, mean, moved, 0)
        rate = np.float32(rate_from + (rate_to - rate_from) * (i / size))
        for p in range(-step, count, step):
            groups = ahead
            if p + step < count:
                bits, half = scramble(bits), (p // step + 1 & 1) * slots
                ahead = choose_rows_for(outputs, step, near[p + step], near[p + step + 1], bits, contexts, width, lists, half)
            if p >= 0:
                learn_one_or_two(moved, step, 0, contexts, width, lists, (p // step & 1) * slots, groups, rate)
        distribute_change(inputs, sources, 0, end, width, mean, moved, 0)
        pairs += count
    return nats(lists.likelihood), pairs


@njit(nogil=True, cache=True)
def compose_words(inputs, first, parts, found):
    """The mean of each word's parts."""
    for word in range(len(found)):
        found[word] = 0
        for part in range(first[word], first[word + 1]):
            found[word] += inputs[parts[part], : found.shape[1]]
        found[word] /= first[word + 1] - first[word]


def sweep(kernel, ids, edges, limits, rates, seed, threads, *arguments) -> np.ndarray:
    """Let `cpu_threads` threads take the parts of a text between `edges` in turn: loss in nats, pairs and words read of each, (parts, 3).

    The rate falls along a straight line from the first edge to the last, and follows from the place alone.
    """
    slope = (rates[1] - rates[0]) / max(edges[-1] - edges[0], 1)
    seed = np.uint64(seed)

    def work(part: int) -> tuple[float, int, int]:
        low, high = int(edges[part]), int(edges[part + 1])
        words, read = subsample(ids[low:high], low, limits, seed)
        within = [rates[0] + slope * (edge - edges[0]) for edge in (low, high)]
        return (*kernel(words, low, *arguments[:5], *within, seed, *arguments[5:]), read)

    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(work, range(len(edges) - 1))), np.float64).reshape(-1, 3)


def edges(ids: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Where to cut ids[start:stop] into chunks, between sentences; neighbouring stretches agree on the place between them."""
    return np.array([border(ids, at) for at in (*range(start, stop, CHUNK), stop)], np.int64)


def border(ids: np.ndarray, at: int) -> int:
    """The first place from `at` on that follows the end of a sentence, if one is near."""
    if at == 0:
        return 0
    ends = np.flatnonzero(np.isin(ids[at - 1 : at + LONGEST], (BEGIN, END)))
    return min(at + int(ends[0]), len(ids)) if len(ends) else at
