"""Metrics of predictions, each with a 95 % confidence interval: how far it would vary if other examples had been drawn.

The bootstrap: Efron 1979; paired for two models as in Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation": both are
evaluated on the same samples, so that hard examples are hard for both and only the difference between the models is left. Examples that belong
together (the questions about one passage, the sentences of one document) are drawn together, by group (Field & Welsh 2007).

A metric is given as a statistic of examples: `values(counts)` is the metric if each example had been drawn `counts` times, for each row of (R, N).
No example is evaluated again for that: a sample costs a product of matrices. `metric_table.py` has the names and the order of all metrics,
`span_metrics.py` those of tags and answers, `translation_metrics.py` those of translations.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import NormalDist
from typing import Any, Protocol, cast

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.measurements import ChoiceMetrics, CorrelationMetrics, Interval, LabelMetrics, PairedDifference
from stairs.tasks.metric_table import METRICS
from stairs.text.examples import MultipleChoice

SAMPLES = 1000  # of an interval; never fewer
PAIRED_SAMPLES = 2000
LEVEL = 0.95
COUNTS_IN_MEMORY = 1 << 19  # few enough for the cache
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_intervals = True
SPAN_TAG = re.compile(r"[BI]-")
OF_SCORES = ("spearman", "pearson")  # the metrics of pairs that have a score; the others are for pairs with a label


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
    """Pearson's correlation of two columns, or Spearman's, that of their ranks; 0 where a column is constant."""

    def __init__(self, first: np.ndarray, second: np.ndarray, by_rank: bool) -> None:
        self.size = len(first)
        self.columns = [np.asarray(column, np.float64) for column in (first, second)]
        self.rankings = [Ranking(column) for column in self.columns] if by_rank else None

    def values(self, counts: np.ndarray) -> np.ndarray:
        a, b = self.columns if self.rankings is None else (ranking.ranks(counts) for ranking in self.rankings)
        total = counts.sum(1, keepdims=True)
        a, b = (column - (counts * column).sum(1, keepdims=True) / total for column in (a, b))
        denominator = np.sqrt((counts * a * a).sum(1) * (counts * b * b).sum(1))
        return np.where(denominator > 1e-12, (counts * a * b).sum(1) / np.where(denominator > 1e-12, denominator, 1.0), 0.0)


class Ranking:
    """The distinct values of a column, sorted once for all samples."""

    def __init__(self, column: np.ndarray) -> None:
        self.level = np.unique(column, return_inverse=True)[1]  # which of the distinct values each example has
        self.order = np.argsort(self.level, kind="stable")
        self.starts = np.searchsorted(self.level[self.order], np.arange(self.level.max() + 1))

    def ranks(self, counts: np.ndarray) -> np.ndarray:
        """(R, N): the rank of each example in its sample, the mean rank for equal values."""
        level_counts = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return (level_counts.cumsum(1) - (level_counts - 1) / 2)[:, self.level]


def sample_counts(units: int, samples: int, seed: int = 0) -> Iterator[np.ndarray]:
    """How often each of `units` is drawn when as many are drawn with replacement, (R, units); `samples` rows in all, some at a time."""
    random = np.random.default_rng(seed)
    rows_at_once = max(COUNTS_IN_MEMORY // units, 1)
    for first in range(0, samples, rows_at_once):
        rows = [np.bincount(random.integers(0, units, units, np.int32), minlength=units) for _ in range(min(rows_at_once, samples - first))]
        yield np.stack(rows).astype(np.float64)


def resample(statistics: Sequence[Statistic], samples: int, groups: Sequence[object] | None = None) -> np.ndarray:
    """(statistics, samples): the metric of each on the same samples. Examples with the same entry in `groups` are drawn together."""
    units, group_of_example = statistics[0].size, None
    if groups is not None:
        group_of_example = np.unique(np.array([str(group) for group in groups]), return_inverse=True)[1]
        units = int(group_of_example.max()) + 1
        if units == len(groups):
            group_of_example = None
    blocks = []
    for unit_counts in sample_counts(units, samples):
        counts = unit_counts if group_of_example is None else unit_counts[:, group_of_example]
        blocks.append([statistic.values(counts) for statistic in statistics])
    return np.concatenate(blocks, 1)


def confidence_interval(statistic: Statistic, with_bounds: bool = True, groups: Sequence[object] | None = None) -> Interval:
    """The metric, with its 95 % interval unless only the value is wanted."""
    value = float(statistic.values(np.ones((1, statistic.size)))[0])
    if not with_bounds:
        return {"value": value}
    values = resample([statistic], SAMPLES, groups)[0]
    low, high = np.quantile(values[np.isfinite(values)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": min(float(low), value), "high": max(float(high), value)}


class PairedBootstrap:
    """Several models on the same samples of the same examples."""

    def __init__(self, statistics: Sequence[Statistic], groups: Sequence[object] | None = None) -> None:
        self.values = np.array([float(statistic.values(np.ones((1, statistic.size)))[0]) for statistic in statistics])
        self.samples = resample(statistics, PAIRED_SAMPLES, groups)

    def difference(self, first: int, second: int) -> PairedDifference:
        """How much better the first model is than the second."""
        differences = self.samples[first] - self.samples[second]
        low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return {
            "difference": float(self.values[first] - self.values[second]),
            "low": float(low),
            "high": float(high),
            "standard_error": float(differences.std()),
        }


def examples_to_separate(difference: float, standard_error: float, examples: int) -> float:
    """How many more examples would separate two models if the difference stays what it is: n ((z s / d)^2 - 1), since s falls with sqrt(n)."""
    if not difference:
        return math.inf
    return max(examples * ((Z * standard_error / abs(difference)) ** 2 - 1), 0.0)


@contextmanager
def without_intervals() -> Iterator[None]:
    """Values without intervals, as evaluations during training need them: they are only compared with one another, and the bootstrap may take longer
    than the evaluation itself."""
    global _intervals
    before, _intervals = _intervals, False
    try:
        yield
    finally:
        _intervals = before


def intervals_enabled() -> bool:
    return _intervals


def error_from(score: Interval) -> Interval:
    """1 - score, with the bounds of its interval exchanged."""
    bounds = cast(dict[str, float], score)
    opposite = {"value": "value", "low": "high", "high": "low"}
    return cast(Interval, {bound: 1 - bounds[opposite[bound]] for bound in bounds})


def ratio(numerators: np.ndarray, denominators: np.ndarray) -> Interval:
    """The sum of the numerators over the sum of the denominators."""
    return confidence_interval(Sums(np.stack([numerators, denominators], 1), quotient), _intervals)


def quotient(sums: np.ndarray) -> np.ndarray:
    """The first sum over the second, as a share of correct predictions is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: np.ndarray = sums[:, 0] / sums[:, 1]
        return shares


def proportion(correct: int, total: int) -> Interval:
    """A share and its Wilson interval, which stays honest near 0 and 1 and for few examples."""
    z, value = Z, correct / total
    if not _intervals:
        return {"value": value}
    middle = (value + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(value * (1 - value) / total + z * z / (4 * total * total))
    return {"value": value, "low": min(middle - half, value), "high": max(middle + half, value)}


def label_metrics(gold: Sequence[str], predicted: Sequence[str]) -> LabelMetrics:
    """Accuracy and macro-F1 of one label for each text."""
    correct = sum(a == b for a, b in zip(gold, predicted, strict=True))
    return {"accuracy": proportion(correct, len(gold)), "macro_f1": confidence_interval(MacroF1(gold, predicted), _intervals), "texts": len(gold)}


def choice_metrics(examples: Sequence[MultipleChoice], predicted: Sequence[str]) -> ChoiceMetrics:
    """Accuracy of the chosen answers, and that of guessing."""
    correct = sum(example.right_choice == own for example, own in zip(examples, predicted, strict=True))
    guessing = sum(1 / len(example.choices) for example in examples) / len(examples)
    return {"accuracy": proportion(correct, len(examples)), "guessing_accuracy": guessing, "questions": len(examples)}


class MacroF1:
    """The mean F1 of the labels that occur, as a statistic of the bootstrap."""

    def __init__(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        self.size = len(gold)
        numbers = {label: number for number, label in enumerate(sorted({*gold, *predicted}))}
        g, p = (np.array([numbers[label] for label in side]) for side in (gold, predicted))
        cells, self.cell = np.unique(g * len(numbers) + p, return_inverse=True)  # each pair of a gold and a predicted label that occurs
        self.gold, self.predicted, self.labels = cells // len(numbers), cells % len(numbers), len(numbers)

    def values(self, counts: np.ndarray) -> np.ndarray:
        positions = (np.arange(len(counts)) * len(self.gold))[:, None] + self.cell
        cells = np.bincount(positions.ravel(), counts.ravel(), len(counts) * len(self.gold)).reshape(len(counts), -1)
        return macro_f1(cells, self.gold, self.predicted, self.labels)


def macro_f1(counts: np.ndarray, gold: np.ndarray, predicted: np.ndarray, labels: int) -> np.ndarray:
    """The mean F1 of the labels that occur, for each row of `counts` (R, C): how often gold[c] was predicted as predicted[c]."""
    gold_one_hot, predicted_one_hot = np.eye(labels)[gold], np.eye(labels)[predicted]
    twice_correct, occurrences = 2 * counts @ (gold_one_hot * predicted_one_hot), counts @ (gold_one_hot + predicted_one_hot)
    f1 = np.divide(twice_correct, occurrences, out=np.zeros(occurrences.shape), where=occurrences > 0)
    means: np.ndarray = f1.sum(1) / np.maximum((occurrences > 0).sum(1), 1)
    return means


def correlation_metrics(gold: np.ndarray, predicted: np.ndarray) -> CorrelationMetrics:
    """Both correlations of scores of pairs."""
    return {"spearman": rank_correlation(gold, predicted), "pearson": linear_correlation(gold, predicted), "pairs": len(gold)}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> Interval:
    """Spearman's correlation; 0 where a column is constant."""
    return confidence_interval(Correlation(first, second, by_rank=True), _intervals)


def linear_correlation(first: np.ndarray, second: np.ndarray) -> Interval:
    """Pearson's correlation; 0 where a column is constant."""
    return confidence_interval(Correlation(first, second, by_rank=False), _intervals)


def metric_names(example_kind: str) -> tuple[str, ...]:
    """The metrics that may choose weights and models, of a kind of labelled examples, in order."""
    return tuple(metric.name for metric in METRICS.values() if example_kind in metric.example_kinds and metric.higher_is_better)


def metrics_for(example_kind: str, examples: Sequence[Any]) -> tuple[str, ...]:
    """The metrics that these examples allow, the default first."""
    names = metric_names(example_kind)
    if example_kind == "compare":
        has_scores = examples[0].score is not None
        return tuple(name for name in names if (name in OF_SCORES) == has_scores)
    if example_kind == "tag" and not any(SPAN_TAG.match(tag) for example in examples for tag in example.tags):
        return tuple(name for name in names if name != "f1")
    return names


def choose_metric(example_kind: str, examples: Sequence[Any], chosen: str | None = None) -> str:
    """The one metric that decides: the chosen one, or the default for these examples."""
    names = metrics_for(example_kind, examples)
    if chosen is not None and chosen not in names:
        raise BadInput(f"--metric {chosen} does not fit these examples for {example_kind}; choose {' or '.join(names)}")
    return chosen or names[0]
