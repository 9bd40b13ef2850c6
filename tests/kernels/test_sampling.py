"""Words are drawn as often as their weights ask, and a place in the text always draws the same."""

import numpy as np
import pytest
from numba import njit

from stairs.kernels.sampling import WHOLE, alias_table, below, draw, keep_limits, scramble, stream, uniform_rows


@njit
def draw_shares(table, count, seed):
    counts = np.zeros(len(table), np.int64)
    for i in range(count):
        counts[draw(table, scramble(stream(seed, i)))] += 1
    return counts


@njit
def numbers(limit, count):
    counts = np.zeros(limit, np.int64)
    for i in range(count):
        counts[below(stream(7, i), limit)] += 1
    return counts


@pytest.mark.parametrize("weights", [[1.0], [0.0, 3.0], [1.0, 1.0, 1.0], [0.0, 0.0, 5.0, 1.0, 0.1, 100.0], list(1 / np.arange(1.0, 200.0))])
def test_the_table_holds_the_weights_exactly(weights):
    weights = np.array(weights)
    table = alias_table(weights)
    share = np.zeros(len(weights))
    for word, (limit, other) in enumerate(table):
        own = limit / WHOLE if limit < 0xFFFFFFFF else 1.0
        share[word] += own / len(weights)
        share[other] += (1 - own) / len(weights)
    assert np.allclose(share, weights / weights.sum(), atol=1e-7)
    assert (share[weights == 0] == 0).all()


def test_draws_follow_the_weights():
    weights = np.array([0.0, 8.0, 4.0, 2.0, 1.0, 1.0])
    counts = draw_shares(alias_table(weights), 160_000, 1)
    assert counts[0] == 0
    assert np.allclose(counts / 160_000, weights / 16, atol=0.005)
    assert np.array_equal(counts, draw_shares(alias_table(weights), 160_000, 1))
    assert not np.array_equal(counts, draw_shares(alias_table(weights), 160_000, 2))


def test_numbers_below_a_limit_are_even():
    counts = numbers(5, 100_000)
    assert np.allclose(counts / 100_000, 0.2, atol=0.01)


def test_frequent_words_are_thinned_out_as_word2vec_does_it():
    counts = np.array([0, 900_000, 99_000, 1000])
    kept_share = keep_limits(counts, 1e-3) / WHOLE
    assert kept_share[0] == 0 and kept_share[3] == pytest.approx(1, abs=1e-6)
    assert kept_share[1] == pytest.approx((np.sqrt(0.9 / 1e-3) + 1) * 1e-3 / 0.9, rel=1e-6)
    assert np.allclose(keep_limits(counts, 0.0)[1:] / WHOLE, 1)


def test_first_weights_are_even_and_leave_the_margin_alone():
    matrix, again = np.zeros((400, 32), np.float32), np.zeros((400, 32), np.float32)
    uniform_rows(matrix, 20, np.float32(0.1), np.uint64(5))
    uniform_rows(again, 20, np.float32(0.1), np.uint64(6))
    inside = matrix[:, :20]
    assert (matrix[:, 20:] == 0).all() and not np.array_equal(matrix, again)
    assert np.abs(inside).max() <= 0.1 and abs(inside.mean()) < 0.003
    assert inside.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.02)
