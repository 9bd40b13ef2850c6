"""Sweeping: borders, subsampling, and the same bits whoever does the work."""

import numpy as np
import pytest

from stairs.kernels.huffman import huffman_paths
from stairs.kernels.sampling import keep_limits
from stairs.kernels.word2vec import BORDER, CHUNK, LONGEST, border, edges, neighbours, subsample


def test_only_words_are_kept_and_sentences_have_borders():
    ids = np.array([5, 0, 6, 1, 4, 3, 7, 2, 8], np.uint16)
    words, read = subsample(ids, 0, np.full(9, 0xFFFFFFFF, np.uint32), np.uint64(1))
    assert words.tolist() == [5, 6, BORDER, 7, BORDER, 8]
    assert read == 5  # the unknown word was read too


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_subsampling_depends_on_the_place_alone(dtype):
    ids = np.random.default_rng(0).integers(5, 8, 3000).astype(dtype)
    limits = keep_limits(np.bincount(ids), 0.05)
    whole, _ = subsample(ids, 0, limits, np.uint64(1))
    halves = [subsample(ids[:1000], 0, limits, np.uint64(1))[0], subsample(ids[1000:], 1000, limits, np.uint64(1))[0]]
    assert np.array_equal(whole, np.concatenate(halves))
    assert len(whole) / 3000 == pytest.approx(limits[5:8].mean() / 2**32, abs=0.05)


def test_a_window_never_crosses_a_border():
    words = np.array([5, 6, BORDER, 7, 8, 9, 10, BORDER], np.int32)
    assert [neighbours(words, i, 2) for i in (0, 1, 3, 5, 6)] == [(0, 2), (0, 2), (3, 6), (3, 7), (4, 7)]
    assert neighbours(words, 5, 1) == (4, 7)


def test_chunks_meet_between_sentences_and_leave_nothing_out():
    random = np.random.default_rng(0)
    ids = random.integers(5, 20, 4 * CHUNK).astype(np.uint16)
    ids[random.integers(0, len(ids), 6000)] = 3
    cut = edges(ids, 0, len(ids))
    assert cut[0] == 0 and cut[-1] == len(ids) and (np.diff(cut) > 0).all()
    assert all(ids[at - 1] == 3 for at in cut[1:-1])
    middle = len(ids) // 2 + 77
    assert edges(ids, 0, middle)[-1] == edges(ids, middle, len(ids))[0]


def test_a_text_without_sentences_is_cut_where_it_must_be():
    ids = np.full(3 * LONGEST, 9, np.uint16)
    assert border(ids, LONGEST) == LONGEST
    assert border(ids, len(ids)) == len(ids)


def test_huffman_by_hand():
    """15 a, 7 b, 6 c, 6 d, 5 e: a is one turn from the root, all others three."""
    counts = np.array([15, 7, 6, 6, 5])
    first, nodes, turns = huffman_paths(counts, np.argsort(counts, kind="stable"))
    lengths = np.diff(first)
    assert lengths.tolist() == [1, 3, 3, 3, 3]
    assert (counts * lengths).sum() == 87
    assert nodes[first[:-1]].tolist() == [3] * 5  # all ways begin at the root
    codes = ["".join(str(int(turn)) for turn in turns[first[i] : first[i + 1]]) for i in range(5)]
    assert len(set(codes)) == 5 and not any(a != b and b.startswith(a) for a in codes for b in codes)


def test_a_tree_of_one_word_has_no_turns():
    first, nodes, _ = huffman_paths(np.array([0, 0, 7]), np.array([2]))
    assert first.tolist() == [0, 0, 0, 0] and len(nodes) == 0
