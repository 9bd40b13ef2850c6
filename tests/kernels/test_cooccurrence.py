"""Counting who stands near whom, against counting by hand."""

from collections import defaultdict

import numba
import numpy as np
import pytest

from stairs.kernels.cooccurrence import BLOCKS, CELLS, cooccurrences
from stairs.kernels.glove import tournament, words_of

BEGIN, END, UNKNOWN = 2, 3, 1


def by_hand(ids, window):
    found = defaultdict(float)
    for position, word in enumerate(ids):
        for direction in (-1, 1):
            for distance in range(1, window + 1):
                other = position + direction * distance
                if not 0 <= other < len(ids) or ids[other] in (BEGIN, END):
                    break
                if word > 4 and ids[other] > 4:
                    found[int(word), int(ids[other])] += 1 / distance
    return found


def stored_counts(pairs, starts):
    """X as a dict, of the stored pairs."""
    found = {}
    for a in range(BLOCKS):
        for b in range(a + 1):
            cell = a * (a + 1) // 2 + b
            for pair in pairs[starts[cell] : starts[cell + 1]]:
                i, j, log_count = words_of(pair, a, b)
                assert i % BLOCKS == a and j % BLOCKS == b and (i, j) not in found
                found[i, j] = found[j, i] = float(np.exp(log_count))
    return found


def text(size=4000, words=150, seed=0):
    random = np.random.default_rng(seed)
    ids = (5 + words * random.random(size) ** 3).astype(np.uint16)
    ids[random.random(size) < 0.05] = UNKNOWN
    ids[random.random(size) < 0.05] = END
    ids[-1] = BEGIN
    return ids


def test_three_words_by_hand():
    ids = np.array([5, 6, 7, END, 7, BEGIN], np.uint16)
    pairs, starts = cooccurrences(ids, np.bincount(ids, minlength=8), 2, 0)
    assert stored_counts(pairs, starts) == pytest.approx({(5, 6): 1, (6, 5): 1, (6, 7): 1, (7, 6): 1, (5, 7): 0.5, (7, 5): 0.5})


@pytest.mark.parametrize("window", [1, 3, 10])
def test_every_pair_is_counted_as_by_hand(window):
    ids = text()
    pairs, starts = cooccurrences(ids, np.bincount(ids, minlength=155), window, 0)
    assert stored_counts(pairs, starts) == pytest.approx(dict(by_hand(ids, window)), rel=1e-6)
    assert len(starts) == CELLS + 1 and starts[-1] == len(pairs)


def test_a_word_near_itself_is_counted_from_both_sides():
    ids = np.array([9, 9, END], np.uint32)
    pairs, starts = cooccurrences(ids, np.bincount(ids, minlength=10), 5, 0)
    assert stored_counts(pairs, starts) == {(9, 9): pytest.approx(2)}


def test_little_memory_and_any_number_of_threads_give_the_same_bits():
    ids = text(20_000, 700)
    counts = np.bincount(ids, minlength=705)
    before = numba.get_num_threads()
    pairs, starts = cooccurrences(ids, counts, 5, 3)
    try:
        numba.set_num_threads(1)
        again, same = cooccurrences(ids, counts, 5, 3)
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(pairs, again) and np.array_equal(starts, same)
    few, cells = cooccurrences(ids, counts, 5, 3, max_positions=500)
    assert np.array_equal(starts, cells)
    for cell in range(CELLS):  # the same pairs, in the order in which they were found
        assert np.array_equal(np.sort(pairs[starts[cell] : starts[cell + 1]]), np.sort(few[starts[cell] : starts[cell + 1]]))


def test_the_seed_decides_the_order_within_a_cell():
    ids = text(20_000, 700)
    counts = np.bincount(ids, minlength=705)
    first, other = (cooccurrences(ids, counts, 5, seed)[0] for seed in (0, 1))
    assert not np.array_equal(first, other) and np.array_equal(np.sort(first), np.sort(other))


def test_a_text_without_neighbours_has_no_pairs():
    ids = np.array([5, END, 6, END, UNKNOWN, 7, BEGIN], np.uint16)
    pairs, starts = cooccurrences(ids, np.bincount(ids, minlength=8), 5, 0)
    assert len(pairs) == 0 and not starts.any()


def test_the_tournament_has_every_game_once_and_nobody_twice_in_a_round():
    games = [tuple(game) for games in tournament() for game in games.tolist()]
    assert sorted(games) == [(a, b) for a in range(BLOCKS) for b in range(a + 1)]
    for games in tournament()[:-1]:
        assert len(set(games.flatten().tolist())) == BLOCKS
