"""The outcome of each test example: the little that a metric needs to know of it, so that two models can be compared example by example.

    accuracy of labels, exact match       "0110...", a character for each example: whether it is correct
    macro_f1                              the predicted label
    spearman, pearson                     the predicted score
    accuracy of tags                      [words with the gold tag, words]
    f1 of tags                            [correct spans, gold spans, predicted spans]
    f1 of answers                         the F1 of the answer
    bleu, chrf                            the counts of `translation_metrics`
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stairs.tasks import metrics, translation_metrics
from stairs.tasks.bootstrap import Correlation, Statistic, Sums, confidence_interval
from stairs.tasks.measurements import Interval, Measurements
from stairs.tasks.metrics import OF_SCORES, MacroF1, quotient
from stairs.text.labelled.split import find_groups

Outcomes = str | list[Any]
MIN_GROUPS = 5  # that are drawn whole: with fewer, hardly any two samples differ
DIGITS = 9  # of a score: enough to tell two float32 apart


def gold_of(example_kind: str, examples: Sequence[Any]) -> list[Any]:
    """What each example says is right."""
    if example_kind == "tag":
        return [list(example.tags) for example in examples]
    if example_kind == "span":
        return [[text for _, text in example.answers] for example in examples]
    if example_kind == "translate":
        return [example.target for example in examples]
    return [example.label if getattr(example, "score", None) is None else example.score for example in examples]


def groups_of(examples: Sequence[Any]) -> list[int] | None:
    """The number of each example's group, by which examples are split; None if no two share a group, or if there are too few groups to draw from."""
    groups = find_groups(examples)
    if not MIN_GROUPS <= len(groups) < len(examples):
        return None
    group_of = {place: number for number, members in enumerate(groups) for place in members}
    return [group_of[place] for place in range(len(examples))]


def score_with_interval(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Interval:
    """One metric with its interval; groups of examples are drawn whole."""
    groups = groups_of(examples)
    if groups is None:
        interval: Interval = all_metrics(example_kind, examples, predictions)[metric]
        return interval
    return confidence_interval(statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, predictions)), groups=groups)


def all_metrics(example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Measurements:
    """Every metric of a kind of examples, with its interval."""
    gold, predicted = gold_of(example_kind, examples), list(predictions)
    if example_kind == "tag":
        return metrics.tag_metrics(gold, predicted)
    if example_kind == "span":
        return metrics.answer_metrics(gold, predicted)
    if example_kind == "translate":
        return translation_metrics.bleu_and_chrf(gold, predicted)
    return metrics.label_metrics(gold, predicted) if isinstance(gold[0], str) else metrics.correlation_metrics(np.array(gold), np.array(predicted))


def outcomes(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Outcomes:
    """Plain data for a report, one entry for each example."""
    gold, predicted = gold_of(example_kind, examples), list(predictions)
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return list(translation_metrics.COUNTS_AND_FORMULAS[metric][0](gold, predicted).tolist())
    if example_kind == "tag":
        return list((metrics.span_counts if metric == "f1" else metrics.tag_counts)(gold, predicted).tolist())
    if example_kind == "span" and metric == "f1":
        return list(metrics.answer_scores(gold, predicted)[:, 1].round(DIGITS).tolist())
    if metric == "macro_f1":
        return predicted
    if metric in OF_SCORES:
        return [float(f"{score:.{DIGITS}g}") for score in predicted]
    if example_kind == "span":
        is_correct = metrics.answer_scores(gold, predicted)[:, 0].tolist()
    else:
        is_correct = [a.strip() == b.strip() for a, b in zip(gold, predicted, strict=True)]
    return "".join("1" if correct else "0" for correct in is_correct)


def statistic(metric: str, example_kind: str, examples: Sequence[Any], recorded: Outcomes) -> Statistic:
    """The metric as the bootstrap draws it, from recorded outcomes."""
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return Sums(np.array(recorded), translation_metrics.COUNTS_AND_FORMULAS[metric][1])
    if metric == "macro_f1":
        return MacroF1(gold_of(example_kind, examples), list(recorded))
    if metric in OF_SCORES:
        return Correlation(np.array(gold_of(example_kind, examples)), np.array(recorded), by_rank=metric == "spearman")
    if example_kind == "tag" and metric == "f1":
        correct, of_gold, of_predicted = np.array(recorded).T
        return Sums(np.stack([2 * correct, of_gold + of_predicted], 1), quotient)
    if example_kind == "tag":
        return Sums(np.array(recorded), quotient)
    scores = np.array([int(digit) for digit in recorded] if isinstance(recorded, str) else recorded)
    return Sums(np.stack([scores, np.ones(len(scores))], 1), quotient)
