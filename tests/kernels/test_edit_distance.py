"""Distances of spelling, beside a plain recursion."""

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.kernels.edit_distance import FAR, edit_distances

WORD = st.text("abc国", max_size=6)


def by_hand(a, b):
    @functools.cache
    def distance(i, j):
        if not i or not j:
            return i + j
        least = min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            least = min(least, distance(i - 2, j - 2) + 1)
        return least

    return distance(len(a), len(b))


def points(text):
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@settings(deadline=None)  # the first call compiles
@given(st.lists(WORD, min_size=1, max_size=8), WORD, st.integers(1, 7))
def test_each_is_the_recursion_of_the_definition(words, word, limit):
    starts = np.concatenate([[0], np.cumsum([len(known) for known in words])])
    found = edit_distances(points("".join(words)), starts, points(word), limit).tolist()
    assert found == [far if (far := by_hand(known, word)) <= limit else FAR for known in words]
