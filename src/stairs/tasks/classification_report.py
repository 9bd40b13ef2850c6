"""What a classifier is worth in detail: each label by itself, who is taken for whom, and whether its chances can be believed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

BINS = 10  # of the chances


def classification_report(truth: Sequence[str], probabilities: np.ndarray, labels: Sequence[str]) -> dict[str, Any]:
    """`probabilities` (N, labels). `confusion` has a row for each true label and a column for each that was said."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    guessed = [labels[i] for i in probabilities.argmax(1)]
    precision, recall, f1, support = precision_recall_fscore_support(truth, guessed, labels=list(labels), zero_division=0)
    columns = zip(labels, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist(), strict=True)
    return {
        "labels": {label: {"precision": p, "recall": r, "f1": f, "texts": int(n)} for label, p, r, f, n in columns},
        "confusion": confusion_matrix(truth, guessed, labels=list(labels)).tolist(),
        "calibration": calibration(np.array([a == b for a, b in zip(truth, guessed, strict=True)]), probabilities.max(1)),
    }


def calibration(right: np.ndarray, said: np.ndarray) -> dict[str, Any]:
    """How sure it was and how often it was right, for about equally sure answers; `error` is the mean gap between the two (Naeini et al. 2015)."""
    numbers = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    bins = [
        {"confidence": float(said[inside].mean()), "accuracy": float(right[inside].mean()), "texts": int(inside.sum())}
        for inside in (numbers == number for number in range(BINS))
        if inside.any()
    ]
    return {"error": float(sum(part["texts"] * abs(part["confidence"] - part["accuracy"]) for part in bins) / max(len(said), 1)), "bins": bins}
