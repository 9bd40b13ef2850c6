"""The bootstrap: how far a metric would wander if other examples had been drawn.

Efron 1979; paired for two models as in Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation": both are judged on the same
draw, so that hard examples are hard for both and only the difference between the models is left. Examples that belong together (the questions about
one passage, the sentences of one document) are drawn together, by group (Field & Welsh 2007).

A metric is given as a statistic of examples: `values(counts)` is the metric if each example had been drawn `counts` times, for each row of (R, N).
No example is looked at again for that: a draw costs a product of matrices.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

DRAWS = 1000  # of an interval; never fewer
PAIRED_DRAWS = 2000
LEVEL = 0.95
NUMBERS_AT_ONCE = 1 << 19  # counts in memory: few enough for the cache
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


class Statistic(Protocol):
    size: int  # examples

    def values(self, counts: np.ndarray) -> np.ndarray:
        """(R, N) -> (R,): the metric where each example counts as often as a row says."""


class Sums:
    """A metric that is a formula of sums over examples: `columns` (N, K) is what each adds, `formula` maps sums (R, K) to values (R,)."""

    def __init__(self, columns: np.ndarray, formula: Callable[[np.ndarray], np.ndarray]) -> None:
        self.columns, self.formula, self.size = np.asarray(columns, np.float64), formula, len(columns)

    def values(self, counts: np.ndarray) -> np.ndarray:
        return self.formula(counts @ self.columns)


class Correlation:
    """Pearson's correlation of two columns, or Spearman's, that of their ranks; 0 where all are alike."""

    def __init__(self, first: np.ndarray, second: np.ndarray, by_rank: bool) -> None:
        self.size = len(first)
        self.columns = [np.asarray(column, np.float64) for column in (first, second)]
        self.levels = [Levels(column) for column in self.columns] if by_rank else None

    def values(self, counts: np.ndarray) -> np.ndarray:
        a, b = self.columns if self.levels is None else (level.ranks(counts) for level in self.levels)
        total = counts.sum(1, keepdims=True)
        a, b = (column - (counts * column).sum(1, keepdims=True) / total for column in (a, b))
        below = np.sqrt((counts * a * a).sum(1) * (counts * b * b).sum(1))
        return np.where(below > 1e-12, (counts * a * b).sum(1) / np.where(below > 1e-12, below, 1.0), 0.0)


class Levels:
    """The distinct values of a column, sorted once for all draws."""

    def __init__(self, column: np.ndarray) -> None:
        self.level = np.unique(column, return_inverse=True)[1]  # which of the distinct values each example has
        self.order = np.argsort(self.level, kind="stable")
        self.starts = np.searchsorted(self.level[self.order], np.arange(self.level.max() + 1))

    def ranks(self, counts: np.ndarray) -> np.ndarray:
        """(R, N): the rank of each example among those drawn, the mean rank for equal ones."""
        held = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return (held.cumsum(1) - (held - 1) / 2)[:, self.level]


def draws(units: int, times: int, seed: int = 0) -> Iterator[np.ndarray]:
    """`multiply` rows, some at once: how often each of `unit_vectors` is drawn when as many as there are are drawn with replacement."""
    random = np.random.default_rng(seed)
    at_once = max(NUMBERS_AT_ONCE // units, 1)
    for first in range(0, times, at_once):
        rows = [np.bincount(random.integers(0, units, units, np.int32), minlength=units) for _ in range(min(at_once, times - first))]
        yield np.stack(rows).astype(np.float64)


def resample(statistics: Sequence[Statistic], times: int, groups: Sequence[Any] | None = None) -> np.ndarray:
    """(statistics, times): the metric of each on the same draws. Examples with the same entry in `groups` are drawn together."""
    units, member = statistics[0].size, None
    if groups is not None:
        member = np.unique(np.array([str(group) for group in groups]), return_inverse=True)[1]
        units = int(member.max()) + 1
        if units == len(groups):
            member = None
    blocks = []
    for drawn in draws(units, times):
        counts = drawn if member is None else drawn[:, member]
        blocks.append([statistic.values(counts) for statistic in statistics])
    return np.concatenate(blocks, 1)


def confidence_interval(statistic: Statistic, with_bounds: bool = True, groups: Sequence[Any] | None = None) -> dict[str, float]:
    """The metric, and unless it is not wanted its 95 % interval: {"value", "low", "high"}."""
    value = float(statistic.values(np.ones((1, statistic.size)))[0])
    if not with_bounds:
        return {"value": value}
    found = resample([statistic], DRAWS, groups)[0]
    low, high = np.quantile(found[np.isfinite(found)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": min(float(low), value), "high": max(float(high), value)}


class PairedBootstrap:
    """Several models on the same examples, and on the same draws of them."""

    def __init__(self, statistics: Sequence[Statistic], groups: Sequence[Any] | None = None) -> None:
        self.values = np.array([float(statistic.values(np.ones((1, statistic.size)))[0]) for statistic in statistics])
        self.drawn = resample(statistics, PAIRED_DRAWS, groups)

    def difference(self, first: int, second: int) -> dict[str, float]:
        """How much better the first is than the second, with its 95 % interval and its standard error: {"difference", "low", "high",
        "standard_error"}."""
        apart = self.drawn[first] - self.drawn[second]
        low, high = np.quantile(apart, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        found = {"difference": self.values[first] - self.values[second], "low": low, "high": high, "standard_error": apart.std()}
        return {name: float(value) for name, value in found.items()}


def examples_to_separate(difference: float, error: float, examples: int) -> float:
    """How many more examples would separate two models, if the difference stays what it is: n ((z s / d)^2 - 1), since s falls with sqrt(n)."""
    if not difference:
        return math.inf
    return max(examples * ((Z * error / abs(difference)) ** 2 - 1), 0.0)
