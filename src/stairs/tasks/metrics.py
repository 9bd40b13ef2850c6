"""Numbers that say how good an answer is, each with a 95 % confidence interval.

One metric decides for a task: it chooses the best weights on the validation part, and it ranks models on the test part.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.bootstrap import Correlation, Sums, Z, confidence_interval
from stairs.text.chinese import HAN, has_han

# What each task can be judged by: the first that its examples allow is the default, and more is better. Translators choose their best weights by bits
# per character: a BLEU of the few sentences that there is time to translate on the way would be noise.
METRICS: dict[str, tuple[str, ...]] = {
    "classify": ("accuracy", "macro_f1"),
    "compare": ("spearman", "pearson", "accuracy", "macro_f1"),  # the first two for scores, the others for labels
    "tag": ("f1", "accuracy"),  # the first where tags mark spans
    "span": ("f1", "exact_match"),
    "translate": ("bleu", "chrf", "exact_match"),
}
SPAN_TAG = re.compile(r"[BI]-")
_intervals = True


def metrics_for(example_kind: str, examples: Sequence[Any]) -> tuple[str, ...]:
    """Those of METRICS that these examples allow."""
    if example_kind == "compare":
        return METRICS[example_kind][:2] if examples[0].score is not None else METRICS[example_kind][2:]
    if example_kind == "tag" and not any(SPAN_TAG.match(tag) for example in examples for tag in example.tags):
        return METRICS[example_kind][1:]
    return METRICS[example_kind]


def choose_metric(example_kind: str, examples: Sequence[Any], wanted: str | None = None) -> str:
    """The one metric that decides: `wanted`, or the default of the task."""
    there = metrics_for(example_kind, examples)
    if wanted is not None and wanted not in there:
        raise BadInput(f"--metric {wanted} does not fit these examples for {example_kind}; choose {' or '.join(there)}")
    return wanted or there[0]


@contextmanager
def without_intervals() -> Iterator[None]:
    """Only values meanwhile: a look while training is compared with other looks, and drawing intervals may take longer than looking."""
    global _intervals
    before, _intervals = _intervals, False
    try:
        yield
    finally:
        _intervals = before


def intervals_enabled() -> bool:
    return _intervals


def error_from(found: dict[str, float]) -> dict[str, float]:
    """The error that belongs to a score, with its interval if that has one."""
    others = {"value": "value", "low": "high", "high": "low"}
    return {bound: 1 - found[others[bound]] for bound in found}


def ratio(top: np.ndarray, bottom: np.ndarray) -> dict[str, float]:
    """sum(top) / sum(bottom): {"value", "low", "high"}."""
    return confidence_interval(Sums(np.stack([top, bottom], 1), quotient), _intervals)


def quotient(sums: np.ndarray) -> np.ndarray:
    """The first sum over the second, as a share of correct answers is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[:, 0] / sums[:, 1]


def proportion(right: int, of: int) -> dict[str, float]:
    """A share and its Wilson interval, which stays honest near 0 and 1 and for few examples."""
    z, value = Z, right / of
    if not _intervals:
        return {"value": value}
    middle = (value + z * z / (2 * of)) / (1 + z * z / of)
    spread = z / (1 + z * z / of) * math.sqrt(value * (1 - value) / of + z * z / (4 * of * of))
    return {"value": value, "low": min(middle - spread, value), "high": max(middle + spread, value)}


def label_metrics(truth: list[str], guessed: list[str]) -> dict[str, Any]:
    """Accuracy and macro-F1 of one label per text."""
    right = sum(a == b for a, b in zip(truth, guessed, strict=True))
    return {"accuracy": proportion(right, len(truth)), "macro_f1": confidence_interval(MacroF1(truth, guessed), _intervals), "texts": len(truth)}


class MacroF1:
    """The mean F1 of the labels that occur, as a statistic of the bootstrap."""

    def __init__(self, truth: Sequence[str], guessed: Sequence[str]) -> None:
        self.size = len(truth)
        labels = {label: number for number, label in enumerate(sorted({*truth, *guessed}))}
        t, g = (np.array([labels[label] for label in side]) for side in (truth, guessed))
        cells, self.cell = np.unique(t * len(labels) + g, return_inverse=True)  # each pair of a true and a guessed label that occurs
        self.truth, self.guessed, self.labels = cells // len(labels), cells % len(labels), len(labels)

    def values(self, counts: np.ndarray) -> np.ndarray:
        places = (np.arange(len(counts)) * len(self.truth))[:, None] + self.cell
        cells = np.bincount(places.ravel(), counts.ravel(), len(counts) * len(self.truth)).reshape(len(counts), -1)
        return macro_f1(cells, self.truth, self.guessed, self.labels)


def macro_f1(counts: np.ndarray, truth: np.ndarray, guessed: np.ndarray, labels: int) -> np.ndarray:
    """The mean F1 of the labels that occur, for each row of `counts` (R, C): how often texts of the label truth[c] were taken for guessed[c]."""
    own, other = np.eye(labels)[truth], np.eye(labels)[guessed]
    twice_right, there = 2 * counts @ (own * other), counts @ (own + other)
    f1 = np.divide(twice_right, there, out=np.zeros(there.shape), where=there > 0)
    return f1.sum(1) / np.maximum((there > 0).sum(1), 1)


def correlation_metrics(truth: np.ndarray, guessed: np.ndarray) -> dict[str, Any]:
    """Both correlations of scores of pairs."""
    return {"spearman": rank_correlation(truth, guessed), "pearson": linear_correlation(truth, guessed), "pairs": len(truth)}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Spearman's correlation, 0 where all are alike."""
    return confidence_interval(Correlation(first, second, by_rank=True), _intervals)


def linear_correlation(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Pearson's correlation, likewise."""
    return confidence_interval(Correlation(first, second, by_rank=False), _intervals)


def tag_metrics(truth: list[list[str]], guessed: list[list[str]]) -> dict[str, Any]:
    """The share of words with the right tag, and where tags mark spans (B-X, I-X) the F1 of whole spans, as seqeval counts them."""
    measured: dict[str, Any] = {"accuracy": ratio(*tag_counts(truth, guessed).T)}
    if any(SPAN_TAG.match(tag) for tags in truth for tag in tags):
        both, there, said = span_counts(truth, guessed).T
        measured["f1"] = ratio(2 * both, there + said)
        measured["precision"], measured["recall"] = (float(both.sum() / max(of.sum(), 1)) for of in (said, there))
        measured["spans"] = int(there.sum())
    return {**measured, "words": sum(map(len, truth)), "sentences": len(truth)}


def tag_counts(truth: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 2): the words of each sentence with the right tag, and all of its words."""
    return np.array([[sum(a == b for a, b in zip(own, other, strict=True)), len(own)] for own, other in zip(truth, guessed, strict=True)])


def span_counts(truth: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 3): the spans of each sentence that were found, those that are there, and those that were said to be."""
    from seqeval.metrics.sequence_labeling import get_entities

    found = [(set(get_entities(list(a))), set(get_entities(list(b)))) for a, b in zip(truth, guessed, strict=True)]
    return np.array([[len(a & b), len(a), len(b)] for a, b in found])


def answer_metrics(truth: list[list[str]], guessed: list[str]) -> dict[str, Any]:
    """Exact match and F1 of answers, each against the best of the right ones; no right answer means that "" is right. As published with SQuAD
    (Rajpurkar et al. 2016), and for Chinese with CMRC 2018 (Cui et al. 2019)."""
    exact, f1 = answer_scores(truth, guessed).T
    ones = np.ones(len(truth))
    return {"exact_match": ratio(exact, ones), "f1": ratio(f1, ones), "questions": len(truth)}


def answer_scores(truth: Sequence[Sequence[str]], guessed: Sequence[str]) -> np.ndarray:
    """(N, 2): whether each answer is exact, and its F1."""
    exact = [max(normalize_answer(answer) == normalize_answer(guess) for answer in answers or [""]) for answers, guess in zip(truth, guessed,
        strict=True)]
    f1 = [max(answer_f1(answer, guess) for answer in answers or [""]) for answers, guess in zip(truth, guessed, strict=True)]
    return np.array([exact, f1], np.float64).T


MARKS = re.compile(f"[{re.escape(string.punctuation)}，。：？！“”‘’；·（）《》、…—～「」『』〈〉]")


def normalize_answer(answer: str) -> list[str]:
    """What two answers must share to be the same: words in small letters without marks and articles, Chinese by character."""
    plain = re.sub(r"\b(a|an|the)\b", " ", MARKS.sub("", answer.lower()))
    return re.findall(f"[{HAN}]|[^\\s{HAN}]+", plain)


def answer_f1(answer: str, guess: str) -> float:
    """F1 of the words two answers share; of Chinese ones, of the longest run they share."""
    a, b = normalize_answer(answer), normalize_answer(guess)
    if not a or not b:
        return float(a == b)
    same = longest_common_run(a, b) if has_han(answer) else sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b))


def longest_common_run(a: list[str], b: list[str]) -> int:
    """Of equal items one after the other."""
    best, before = 0, [0] * (len(b) + 1)
    for item in a:
        now = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if item == other:
                now[j + 1] = before[j] + 1
                best = max(best, now[j + 1])
        before = now
    return best


