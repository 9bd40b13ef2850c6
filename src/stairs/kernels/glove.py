"""Weighted least squares on the logarithms of co-occurrence counts, with AdaGrad; `stairs.models.glove` says what it computes.

The pairs come in cells (`cooccurrence.py`): a cell knows the words of two blocks only, so cells without a block in common learn at the
same time and none sees another's numbers half written (Gemulla, Nijkamp, Haas & Sismanis 2011). A round is a set of such cells, and all
cells are played in rounds as the games of a tournament are. So no thread waits for a lock, the same bits come out of any number of
threads, and at a time only the rows of a few blocks are in use, which stay in the caches.
"""

import numpy as np
from numba import njit, prange

from stairs.kernels.cooccurrence import BLOCKS, PLACE_BITS

PLACE = (1 << PLACE_BITS) - 1


def tournament() -> list[np.ndarray]:
    """Rounds of games (block, block): every two blocks meet once, by rotating a circle around one fixed block; in the last each meets itself."""
    circle, half, rounds = np.arange(1, BLOCKS), BLOCKS // 2, []
    for turn in range(BLOCKS - 1):
        around = np.concatenate([[0], np.roll(circle, turn)])
        games = np.stack([around[:half], around[half:][::-1]], 1)
        rounds.append(np.sort(games, 1)[:, ::-1].copy())  # the higher block first, as cells are numbered
    return [*rounds, np.stack([np.arange(BLOCKS)] * 2, 1)]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def error_of(word, context, log_count, vectors, contexts, biases, context_biases):
    """w·c + b + b' - ln X"""
    error = biases[word] + context_biases[context] - log_count
    for k in range(vectors.shape[1]):
        error += vectors[word, k] * contexts[context, k]
    return error


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def learn_pair(
    word, context, log_count, weight, rate, vectors, contexts, biases, context_biases, squares, context_squares, bias_squares, context_bias_squares
):
    """One update; returns the loss before it. The rate of each number is `rate` over the root of 1 + the squares of its updates so far."""
    error = error_of(word, context, log_count, vectors, contexts, biases, context_biases)
    step = rate * weight * error
    for k in range(vectors.shape[1]):
        for_vector = step * contexts[context, k]
        for_context = step * vectors[word, k]
        vectors[word, k] -= for_vector / np.sqrt(squares[word, k])
        contexts[context, k] -= for_context / np.sqrt(context_squares[context, k])
        squares[word, k] += for_vector * for_vector
        context_squares[context, k] += for_context * for_context
    biases[word] -= step / np.sqrt(bias_squares[word])
    context_biases[context] -= step / np.sqrt(context_bias_squares[context])
    bias_squares[word] += step * step
    context_bias_squares[context] += step * step
    return np.float32(0.5) * weight * error * error


@njit(nogil=True, cache=True)
def words_of(pair, first, second):
    """Both words and ln X of a stored pair, of which one word is in block `first` and the other in block `second`."""
    word = np.int64(pair >> np.uint64(32 + PLACE_BITS)) * BLOCKS + first
    other = np.int64((pair >> np.uint64(32)) & np.uint64(PLACE)) * BLOCKS + second
    return word, other, np.uint32(pair & np.uint64(0xFFFFFFFF)).view(np.float32)


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def weight_of(log_count, log_x_max, power):
    """f(X) = (X / x_max)^power, and 1 above `x_max`."""
    return np.float32(1) if log_count >= log_x_max else np.exp(power * (log_count - log_x_max))


@njit(nogil=True, cache=True, parallel=True, fastmath=True, error_model="numpy")
def learn_round(
    pairs, games, starts, stops, log_x_max, power, rate,
    vectors, contexts, biases, context_biases, squares, context_squares, bias_squares, context_bias_squares,
):  # fmt: skip
    """Learn pairs starts[g] to stops[g] of each game g of a round, either word of a pair once as the centre. Returns losses and numbers of steps."""
    losses = np.zeros(len(games), np.float64)
    steps = np.zeros(len(games), np.int64)
    for game in prange(len(games)):
        loss = 0.0
        for at in range(starts[game], stops[game]):
            a, b, log_count = words_of(pairs[at], games[game, 0], games[game, 1])
            weight = weight_of(log_count, log_x_max, power)
            loss += learn_pair(
                a, b, log_count, weight, rate,
                vectors, contexts, biases, context_biases, squares, context_squares, bias_squares, context_bias_squares,
            )  # fmt: skip
            steps[game] += 1
            if a != b:
                loss += learn_pair(
                    b, a, log_count, weight, rate,
                    vectors, contexts, biases, context_biases, squares, context_squares, bias_squares, context_bias_squares,
                )  # fmt: skip
                steps[game] += 1
        losses[game] = loss
    return losses, steps


@njit(nogil=True, cache=True, parallel=True, fastmath=True, error_model="numpy")
def evaluate_cells(pairs, starts, bound, log_scale, log_x_max, power, vectors, contexts, biases, context_biases):
    """The loss and the number of pairs of each cell, of pairs whose ln X is at least `bound`, with `log_scale` added to every ln X."""
    losses = np.zeros(len(starts) - 1, np.float64)
    steps = np.zeros(len(starts) - 1, np.int64)
    for cell in prange(len(starts) - 1):
        first = np.int64((np.sqrt(8.0 * cell + 1) - 1) / 2)
        second = cell - first * (first + 1) // 2
        for at in range(starts[cell], starts[cell + 1]):
            a, b, log_count = words_of(pairs[at], first, second)
            if log_count >= bound:
                weight = np.float32(0.5) * weight_of(log_count + log_scale, log_x_max, power)
                losses[cell] += weight * error_of(a, b, log_count + log_scale, vectors, contexts, biases, context_biases) ** 2
                steps[cell] += 1
                if a != b:
                    losses[cell] += weight * error_of(b, a, log_count + log_scale, vectors, contexts, biases, context_biases) ** 2
                    steps[cell] += 1
    return losses, steps
