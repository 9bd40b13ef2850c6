"""Metrics of predictions, each with a 95 % confidence interval.

One metric decides for a task: it chooses the best weights on the validation examples, and it ranks models on the test examples. `metric_table.py`
has their names and their order.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.bootstrap import Correlation, Sums, Z, confidence_interval
from stairs.tasks.measurements import AnswerMetrics, CorrelationMetrics, Interval, LabelMetrics, TagMetrics
from stairs.tasks.metric_table import metric_names
from stairs.text.chinese import HAN, has_han

SPAN_TAG = re.compile(r"[BI]-")
OF_SCORES = ("spearman", "pearson")  # the metrics of pairs that have a score; the others are for pairs with a label
_intervals = True


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


def tag_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> TagMetrics:
    """The share of words with the gold tag, and where tags mark spans (B-X, I-X) the F1 of whole spans, as seqeval counts them."""
    metrics: TagMetrics = {"accuracy": ratio(*tag_counts(gold, predicted).T), "words": sum(map(len, gold)), "sentences": len(gold)}
    if any(SPAN_TAG.match(tag) for tags in gold for tag in tags):
        correct, of_gold, of_predicted = span_counts(gold, predicted).T
        metrics["f1"] = ratio(2 * correct, of_gold + of_predicted)
        metrics["precision"], metrics["recall"] = (float(correct.sum() / max(total.sum(), 1)) for total in (of_predicted, of_gold))
        metrics["spans"] = int(of_gold.sum())
    return metrics


def tag_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 2): the words of each sentence with the gold tag, and all of its words."""
    return np.array([[sum(a == b for a, b in zip(own, other, strict=True)), len(own)] for own, other in zip(gold, predicted, strict=True)])


def span_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 3): the correct spans of each sentence, its gold spans, and its predicted ones."""
    from seqeval.metrics.sequence_labeling import get_entities

    spans = [(set(get_entities(list(a))), set(get_entities(list(b)))) for a, b in zip(gold, predicted, strict=True)]
    return np.array([[len(a & b), len(a), len(b)] for a, b in spans])


def answer_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> AnswerMetrics:
    """Exact match and F1 of answers, each against the best of its gold answers; a question without one is answered by "". As published with SQuAD
    (Rajpurkar et al. 2016), and for Chinese with CMRC 2018 (Cui et al. 2019)."""
    exact, f1 = answer_scores(gold, predicted).T
    ones = np.ones(len(gold))
    return {"exact_match": ratio(exact, ones), "f1": ratio(f1, ones), "questions": len(gold)}


def answer_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> np.ndarray:
    """(N, 2): whether each answer matches exactly, and its F1."""
    pairs = [(answers or [""], answer) for answers, answer in zip(gold, predicted, strict=True)]
    exact = [max(normalize_answer(own) == normalize_answer(answer) for own in answers) for answers, answer in pairs]
    f1 = [max(answer_f1(own, answer) for own in answers) for answers, answer in pairs]
    return np.array([exact, f1], np.float64).T


PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}，。：？！“”‘’；·（）《》、…—～「」『』〈〉]")


def normalize_answer(answer: str) -> list[str]:
    """The words that two answers are compared by: lower case, without punctuation and articles; Chinese by character."""
    plain = re.sub(r"\b(a|an|the)\b", " ", PUNCTUATION.sub("", answer.lower()))
    return re.findall(f"[{HAN}]|[^\\s{HAN}]+", plain)


def answer_f1(gold: str, predicted: str) -> float:
    """F1 of the words that two answers share; of Chinese ones, of their longest common run."""
    a, b = normalize_answer(gold), normalize_answer(predicted)
    if not a or not b:
        return float(a == b)
    common = longest_common_run(a, b) if has_han(gold) else sum((Counter(a) & Counter(b)).values())
    return 2 * common / (len(a) + len(b))


def longest_common_run(a: list[str], b: list[str]) -> int:
    """The length of the longest run of equal items."""
    best, previous = 0, [0] * (len(b) + 1)
    for item in a:
        current = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if item == other:
                current[j + 1] = previous[j] + 1
                best = max(best, current[j + 1])
        previous = current
    return best
