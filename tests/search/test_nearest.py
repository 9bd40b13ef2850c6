"""Nearest neighbours are exact, whichever way they were found."""

import numpy as np
import pytest

from stairs import machine
from stairs.errors import BadInput
from stairs.search import nearest
from stairs.search.nearest import PATIENCE, NearestNeighbours


@pytest.fixture(params=["bf16", "fp32"], autouse=True)
def product(request, monkeypatch):
    """Batches are multiplied in bfloat16 or in float32, whatever the machine would choose; emulated it is as exact."""
    monkeypatch.setattr(machine, "has_bf16", lambda: request.param == "bf16")


def clustered(rows=3000, width=20, seed=0):
    """Words as they come: many near one another, of all lengths."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(30, width))
    found = centres[random.integers(0, 30, rows)] + random.normal(size=(rows, width)) * 0.4
    return (found * random.uniform(0.01, 100, (rows, 1))).astype(np.float32)


def sorted_by_hand(vectors, queries, top):
    exact, asked = vectors.astype(np.float64), np.asarray(queries, np.float64)
    lengths = np.sqrt((exact**2).sum(1))
    units = exact / np.where(lengths > 0, lengths, 1)[:, None]
    cosines = asked / np.sqrt((asked**2).sum(1, keepdims=True)) @ units.T
    rows = np.argsort(-cosines, 1, kind="stable")[:, :top]
    return rows, np.take_along_axis(cosines, rows, 1)


@pytest.mark.parametrize("top", [1, 10, 200])
def test_one_by_one_and_together_they_are_those_of_a_full_sort(top):
    vectors = clustered()
    queries = np.concatenate([vectors[:60], clustered(60, seed=1)])
    rows, cosines = sorted_by_hand(vectors, queries, top)
    few, many = NearestNeighbours(vectors), NearestNeighbours(vectors)
    single = [few.nearest(query[None], top) for query in queries]  # the first ones without the copy, the others with it
    assert few.copy is not None and many.copy is None
    assert np.array_equal(np.concatenate([found for found, _ in single]), rows)
    together = many.nearest(queries, top)
    assert np.array_equal(together[0], rows)
    assert np.allclose(together[1], cosines, atol=1e-12) and np.array_equal(together[1], np.concatenate([found for _, found in single]))


def test_blocks_change_nothing(monkeypatch):
    vectors = clustered(500)
    at_once = NearestNeighbours(vectors).nearest(vectors[:100], 7)[0]
    monkeypatch.setattr(nearest, "QUERIES", 9)
    monkeypatch.setattr(nearest, "ROWS", 37)
    assert np.array_equal(NearestNeighbours(vectors).nearest(vectors[:100], 7)[0], at_once)


def test_of_hundreds_of_equals_the_first_rows_come_first():
    vectors = np.concatenate([clustered(50), np.tile(clustered(1, seed=5), (400, 1)), np.zeros((3, 20), np.float32)])
    queries = np.repeat(vectors[100:101], PATIENCE + 1, 0)
    rows, cosines = NearestNeighbours(vectors).nearest(queries, 12)
    assert np.array_equal(rows, np.tile(np.arange(50, 62), (len(queries), 1)))
    assert np.allclose(cosines, 1)
    assert np.array_equal(NearestNeighbours(vectors).nearest(queries[:1], 12)[0], rows[:1])


def test_differences_smaller_than_the_rounding_are_kept_in_order():
    random = np.random.default_rng(0)
    direction, aside = np.linalg.qr(random.normal(size=(30, 2)))[0].T
    angles = np.linspace(0, 1e-3, 300)[random.permutation(300)]
    vectors = (np.cos(angles)[:, None] * direction + np.sin(angles)[:, None] * aside).astype(np.float32)
    queries = np.tile(direction, (PATIENCE + 1, 1))
    expected = sorted_by_hand(vectors, queries[:1], 20)[0]
    assert np.array_equal(NearestNeighbours(vectors).nearest(queries, 20)[0], np.tile(expected, (len(queries), 1)))


def test_few_rows_and_rows_of_zeros():
    vectors = np.array([[0, 0], [1, 0], [0, 2]], np.float32)
    rows, cosines = NearestNeighbours(vectors).nearest(np.array([[3.0, 0]]), 10)
    assert rows.tolist() == [[1, 0, 2]] and cosines.tolist() == [[1, 0, 0]]
    assert NearestNeighbours(vectors).nearest(np.zeros((1, 2)), 2)[1].tolist() == [[0, 0]]
    assert NearestNeighbours(vectors).nearest(np.zeros((0, 2)), 2)[0].shape == (0, 2)


def test_another_width_is_refused():
    with pytest.raises(BadInput, match="width 3 and the index 2"):
        NearestNeighbours(np.ones((4, 2), np.float32)).nearest(np.ones((1, 3)), 1)
