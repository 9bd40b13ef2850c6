"""Metrics of any number of labels for each text, and the probability from which on a label is given.

    micro F1 = 2 sum over texts of |gold and predicted| / sum over texts of (|gold| + |predicted|)
    macro F1 = the mean over labels of the F1 of each
    exact match = the share of texts whose predicted labels are the gold ones, no more and no fewer

The threshold is one for all labels: the one with the best micro F1 on examples that the model has not learnt from. The best threshold of a model
whose probabilities are true is half its best F1 (Lipton, Elkan & Naryanaswamy 2014), which is below 0.5.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stairs.tasks.measurements import LabelDetails, MultiLabelMetrics
from stairs.tasks.metrics import confidence_interval, intervals_enabled, proportion, quotient, ratio

DEFAULT_THRESHOLD = 0.5
LabelSets = Sequence[Sequence[str]]


class MacroF1OfSets:
    """The mean F1 of the labels that occur, as a statistic of the bootstrap."""

    def __init__(self, gold: LabelSets, predicted: LabelSets) -> None:
        self.size = len(gold)
        labels = sorted({label for own in (*gold, *predicted) for label in own})
        g, p = one_hot(gold, labels), one_hot(predicted, labels)
        self.twice_correct, self.occurrences = 2.0 * (g & p), g.astype(np.float64) + p

    def values(self, counts: np.ndarray) -> np.ndarray:
        twice_correct, occurrences = counts @ self.twice_correct, counts @ self.occurrences
        f1 = np.divide(twice_correct, occurrences, out=np.zeros(occurrences.shape), where=occurrences > 0)
        means: np.ndarray = f1.sum(1) / np.maximum((occurrences > 0).sum(1), 1)
        return means


def one_hot(label_sets: LabelSets, labels: Sequence[str]) -> np.ndarray:
    """(N, labels), bool."""
    numbers = {label: number for number, label in enumerate(labels)}
    found = np.zeros((len(label_sets), len(labels)), bool)
    for row, own in zip(found, label_sets, strict=True):
        row[[numbers[label] for label in own]] = True
    return found


def set_counts(gold: LabelSets, predicted: LabelSets) -> np.ndarray:
    """(N, 3): labels that are right, gold ones and predicted ones of each text."""
    return np.array([[len(set(a) & set(b)), len(a), len(b)] for a, b in zip(gold, predicted, strict=True)])


def f1_columns(counts: np.ndarray) -> np.ndarray:
    """(N, 2), whose sums have micro F1 as their quotient."""
    correct, of_gold, of_predicted = np.asarray(counts, np.float64).T
    return np.stack([2 * correct, of_gold + of_predicted], 1)


def f1_of_sums(sums: np.ndarray) -> np.ndarray:
    """Micro F1; 0 for a sample without any label, gold or predicted."""
    shares: np.ndarray = np.nan_to_num(quotient(sums))
    return shares


def multilabel_metrics(gold: LabelSets, predicted: LabelSets) -> MultiLabelMetrics:
    exact = sum(set(a) == set(b) for a, b in zip(gold, predicted, strict=True))
    columns = f1_columns(set_counts(gold, predicted))
    return {
        "micro_f1": ratio(columns[:, 0], columns[:, 1]) if columns.any() else proportion(0, len(gold)),
        "macro_f1": confidence_interval(MacroF1OfSets(gold, predicted), intervals_enabled()),
        "exact_match": proportion(exact, len(gold)),
        "texts": len(gold),
    }


def multilabel_report(gold: LabelSets, predicted: LabelSets, labels: Sequence[str]) -> dict[str, dict[str, LabelDetails]]:
    """Each label by itself."""
    g, p = one_hot(gold, labels), one_hot(predicted, labels)
    correct, of_gold, of_predicted = ((own.sum(0)).tolist() for own in (g & p, g, p))
    details: dict[str, LabelDetails] = {
        label: {"precision": c / max(there, 1), "recall": c / max(n, 1), "f1": 2 * c / max(n + there, 1), "texts": n}
        for label, c, n, there in zip(labels, correct, of_gold, of_predicted, strict=True)
    }
    return {"labels": details}


def best_threshold(gold: LabelSets, probabilities: np.ndarray, labels: Sequence[str]) -> float:
    """The threshold of the best micro F1, between two probabilities that occur; the one nearest to 0.5 among equals."""
    is_gold = one_hot(gold, labels).ravel()
    if not is_gold.any():
        return DEFAULT_THRESHOLD
    order = np.argsort(-probabilities.ravel(), kind="stable")
    sorted_probabilities = probabilities.ravel()[order].astype(np.float64)
    f1 = 2 * np.cumsum(is_gold[order]) / (is_gold.sum() + np.arange(1, len(order) + 1))  # of giving the k most probable labels of all texts
    is_end = np.append(sorted_probabilities[:-1] > sorted_probabilities[1:], True)  # equal probabilities are given together
    middles = (sorted_probabilities + np.append(sorted_probabilities[1:], 0.0)) / 2
    best = np.flatnonzero(is_end & (f1 == f1[is_end].max()))
    return float(middles[best[np.abs(middles[best] - DEFAULT_THRESHOLD).argmin()]])


def labels_above(probabilities: np.ndarray, labels: Sequence[str], threshold: float) -> list[list[str]]:
    """The labels of each row of (N, labels), the most probable first."""
    found = []
    for row in probabilities:
        order = np.argsort(-row, kind="stable")
        found.append([labels[i] for i in order if row[i] >= threshold])
    return found


def frequent_labels(gold: LabelSets) -> list[str]:
    """What to say of every text without reading it: as many of the most frequent labels as give the best micro F1 on these."""
    counts = Counter(label for own in gold for label in own).most_common()
    total = sum(count for _, count in counts)
    best, best_f1, correct = 0, 0.0, 0
    for number, (_, count) in enumerate(counts, 1):
        correct += count
        f1 = 2 * correct / (number * len(gold) + total)
        if f1 > best_f1:
            best, best_f1 = number, f1
    return [label for label, _ in counts[:best]]
