"""The classification report: each label, the confusion matrix, and calibration."""

import numpy as np
import pytest

from stairs.tasks.outcomes import calibration, classification_report, model_details
from stairs.tasks.span_metrics import tag_report


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


def test_the_labels_that_are_confused_most_come_first_and_a_large_matrix_is_left_out():
    labels = [f"label {i}" for i in range(60)]
    probabilities = np.eye(60)[[1, 1, *range(2, 60), 1, 0]]
    report = classification_report([*labels, "label 2", "label 2"], probabilities, labels)
    details = model_details(report, "classify", [], [])
    assert details["confused"][0] == {"gold": "label 0", "predicted": "label 1", "texts": 1} and len(details["confused"]) == 3
    assert "confusion" not in details and list(details["labels"]) == labels


def test_a_tagger_by_type_of_span():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-PER"]]
    predicted = [["B-PER", "O", "O", "B-LOC"], ["O", "B-PER"]]
    report = tag_report(gold, predicted)
    assert list(report) == ["PER", "LOC"] and report["PER"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "gold": 2}
    assert tag_report([["N", "V"]], [["N", "N"]]) == {
        "N": {"precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "gold": 1}, "V": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "gold": 1},
    }  # fmt: skip
