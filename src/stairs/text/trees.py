"""Positions in a dependency tree: how deep a word stands, and how far it is from another.

Wang et al. 2019, "Self-Attention with Structural Position Representations":

    depth(i)       = edges from word i up to the root                                          its absolute structural position
    distance(i, j) = edges between words i and j: depth(i) + depth(j) - 2 depth(a),            with a their lowest common ancestor
    position(i, j) = distance(i, j) if i comes before j, -distance(i, j) if it comes after     its relative structural position

A tree is given by the head of each word, as in CoNLL-U: words are numbered from 1, and the head of the root is 0.

Departures: the paper counts the edges by way of the root where neither word is above the other, depth(i) + depth(j), which is the distance only if
the root is their lowest common ancestor, and signs the positions of words above one another by the difference of their depths; ours are the distance
in the tree and the order in the sentence throughout. The pieces of a word share its place in the tree, and [CLS] and [SEP] have none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

NO_DISTANCE = np.iinfo(np.int16).max  # from or to a token that is no word
NO_DEPTH = -1  # of such a token


class TreeFault(NamedTuple):
    """What keeps heads from being a tree."""

    word: int  # the index of the word to blame
    sentence: str  # what is wrong and what to do


class TreePositions(NamedTuple):
    """Where the tokens of a row stand in the tree of their sentence."""

    distances: np.ndarray  # (T, T) signed, NO_DISTANCE where one of the two is no word
    depths: np.ndarray  # (T,) NO_DEPTH for what is no word


def find_fault(heads: Sequence[int]) -> TreeFault | None:
    """The first reason why these heads are no tree, if there is one. One root, heads within the sentence and no cycle make a tree."""
    for word, head in enumerate(heads):
        if not 0 <= head <= len(heads):
            what = f"the head {head} is no word of the sentence, which ends with {len(heads)}"
            return TreeFault(word, f"{what}; give the number of a word, or 0 for the root")
    roots = [word for word, head in enumerate(heads) if head == 0]
    if not roots:
        return TreeFault(0, "no word of the sentence has the head 0; give it to the root")
    if len(roots) > 1:
        return TreeFault(roots[1], f"word {roots[1] + 1} has the head 0, and so has word {roots[0] + 1}; a tree has one root: correct one of them")
    reached = [head == 0 for head in heads]  # whether a word is known to lead to the root
    for word in range(len(heads)):
        path, seen = [word], {word}
        while not reached[path[-1]]:
            above = heads[path[-1]] - 1
            if above in seen:
                cycle = " > ".join(str(own + 1) for own in (*path[path.index(above) :], above))
                return TreeFault(above, f"the heads go round in a circle, {cycle}; a tree has no cycle: correct one of them")
            path.append(above)
            seen.add(above)
        for own in path:
            reached[own] = True
    return None


def ancestors(heads: Sequence[int], start: int = 0, stop: int | None = None) -> np.ndarray:
    """Of each word from `start` to `stop` the path to the root: (words, N), 1 for every word on it, itself and the root included."""
    words = np.arange(len(heads))[start:stop]
    rows, on_path, above = np.arange(len(words)), np.zeros((len(words), len(heads)), np.float32), np.asarray(heads) - 1
    while len(words):
        on_path[rows, words] = 1
        words = above[words]
        rows, words = rows[words >= 0], words[words >= 0]
    return on_path


def word_positions(heads: Sequence[int], start: int = 0, stop: int | None = None) -> TreePositions:
    """The signed distances of the words of a tree from one another and their depths, 0 for the root; of those from `start` to `stop`."""
    on_path = ancestors(heads, start, stop)
    shared = (on_path @ on_path.T).astype(np.int64)  # words on both paths: from the root down to the lowest common ancestor
    depths = shared.diagonal() - 1
    order = np.sign(np.arange(len(depths)) - np.arange(len(depths))[:, None])
    return TreePositions(order * (depths[:, None] + depths - 2 * (shared - 1)), depths)


def token_positions(heads: Sequence[int], pieces: Sequence[int], start: int, stop: int) -> TreePositions:
    """Of a row with the words from `start` to `stop` between [CLS] and [SEP]; `pieces` says how many tokens each of these words has."""
    words, nodes = word_positions(heads, start, stop), np.repeat(np.arange(stop - start), pieces)
    size, inside = len(nodes) + 2, slice(1, len(nodes) + 1)
    distances, depths = np.full((size, size), NO_DISTANCE, np.int16), np.full(size, NO_DEPTH, np.int16)
    distances[inside, inside] = words.distances[nodes[:, None], nodes]
    depths[inside] = words.depths[nodes]
    return TreePositions(distances, depths)


def pad_positions(rows: Sequence[TreePositions], length: int) -> TreePositions:
    """Rows of different lengths as (B, T, T) and (B, T)."""
    distances = np.full((len(rows), length, length), NO_DISTANCE, np.int64)
    depths = np.full((len(rows), length), NO_DEPTH, np.int64)
    for number, row in enumerate(rows):
        size = len(row.depths)
        distances[number, :size, :size], depths[number, :size] = row
    return TreePositions(distances, depths)
