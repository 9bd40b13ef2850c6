"""Depths and distances in dependency trees, against a plain recursion and a search in all directions."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text.trees import NO_DEPTH, NO_DISTANCE, find_fault, pad_positions, token_positions, word_positions


@st.composite
def trees(draw):
    """The heads of any tree: words are hung on earlier ones in any order of the sentence."""
    order = draw(st.permutations(range(draw(st.integers(1, 12)))))
    heads = [0] * len(order)
    for number, word in enumerate(order[1:], 1):
        heads[word] = order[draw(st.integers(0, number - 1))] + 1
    return heads


def depth(heads, word):
    return 0 if heads[word] == 0 else 1 + depth(heads, heads[word] - 1)


def distance(heads, start, goal):
    """By a search along the edges, up and down alike."""
    queue, reached = deque([(start, 0)]), {start}
    while queue:
        word, edges = queue.popleft()
        if word == goal:
            return edges
        for other in range(len(heads)):
            if other not in reached and (heads[other] == word + 1 or heads[word] == other + 1):
                reached.add(other)
                queue.append((other, edges + 1))
    raise AssertionError("not a tree")


@settings(deadline=None)
@given(trees())
def test_depths_and_distances_are_those_of_the_edges(heads):
    found = word_positions(heads)
    assert find_fault(heads) is None
    assert found.depths.tolist() == [depth(heads, word) for word in range(len(heads))]
    for i in range(len(heads)):
        for j in range(len(heads)):
            assert found.distances[i, j] == distance(heads, i, j) * (1 if i <= j else -1)


@settings(deadline=None)
@given(trees(), st.data())
def test_a_window_has_the_distances_of_the_whole_tree(heads, data):
    start = data.draw(st.integers(0, len(heads) - 1))
    stop = data.draw(st.integers(start + 1, len(heads)))
    whole, window = word_positions(heads), word_positions(heads, start, stop)
    assert (window.distances == whole.distances[start:stop, start:stop]).all() and (window.depths == whole.depths[start:stop]).all()


def test_a_small_sentence_by_hand():
    """the < cat < sat > on > mat: 'the' is four edges from 'mat', by way of cat, sat and on."""
    found = word_positions([2, 3, 0, 3, 4])
    assert found.depths.tolist() == [2, 1, 0, 1, 2]
    assert found.distances.tolist() == [[0, 1, 2, 3, 4], [-1, 0, 1, 2, 3], [-2, -1, 0, 1, 2], [-3, -2, -1, 0, 1], [-4, -3, -2, -1, 0]]


def test_siblings_are_two_apart_and_a_long_chain_is_as_long_as_it_is():
    assert word_positions([0, 1, 1]).distances.tolist() == [[0, 1, 1], [-1, 0, 2], [-1, -2, 0]]
    chain = word_positions(list(range(500)))
    assert chain.depths.tolist() == list(range(500)) and chain.distances[0, 499] == 499


def test_pieces_share_the_place_of_their_word_and_special_tokens_have_none():
    found = token_positions([2, 0, 2], [1, 2, 1], 0, 3)
    assert found.depths.tolist() == [NO_DEPTH, 1, 0, 0, 1, NO_DEPTH]
    assert (found.distances[[0, 5]] == NO_DISTANCE).all() and (found.distances[:, [0, 5]] == NO_DISTANCE).all()
    assert found.distances[1:5, 1:5].tolist() == [[0, 1, 1, 2], [-1, 0, 0, 1], [-1, 0, 0, 1], [-2, -1, -1, 0]]
    padded = pad_positions([found, token_positions([0], [1], 0, 1)], 7)
    assert (padded.distances[0, :6, :6] == found.distances).all() and (padded.distances[:, 6] == NO_DISTANCE).all()
    assert padded.depths[1].tolist() == [NO_DEPTH, 0, *[NO_DEPTH] * 5] and padded.distances.dtype == np.int64


@pytest.mark.parametrize(
    ("heads", "word", "sentence"),
    [
        ([2, 4, 0], 1, "the head 4 is no word of the sentence, which ends with 3"),
        ([2, 3, 1], 0, "no word of the sentence has the head 0"),
        ([0, 1, 0], 2, "word 3 has the head 0, and so has word 1"),
        ([0, 3, 4, 2], 1, "the heads go round in a circle, 2 > 3 > 4 > 2"),
        ([3, 0, 3], 2, "the heads go round in a circle, 3 > 3"),
        ([0, 1, 5, 5, 4], 4, "the heads go round in a circle, 5 > 4 > 5"),
    ],
)
def test_what_is_no_tree(heads, word, sentence):
    fault = find_fault(heads)
    assert fault is not None and fault.word == word and sentence in fault.sentence


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_heads_without_a_fault_lead_to_the_root(heads):
    def leads_to_root(word, steps=0):
        return heads[word] == 0 or (steps < len(heads) and leads_to_root(heads[word] - 1, steps + 1))

    is_tree = max(heads) <= len(heads) and heads.count(0) == 1 and all(leads_to_root(word) for word in range(len(heads)))
    assert (find_fault(heads) is None) == is_tree
