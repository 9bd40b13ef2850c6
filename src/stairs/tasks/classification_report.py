"""A classifier in detail: each label by itself, the confusion matrix, and whether its probabilities can be trusted."""

from collections.abc import Sequence

import numpy as np

from stairs.tasks.measurements import Calibration, CalibrationBin, ClassificationReport

BINS = 10  # of the confidence


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
