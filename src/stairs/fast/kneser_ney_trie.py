"""Kneser-Ney for large texts: counted, sorted and smoothed by compiled loops, and stored as a trie (`kernels/trie.py`).

It gives the probabilities of the recursion in `models/kneser_ney.py`: tests/models/test_kneser_ney.py.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stairs.fast.ngram_trie import Trie
from stairs.kernels.kneser_ney import interpolate
from stairs.kernels.ngram_counts import THREADS, columns, count, counts_of, group_by_context, sort_within

FALLBACK = (0.0, 0.5, 1.0, 1.5)
NEVER = -99.0  # log10 of the probability of what is never predicted: the begin of a sentence


@dataclass
class Level:
    """The n-grams of one order, sorted by context, then by last word."""

    first: np.ndarray  # those of context c, an index of the level below, are first[c] : first[c + 1]
    words: np.ndarray
    counts: np.ndarray
    suffixes: np.ndarray  # index of the last n-1 words in the level below

    def prune(self, keep: np.ndarray, keep_below: np.ndarray | None) -> "Level":
        """Only the n-grams in `keep`; in the level below only those in `keep_below` stay."""
        first = np.concatenate([[0], np.cumsum(keep)])[self.first]
        suffixes = self.suffixes[keep]
        if keep_below is not None:
            first = np.append(first[:-1][keep_below], first[-1])
            suffixes = (np.cumsum(keep_below) - 1)[suffixes]
        return Level(first.astype(np.int32), self.words[keep], self.counts[keep], suffixes.astype(np.int32))


def estimate(
    ids: np.ndarray,
    *,
    order: int,
    vocab_size: int,
    begin: int,
    end: int,
    unknown: int,
    impossible_ids: Sequence[int] = (),
    closed: bool = False,
    prune: Sequence[int] = (0,),
    advance: Callable[[float], None] = lambda amount: None,
) -> Trie:
    """From a stream of ids, `end` after each sentence, to the trie of its n-grams.

    `impossible_ids` never occur. In a closed vocabulary all others can, seen or not; in an open one the unseen share the probability of the
    unknown word.
    """
    levels = count_levels(ids, order, begin, end, vocab_size, advance)
    keeps = [level.counts > threshold(prune, n) if n > 1 else np.ones(vocab_size, bool) for n, level in enumerate(levels, 1)]
    possible = np.ones(vocab_size, bool)
    possible[[begin, *impossible_ids]] = False
    seen = possible & ((levels[0].counts > 0) | closed)
    seen[unknown] = True
    shorter = np.array([1.0 / seen.sum()])  # the level below the words has one entry, since all are alike
    log10s, gammas, default_discounts = [], [], []
    for n, (level, counts) in enumerate(zip(levels, adjusted_counts(levels, begin), strict=True), 1):
        discount = discounts(counts)
        if discount is None:
            discount = np.array(FALLBACK)
            default_discounts.append(n)
        shorter, log10, gamma = interpolate(level.first, counts, keeps[n - 1], discount, level.suffixes, shorter)
        if n == 1:
            sharing = possible & ~seen
            if sharing.any():
                sharing[unknown] = True
                log10[sharing] = np.log10(shorter[unknown] / sharing.sum())
            log10[~possible] = NEVER
        log10s.append(log10)
        gammas.append(gamma)

    if not all(keep.all() for keep in keeps):
        levels = levels[:1] + [level.prune(keep, below) for level, keep, below in zip(levels[1:], keeps[1:], keeps, strict=False)]
        log10s = [log10[keep] for log10, keep in zip(log10s, keeps, strict=True)]
        gammas = [gammas[0]] + [gamma[keep] for gamma, keep in zip(gammas[1:], keeps, strict=False)]
    return join_levels(levels, log10s, gammas[1:], default_discounts)


def count_levels(ids: np.ndarray, order: int, begin: int, end: int, vocab_size: int, advance: Callable[[float], None]) -> list[Level]:
    """How often the n-grams of all orders occur."""
    single, counters = count(ids, order, begin, end, vocab_size, advance=advance)
    all_words = np.arange(vocab_size, dtype=np.int32)
    levels = [Level(np.array([0, vocab_size], np.int32), all_words, single.astype(np.int32), np.zeros_like(all_words))]
    indices = all_words  # from the counter's number of an n-gram to its index in the sorted level
    for counter in counters:
        first, grams = group_by_context(counter.table, counter.size, indices, len(levels[-1].words), THREADS)
        counts = counts_of(counter.table, counter.size)
        del counter.table  # each is as large as everything made from it
        grams = sort_within(first, grams)
        words, counts, suffixes, indices = columns(grams, counts, counter.suffixes, indices)
        levels.append(Level(first, words, counts, suffixes))
    return levels


def adjusted_counts(levels: list[Level], begin: int) -> list[np.ndarray]:
    """How often the longest n-grams occur; for the others how many different words precede them."""
    adjusted = []
    low, high = begin, begin + 1  # the n-grams that begin a sentence are neighbours, since a level is sorted
    for level, longer in itertools.pairwise(levels):
        counts = np.bincount(longer.suffixes, minlength=len(level.counts)).astype(np.int32)
        counts[low:high] = level.counts[low:high]
        adjusted.append(counts)
        low, high = longer.first[low], longer.first[high]
    return [*adjusted, levels[-1].counts]


def discounts(counts: np.ndarray) -> np.ndarray | None:
    """D(0) to D(3), if the counts allow them."""
    t = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    if not t[1:4].all():
        return None
    y = t[1] / (t[1] + 2 * t[2])
    estimated = np.array([0.0] + [c - (c + 1) * y * t[c + 1] / t[c] for c in (1, 2, 3)])
    return estimated if (estimated >= 0).all() and (estimated <= [0, 1, 2, 3]).all() else None


def threshold(prune: Sequence[int], order: int) -> int:
    """N-grams of this order that occur no more often are pruned; the last threshold holds for all longer ones."""
    return prune[min(order, len(prune)) - 1]


def join_levels(levels: list[Level], log10s: list[np.ndarray], gammas: list[np.ndarray], default_discounts: list[int]) -> Trie:
    """One numbering for all orders."""
    sizes = [len(level.words) for level in levels]
    starts = np.cumsum([0, *sizes])
    with np.errstate(divide="ignore"):
        backoffs = [np.log10(gamma).astype(np.float32) for gamma in gammas]
    suffixes = [level.suffixes + np.int32(start) for level, start in zip(levels[1:], starts, strict=False)]
    first = [level.first[:-1] + np.int32(start) for level, start in zip(levels[1:], starts[1:], strict=False)]
    return Trie(
        words=np.concatenate([level.words for level in levels]),
        log10s=np.maximum(np.concatenate(log10s), np.float32(NEVER)),
        suffixes=np.concatenate([np.full(sizes[0], -1, np.int32), *suffixes]),
        backoffs=np.maximum(np.concatenate([*backoffs, np.zeros(0, np.float32)]), np.float32(NEVER)),
        first=np.concatenate([*first, starts[-1:].astype(np.int32)]),
        sizes=np.array(sizes, np.int64),
        default_discounts=default_discounts,
    )
