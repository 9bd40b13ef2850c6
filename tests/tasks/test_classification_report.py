"""What a report says of each label, of mistakes, and of chances."""

import numpy as np
import pytest

from stairs.tasks.classification_report import calibration, classification_report


def test_each_label_and_who_is_taken_for_whom():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    found = classification_report(["a", "b", "b", "b"], probabilities, ["a", "b"])
    assert found["confusion"] == [[1, 0], [1, 2]]
    assert found["labels"]["b"] == {"precision": 1.0, "recall": pytest.approx(2 / 3), "f1": pytest.approx(0.8), "texts": 3}


@pytest.mark.parametrize("truth", [["b"], ["a"]])
def test_a_label_that_does_not_occur(truth):
    found = classification_report(truth, np.array([[0.9, 0.1]]), ["a", "b"])
    assert all(isinstance(own["texts"], int) for own in found["labels"].values()) and sum(own["texts"] for own in found["labels"].values()) == 1


def test_chances_that_can_be_believed_are_off_by_nothing():
    right = np.array([True] * 8 + [False] * 2)
    assert calibration(right, np.full(10, 0.8))["error"] == pytest.approx(0)
    assert calibration(right, np.full(10, 0.95))["error"] == pytest.approx(0.15)
    assert calibration(np.zeros(0, bool), np.zeros(0)) == {"error": 0.0, "bins": []}
