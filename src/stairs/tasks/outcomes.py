"""What became of each test example: the little that a metric needs to know of it, so that two models can be compared example by example.

    accuracy of labels, exact answers     "0110...", a character per example: whether it was right
    macro_f1                              the label that was given
    spearman, pearson                     the score that was given
    accuracy of tags                      [words with the right tag, words]
    f1 of tags                            [spans found, spans there, spans said to be there]
    f1 of answers                         how much of the answer was right
    bleu, chrf                            the counts of `translation_metrics`
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stairs.tasks import metrics, translation_metrics
from stairs.tasks.bootstrap import Correlation, Statistic, Sums, confidence_interval
from stairs.tasks.metrics import MacroF1, quotient
from stairs.text.labelled.split import find_groups

Outcomes = str | list[Any]
FEWEST_GROUPS = 5  # that are drawn as wholes: of fewer, a draw is hardly ever another one
DIGITS = 9  # of a score that is kept: enough to tell two float32 apart


def gold_of(example_kind: str, examples: Sequence[Any]) -> list[Any]:
    """What a model should have said of each example."""
    if example_kind == "tag":
        return [list(example.tags) for example in examples]
    if example_kind == "span":
        return [[text for _, text in example.answers] for example in examples]
    if example_kind == "translate":
        return [example.target for example in examples]
    return [example.label if getattr(example, "score", None) is None else example.score for example in examples]


def groups_of(examples: Sequence[Any]) -> list[int] | None:
    """The number of each example's group, as examples are split by; None where each is alone, or where groups are too few to draw from."""
    found = find_groups(examples)
    if not FEWEST_GROUPS <= len(found) < len(examples):
        return None
    member = {place: number for number, places in enumerate(found) for place in places}
    return [member[place] for place in range(len(examples))]


def score_with_interval(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> dict[str, Any]:
    """One metric with its interval, from groups drawn whole where examples have groups."""
    groups = groups_of(examples)
    if groups is None:
        return all_metrics(example_kind, examples, predictions)[metric]
    return confidence_interval(statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, predictions)), groups=groups)


def all_metrics(example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> dict[str, Any]:
    """Every metric of the task, with its interval."""
    truth, said = gold_of(example_kind, examples), list(predictions)
    if example_kind == "tag":
        return metrics.tag_metrics(truth, said)
    if example_kind == "span":
        return metrics.answer_metrics(truth, said)
    if example_kind == "translate":
        return translation_metrics.bleu_and_chrf(truth, said)
    return metrics.label_metrics(truth, said) if isinstance(truth[0], str) else metrics.correlation_metrics(np.array(truth), np.array(said))


def outcomes(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Outcomes:
    """For a report: plain data, one entry per example."""
    truth, said = gold_of(example_kind, examples), list(predictions)
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return translation_metrics.COUNTS_AND_FORMULAS[metric][0](truth, said).tolist()
    if example_kind == "tag":
        return (metrics.span_counts if metric == "f1" else metrics.tag_counts)(truth, said).tolist()
    if example_kind == "span" and metric == "f1":
        return metrics.answer_scores(truth, said)[:, 1].round(DIGITS).tolist()
    if metric == "macro_f1":
        return said
    if metric in ("spearman", "pearson"):
        return [float(f"{score:.{DIGITS}g}") for score in said]
    right = metrics.answer_scores(truth, said)[:, 0] if example_kind == "span" else [a == b for a, b in zip(strip(truth), strip(said), strict=True)]
    return "".join("1" if one else "0" for one in right)


def strip(texts: Sequence[str]) -> list[str]:
    return [text.strip() for text in texts]


def statistic(metric: str, example_kind: str, examples: Sequence[Any], found: Outcomes) -> Statistic:
    """The metric as the bootstrap draws it, from outcomes that were kept."""
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return Sums(np.array(found), translation_metrics.COUNTS_AND_FORMULAS[metric][1])
    if metric == "macro_f1":
        return MacroF1(gold_of(example_kind, examples), list(found))
    if metric in ("spearman", "pearson"):
        return Correlation(np.array(gold_of(example_kind, examples)), np.array(found), by_rank=metric == "spearman")
    if example_kind == "tag" and metric == "f1":
        both, there, said = np.array(found).T
        return Sums(np.stack([2 * both, there + said], 1), quotient)
    if example_kind == "tag":
        return Sums(np.array(found), quotient)
    right = np.array([int(one) for one in found] if isinstance(found, str) else found)
    return Sums(np.stack([right, np.ones(len(right))], 1), quotient)
