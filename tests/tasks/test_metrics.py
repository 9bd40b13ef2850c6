"""Figures of merit, beside the libraries and the examples they were published with."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from stairs.tasks.metrics import answers_scored, linear_correlation, normal, overlap, rank_correlation, tags_scored


def test_spans_as_seqeval_counts_them():
    from seqeval.metrics import f1_score, precision_score, recall_score

    random = np.random.default_rng(0)
    names = ["O", "B-A", "I-A", "B-B", "I-B"]
    truth, guessed = ([[names[i] for i in random.integers(0, 5, 12)] for _ in range(30)] for _ in range(2))
    found = tags_scored(truth, guessed)
    assert found["f1"]["value"] == pytest.approx(f1_score(truth, guessed))
    assert (found["precision"], found["recall"]) == (pytest.approx(precision_score(truth, guessed)), pytest.approx(recall_score(truth, guessed)))
    assert found["f1"]["low"] < found["f1"]["value"] < found["f1"]["high"]


def test_tags_without_spans_have_an_accuracy_only():
    found = tags_scored([["NOUN", "VERB"], ["NOUN"]], [["NOUN", "NOUN"], ["NOUN"]])
    assert found["accuracy"]["value"] == pytest.approx(2 / 3) and "f1" not in found


@pytest.mark.parametrize(
    ("answers", "guess", "exact", "f1"),
    [
        (["the Cat"], "cat", 1, 1),  # articles, capitals and marks do not count
        (["Denver Broncos", "Broncos"], "the Broncos!", 1, 1),  # the best of the right ones
        (["Denver Broncos"], "Broncos won", 0, 0.5),
        ([], "", 1, 1),
        ([], "cat", 0, 0),
        (["北京大学"], "北京大学。", 1, 1),
        (["北京大学"], "在北京", 0, 2 * 2 / 7),  # the longest run of characters they share
    ],
)
def test_answers_as_published(answers, guess, exact, f1):
    found = answers_scored([answers], [guess])
    assert (found["exact"]["value"], found["f1"]["value"]) == (exact, pytest.approx(f1))


def test_words_of_an_answer():
    assert normal("The U.S. dollar, an A") == ["us", "dollar"]
    assert normal("1998年，北京 Beijing") == ["1998", "年", "北", "京", "beijing"]
    assert overlap("a b", "c") == 0


def test_correlations():
    random = np.random.default_rng(0)
    a = random.normal(size=50)
    b = a + random.normal(size=50)
    assert rank_correlation(a, b)["value"] == pytest.approx(spearmanr(a, b)[0])
    assert linear_correlation(a, b)["value"] == pytest.approx(pearsonr(a, b)[0])
    assert rank_correlation(a, np.zeros(50))["value"] == 0
