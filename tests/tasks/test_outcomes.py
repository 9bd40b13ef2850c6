"""The classification report: each label, the confusion matrix, and calibration."""

import numpy as np
import pytest

from stairs.tasks.outcomes import calibration, classification_report


def test_each_label_and_the_confusion_matrix():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    report = classification_report(["a", "b", "b", "b"], probabilities, ["a", "b"])
    assert report["confusion"] == [[1, 0], [1, 2]]
    assert report["labels"]["b"] == {"precision": 1.0, "recall": pytest.approx(2 / 3), "f1": pytest.approx(0.8), "texts": 3}


@pytest.mark.parametrize("gold", [["b"], ["a"]])
def test_a_label_that_does_not_occur(gold):
    report = classification_report(gold, np.array([[0.9, 0.1]]), ["a", "b"])
    assert all(isinstance(own["texts"], int) for own in report["labels"].values()) and sum(own["texts"] for own in report["labels"].values()) == 1


def test_calibrated_probabilities_have_no_error():
    is_correct = np.array([True] * 8 + [False] * 2)
    assert calibration(is_correct, np.full(10, 0.8))["error"] == pytest.approx(0)
    assert calibration(is_correct, np.full(10, 0.95))["error"] == pytest.approx(0.15)
    assert calibration(np.zeros(0, bool), np.zeros(0)) == {"error": 0.0, "bins": []}
