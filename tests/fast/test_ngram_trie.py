"""A few words are looked up in the trie of n-grams by a plain loop, to the same bits as by the compiled one."""

import numpy as np
import pytest

from stairs.fast.kneser_ney_trie import estimate
from stairs.kernels import trie as kernel

IGNORE = -100


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_plain_loop_gives_the_bits_of_the_compiled_one(order):
    random = np.random.default_rng(order)
    stream = np.minimum(random.geometric(0.2, 3000) + 4, 29)
    stream[::7] = 3
    found = estimate(stream.astype(np.uint32), order=order, vocab_size=30, begin=2, end=3, unknown=1, impossible_ids=(0, 2, 4), closed=True)
    ids, targets = random.integers(1, 30, (6, 40)), random.integers(1, 30, (6, 40))
    targets[:, :-1][random.random((6, 39)) < 0.7] = 0
    targets = np.where(targets == 0, np.roll(ids, -1, 1), targets)  # mostly the next id, as in a text
    targets[random.random((6, 40)) < 0.1] = IGNORE
    plain, compiled = ((np.zeros(ids.shape), np.zeros(ids.shape, np.int32)) for _ in range(2))
    found.score_plainly(ids, targets, IGNORE, *plain)
    kernel.score(*found.lookup_arrays, ids, targets, IGNORE, *compiled)
    assert (plain[0] == compiled[0]).all() and (plain[1] == compiled[1]).all()
