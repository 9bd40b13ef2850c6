"""A model on test examples: how it compares with others example by example, and a classifier in detail.

The outcome of an example is the little that a metric needs to know of it, so that two models can be compared on the same examples later:

    accuracy of labels, exact match       "0110...", a character for each example: whether it is correct
    macro_f1                              the predicted label, or labels
    micro_f1                              [labels that are right, gold labels, predicted labels]
    spearman, pearson, r2                 the predicted number
    accuracy of tags                      [words with the gold tag, words]
    f1 of tags                            [correct spans, gold spans, predicted spans]
    f1 of answers                         the F1 of the answer
    bleu, chrf                            the counts of `translation_metrics`

A baseline is beaten if the interval of the paired difference (`metrics.PairedBootstrap`) lies above 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stairs.tasks import BASELINE_TASKS, multilabel_metrics, regression_metrics, span_metrics, translation_metrics
from stairs.tasks.measurements import (
    BaselineComparison,
    Calibration,
    CalibrationBin,
    ClassificationReport,
    ConfusedLabels,
    Interval,
    Measurements,
    ModelDetails,
    interval,
)
from stairs.tasks.metrics import (
    OF_SCORES,
    Correlation,
    MacroF1,
    PairedBootstrap,
    Statistic,
    Sums,
    choice_metrics,
    confidence_interval,
    correlation_metrics,
    label_metrics,
    quotient,
)
from stairs.tasks.multilabel_metrics import MacroF1OfSets
from stairs.text.labelled import group_numbers

if TYPE_CHECKING:
    from stairs.tasks.task import Task

Outcomes = str | list[Any]
MIN_GROUPS = 5  # that are drawn whole: with fewer, hardly any two samples differ
OF_NUMBERS = (*OF_SCORES, "r2")
DIGITS = 9  # of a score: enough to tell two float32 apart
BINS = 10  # of the confidence
CHEAP_MODELS = {name for models in BASELINE_TASKS.values() for name in models}  # that learn from the examples alone
MAX_CONFUSION_LABELS = 50  # of a matrix that a report holds
SHOWN_CONFUSIONS = 20
Baseline = Callable[[Sequence[Any]], list[Any]]  # from examples to a prediction for each


def gold_of(example_kind: str, examples: Sequence[Any]) -> list[Any]:
    """What each example says is right."""
    if example_kind == "tag":
        return [list(example.tags) for example in examples]
    if example_kind == "span":
        return [[text for _, text in example.answers] for example in examples]
    if example_kind == "choose":
        return [example.right_choice for example in examples]
    if example_kind == "translate":
        return [example.target for example in examples]
    if example_kind == "multilabel":
        return [list(example.labels) for example in examples]
    if example_kind == "regress":
        return [example.value for example in examples]
    return [example.label if getattr(example, "score", None) is None else example.score for example in examples]


def groups_of(examples: Sequence[Any]) -> list[int] | None:
    """The number of each example's group, by which examples are split; None if no two share a group, or if there are too few groups to draw from."""
    groups = group_numbers(examples)
    return groups if MIN_GROUPS <= max(groups) + 1 < len(examples) else None


def score_with_interval(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Interval:
    """One metric with its interval; groups of examples are drawn whole."""
    groups = groups_of(examples)
    if groups is None:
        return interval(all_metrics(example_kind, examples, predictions), metric)
    return confidence_interval(statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, predictions)), groups=groups)


def all_metrics(example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Measurements:
    """Every metric of a kind of examples, with its interval."""
    gold, predicted = gold_of(example_kind, examples), list(predictions)
    if example_kind == "tag":
        return span_metrics.tag_metrics(gold, predicted)
    if example_kind == "span":
        return span_metrics.answer_metrics(gold, predicted)
    if example_kind == "choose":
        return choice_metrics(examples, predicted)
    if example_kind == "translate":
        return translation_metrics.bleu_and_chrf(gold, predicted)
    if example_kind == "multilabel":
        return multilabel_metrics.multilabel_metrics(gold, predicted)
    if example_kind == "regress":
        return regression_metrics.regression_metrics(np.array(gold), np.array(predicted))
    return label_metrics(gold, predicted) if isinstance(gold[0], str) else correlation_metrics(np.array(gold), np.array(predicted))


def outcomes(metric: str, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> Outcomes:
    """Plain data for a report, one entry for each example."""
    gold, predicted = gold_of(example_kind, examples), list(predictions)
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return list(translation_metrics.COUNTS_AND_FORMULAS[metric][0](gold, predicted).tolist())
    if example_kind == "tag":
        return list((span_metrics.span_counts if metric == "f1" else span_metrics.tag_counts)(gold, predicted).tolist())
    if example_kind == "span" and metric == "f1":
        return list(span_metrics.answer_scores(gold, predicted)[:, 1].round(DIGITS).tolist())
    if metric == "macro_f1":
        return predicted
    if metric == "micro_f1":
        return list(multilabel_metrics.set_counts(gold, predicted).tolist())
    if metric in OF_NUMBERS:
        return [float(f"{score:.{DIGITS}g}") for score in predicted]
    if example_kind == "span":
        is_correct = span_metrics.answer_scores(gold, predicted)[:, 0].tolist()
    elif example_kind == "multilabel":
        is_correct = [set(a) == set(b) for a, b in zip(gold, predicted, strict=True)]
    else:
        is_correct = [a.strip() == b.strip() for a, b in zip(gold, predicted, strict=True)]
    return "".join("1" if correct else "0" for correct in is_correct)


def statistic(metric: str, example_kind: str, examples: Sequence[Any], recorded: Outcomes) -> Statistic:
    """The metric as the bootstrap draws it, from recorded outcomes."""
    if metric in translation_metrics.COUNTS_AND_FORMULAS:
        return Sums(np.array(recorded), translation_metrics.COUNTS_AND_FORMULAS[metric][1])
    if metric == "macro_f1":
        return (MacroF1OfSets if example_kind == "multilabel" else MacroF1)(gold_of(example_kind, examples), list(recorded))
    if metric == "micro_f1":
        return Sums(multilabel_metrics.f1_columns(np.array(recorded)), multilabel_metrics.f1_of_sums)
    if metric == "r2":
        return regression_metrics.explained_variance(np.array(gold_of(example_kind, examples)), np.array(recorded))
    if metric in OF_SCORES:
        return Correlation(np.array(gold_of(example_kind, examples)), np.array(recorded), by_rank=metric == "spearman")
    if example_kind == "tag" and metric == "f1":
        correct, of_gold, of_predicted = np.array(recorded).T
        return Sums(np.stack([2 * correct, of_gold + of_predicted], 1), quotient)
    if example_kind == "tag":
        return Sums(np.array(recorded), quotient)
    scores = np.array([int(digit) for digit in recorded] if isinstance(recorded, str) else recorded)
    return Sums(np.stack([scores, np.ones(len(scores))], 1), quotient)


def classification_report(gold: Sequence[str], probabilities: np.ndarray, labels: Sequence[str]) -> ClassificationReport:
    """`probabilities` (N, labels)."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    predicted = [labels[i] for i in probabilities.argmax(1)]
    precision, recall, f1, support = precision_recall_fscore_support(gold, predicted, labels=list(labels), zero_division=0)
    columns = zip(labels, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist(), strict=True)
    return {
        "labels": {label: {"precision": p, "recall": r, "f1": f, "texts": int(n)} for label, p, r, f, n in columns},
        "confusion": confusion_matrix(gold, predicted, labels=list(labels)).tolist(),
        "calibration": calibration(np.array([a == b for a, b in zip(gold, predicted, strict=True)]), probabilities.max(1)),
    }


def model_details(metrics: Measurements, example_kind: str, examples: Sequence[Any], predictions: Sequence[Any]) -> ModelDetails:
    """What a report shows of a model besides its scores: those of `metrics` that are of a label, or the types of spans of a tagger."""
    if example_kind == "tag":
        return {"tags": span_metrics.tag_report(gold_of(example_kind, examples), predictions)}
    details = cast(ModelDetails, {name: metrics[name] for name in ("labels", "confusion", "calibration") if name in metrics})
    if "confusion" in details:
        details["confused"] = most_confused(list(details["labels"]), details["confusion"])
        if len(details["labels"]) > MAX_CONFUSION_LABELS:
            del details["confusion"]
    return details


def most_confused(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> list[ConfusedLabels]:
    """The most frequent errors first."""
    errors = [(-count, i, j) for i, row in enumerate(confusion) for j, count in enumerate(row) if count and i != j]
    return [{"gold": labels[i], "predicted": labels[j], "texts": -count} for count, i, j in sorted(errors)[:SHOWN_CONFUSIONS]]


def calibration(is_correct: np.ndarray, confidence: np.ndarray) -> Calibration:
    """Confidence and accuracy of predictions of about equal confidence; `error` is the expected calibration error, the mean gap between the two
    (Naeini et al. 2015)."""
    bin_numbers = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    bins: list[CalibrationBin] = [
        {"confidence": float(confidence[inside].mean()), "accuracy": float(is_correct[inside].mean()), "texts": int(inside.sum())}
        for inside in (bin_numbers == number for number in range(BINS))
        if inside.any()
    ]
    gaps = sum(part["texts"] * abs(part["confidence"] - part["accuracy"]) for part in bins)
    return {"error": float(gaps / max(len(confidence), 1)), "bins": bins}


def evaluate_with_baselines(task: "Task", examples: Sequence[Any], baselines: dict[str, Baseline], metric: str) -> Measurements:
    """The metrics of a task on examples, with the best baseline and how much better the task is under "baseline"; and under "only_label" the label
    that the task gives to every example, if it gives only one."""
    metrics, predictions = task.metrics_and_predictions(examples)
    if not predictions or not baselines:
        return metrics
    others = {name: baseline(examples) for name, baseline in baselines.items()}
    comparison = compare_with_best(others, predictions, metric, task.example_kind, examples)
    label = only_label(predictions, task.example_kind)
    return {**metrics, "baseline": comparison, **({} if label is None else {"only_label": label})}


def only_label(predictions: Sequence[Any], example_kind: str) -> str | None:
    """The label of every example, if there is one; of several labels for each, all of them."""
    if example_kind in ("span", "choose"):
        return None
    if example_kind == "multilabel":
        label_sets = {"; ".join(sorted(own)) for own in predictions}
        return label_sets.pop() if len(label_sets) == 1 else None
    labels = {label for own in predictions for label in (own if example_kind == "tag" else [own])}
    label = labels.pop() if len(labels) == 1 else None
    return label if isinstance(label, str) else None


def compare_with_best(
    others: Mapping[str, Sequence[Any]], predictions: Sequence[Any], metric: str, example_kind: str, examples: Sequence[Any]
) -> BaselineComparison:
    """The best of the others, and how much better the predictions are."""
    scores = {name: interval(all_metrics(example_kind, examples, own), metric) for name, own in others.items()}
    name = max(scores, key=lambda name: scores[name]["value"])
    both = [statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, own)) for own in (predictions, others[name])]
    improvement = PairedBootstrap(both, groups_of(examples)).difference(0, 1)
    score = scores[name]
    return {
        "name": name, "metric": metric, "value": score["value"], "low": score["low"], "high": score["high"], "improvement": improvement,
        "is_beaten": improvement["low"] > 0,
    }  # fmt: skip


def baseline_warnings(metrics: Measurements, part: str) -> list[str]:
    """What a person should know: that the model does not beat the baseline, and that it gives every example the same label."""
    warnings, baseline = [], cast(BaselineComparison | None, metrics.get("baseline"))
    if baseline and not baseline["is_beaten"]:
        metric, improvement = baseline["metric"], baseline["improvement"]
        relation = "worse than" if improvement["high"] < 0 else "not better, as far as these examples tell, than"
        scores = f"{metric.replace('_', ' ')} {interval(metrics, metric)['value']:.4f} against {baseline['value']:.4f}"
        bounds = f"the difference is {improvement['low']:+.4f} to {improvement['high']:+.4f}"
        warnings.append(f"this is {relation} the cheapest baseline, {baseline['name']}: {scores} on {part}; {bounds}")
    if "only_label" in metrics:
        is_cheap = baseline is not None and baseline["name"] in CHEAP_MODELS
        instead = f", where {baseline['name']} reaches {baseline['value']:.4f} within seconds" if baseline and is_cheap else ""
        what = f"the label {metrics['only_label']!r}" if metrics["only_label"] else "no label"
        warnings.append(f"it gives all of {part} {what}{instead}")
    return warnings
