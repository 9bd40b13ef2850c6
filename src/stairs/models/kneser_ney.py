"""Interpolated modified Kneser-Ney estimation of n-gram probabilities.

Chen & Goodman 1998, "An Empirical Study of Smoothing Techniques for Language Modeling", section 4.1.6:

    P(w | h) = (c(hw) - D(c(hw))) / c(h·)  +  gamma(h) P(w | h')          h' is h without its first word
    gamma(h) = sum over the words w seen after h of D(c(hw)) / c(h·)
    D(c)     = c - (c + 1) Y t(c+1) / t(c),   Y = t(1) / (t(1) + 2 t(2)),   D(c) = D(3) from c = 3 on

where t(c) is the number of n-grams with count c. The longest n-grams are counted as they occur; a shorter one counts the distinct words seen
before it, so that "Francisco", seen after little but "San", is not thought likely elsewhere. The empty context falls back on all words alike.

Departures: an n-gram that begins a sentence has nothing before it and keeps its plain count; where t(1) to t(3) do not allow discounts between
0 and c, they are 0.5, 1 and 1.5; a pruned n-gram leaves its whole count to gamma. All as the lmplz program of KenLM does (Heafield et al. 2013).
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from stairs.kernels.kneser_ney import interpolate
from stairs.kernels.ngram_counts import THREADS, columns, count, counts_of, group_by_context, sort_within

FALLBACK = (0.0, 0.5, 1.0, 1.5)
NEVER = -99.0  # log10 of what is never predicted: the begin of a sentence


@dataclass
class Level:
    """The n-grams of one order, sorted by context, then by last word."""

    first: np.ndarray  # those of context c, a place in the level below, stand at first[c] : first[c + 1]
    words: np.ndarray
    counts: np.ndarray
    suffixes: np.ndarray  # place of the last n-1 words in the level below

    def without(self, keep: np.ndarray, kept_below: np.ndarray | None) -> "Level":
        """What is left when only the n-grams in `keep` stay, and below only those in `kept_below`."""
        first = np.concatenate([[0], np.cumsum(keep)])[self.first]
        suffixes = self.suffixes[keep]
        if kept_below is not None:
            first = np.append(first[:-1][kept_below], first[-1])
            suffixes = (np.cumsum(kept_below) - 1)[suffixes]
        return Level(first.astype(np.int32), self.words[keep], self.counts[keep], suffixes.astype(np.int32))


@dataclass
class Trie:
    """What the kernels of `stairs.kernels.trie` ask; `sizes` are the numbers of n-grams per order, the words first."""

    words: np.ndarray
    log10s: np.ndarray
    suffixes: np.ndarray
    backoffs: np.ndarray
    first: np.ndarray
    sizes: list[int]
    assumed: list[int] = field(default_factory=list)  # orders with too few different counts to estimate the discounts from


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

    The ids in `never` cannot occur. In a closed vocabulary all others can, seen or not; in an open one those that were not seen share the
    chance of the unknown word.
    """
    levels = count_levels(ids, order, begin, end, vocab_size, advance)
    keeps = [level.counts > threshold(prune, n) if n > 1 else np.ones(vocab_size, bool) for n, level in enumerate(levels, 1)]
    possible = np.ones(vocab_size, bool)
    possible[[begin, *impossible_ids]] = False
    seen = possible & ((levels[0].counts > 0) | closed)
    seen[unknown] = True
    shorter = np.array([1.0 / seen.sum()])  # the level below the words has one entry, since all are alike
    log10s, gammas, assumed = [], [], []
    for n, (level, counts) in enumerate(zip(levels, adjusted_counts(levels, begin), strict=True), 1):
        discount = discounts(counts)
        if discount is None:
            discount = np.array(FALLBACK)
            assumed.append(n)
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
        levels = levels[:1] + [level.without(keep, below) for level, keep, below in zip(levels[1:], keeps[1:], keeps, strict=False)]
        log10s = [log10[keep] for log10, keep in zip(log10s, keeps, strict=True)]
        gammas = [gammas[0]] + [gamma[keep] for gamma, keep in zip(gammas[1:], keeps, strict=False)]
    return join_levels(levels, log10s, gammas[1:], assumed)


def count_levels(ids: np.ndarray, order: int, begin: int, end: int, vocab_size: int, advance: Callable[[float], None]) -> list[Level]:
    """The plain counts of all orders."""
    single, counters = count(ids, order, begin, end, vocab_size, advance=advance)
    everyone = np.arange(vocab_size, dtype=np.int32)
    levels = [Level(np.array([0, vocab_size], np.int32), everyone, single.astype(np.int32), np.zeros_like(everyone))]
    places = everyone  # from the counter's number of an n-gram to its place in the sorted level
    for counter in counters:
        first, grams = group_by_context(counter.table, counter.size, places, len(levels[-1].words), THREADS)
        counts = counts_of(counter.table, counter.size)
        del counter.table  # each is as large as all that follows from it
        grams = sort_within(first, grams)
        words, counts, suffixes, places = columns(grams, counts, counter.suffixes, places)
        levels.append(Level(first, words, counts, suffixes))
    return levels


def adjusted_counts(levels: list[Level], begin: int) -> list[np.ndarray]:
    """For the longest n-grams how often they occur, for the others how many different words were seen before them."""
    adjusted = []
    low, high = begin, begin + 1  # the n-grams that begin a sentence stand side by side, since a level is sorted
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
    found = np.array([0.0] + [c - (c + 1) * y * t[c + 1] / t[c] for c in (1, 2, 3)])
    return found if (found >= 0).all() and (found <= [0, 1, 2, 3]).all() else None


def threshold(prune: Sequence[int], order: int) -> int:
    """N-grams of this order that occur no more often are left out; the last threshold holds for all longer ones."""
    return prune[min(order, len(prune)) - 1]


def join_levels(levels: list[Level], log10s: list[np.ndarray], gammas: list[np.ndarray], assumed: list[int]) -> Trie:
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
        sizes=sizes,
        assumed=assumed,
    )
