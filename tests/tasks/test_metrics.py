"""Figures of merit, beside the libraries and the examples they were published with."""

import json

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from stairs.errors import BadInput
from stairs.tasks.metrics import choose_metric, confidence_interval, linear_correlation, metrics_for, rank_correlation
from stairs.tasks.outcomes import all_metrics, gold_of, outcomes, statistic
from stairs.tasks.span_metrics import answer_f1, answer_metrics, normalize_answer, tag_metrics, typed_spans
from stairs.text.examples import LabelledText, MultipleChoice, Question, TaggedSentence, TextPair, TranslationPair


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O B-A I-A O", {("A", 1, 2)}),
        ("B-A B-A", {("A", 0, 0), ("A", 1, 1)}),
        ("I-A I-A O I-A", {("A", 0, 1), ("A", 3, 3)}),  # as in files that mark a beginning only beside another span
        ("B-A I-B I-B", {("A", 0, 0), ("B", 1, 2)}),  # another type begins another span
        ("B-A I-A E-A S-A I-A", {("A", 0, 2), ("A", 3, 3), ("A", 4, 4)}),
        ("B-A-B I-A-B", {("A-B", 0, 1)}),
        ("B I O", {("_", 0, 1)}),
        ("O O", set()),
        ("", set()),
    ],
)
def test_spans_of_tags(tags, spans):
    assert typed_spans(tags.split()) == spans


def test_f1_of_spans():
    gold, predicted = [["B-A", "I-A", "O"], ["B-B", "O", "B-A"]], [["B-A", "I-A", "O"], ["B-B", "I-B", "O"]]
    measured = tag_metrics(gold, predicted)
    assert (measured["precision"], measured["recall"], measured["f1"]["value"]) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert measured["f1"]["low"] < measured["f1"]["value"] < measured["f1"]["high"]


@pytest.mark.reference
@pytest.mark.parametrize("tags", ["O B-A I-A B-B I-B", "O I-A B-A E-A S-A I-B E-B", "O B I B-A-B I-A-B"])
def test_spans_as_seqeval_counts_them(tags):
    from seqeval.metrics import f1_score, precision_score, recall_score

    names, random = tags.split(), np.random.default_rng(0)
    gold, predicted = ([[names[i] for i in random.integers(0, len(names), 12)] for _ in range(300)] for _ in range(2))
    measured = tag_metrics(gold, predicted)
    assert measured["f1"]["value"] == pytest.approx(f1_score(gold, predicted))
    assert measured["precision"] == pytest.approx(precision_score(gold, predicted))
    assert measured["recall"] == pytest.approx(recall_score(gold, predicted))


def test_tags_without_spans_have_an_accuracy_only():
    measured = tag_metrics([["NOUN", "VERB"], ["NOUN"]], [["NOUN", "NOUN"], ["NOUN"]])
    assert measured["accuracy"]["value"] == pytest.approx(2 / 3) and "f1" not in measured


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
    measured = answer_metrics([answers], [guess])
    assert (measured["exact_match"]["value"], measured["f1"]["value"]) == (exact, pytest.approx(f1))


def test_words_of_an_answer():
    assert normalize_answer("The U.S. dollar, an A") == ["us", "dollar"]
    assert normalize_answer("1998年，北京 Beijing") == ["1998", "年", "北", "京", "beijing"]
    assert answer_f1("a b", "c") == 0


def test_correlations():
    random = np.random.default_rng(0)
    a = random.normal(size=50)
    b = a + random.normal(size=50)
    assert rank_correlation(a, b)["value"] == pytest.approx(spearmanr(a, b)[0])
    assert linear_correlation(a, b)["value"] == pytest.approx(pearsonr(a, b)[0])
    assert rank_correlation(a, np.zeros(50))["value"] == 0


@pytest.mark.parametrize(
    ("example_kind", "example", "names"),
    [
        ("classify", LabelledText("a", "good"), ("accuracy", "macro_f1")),
        ("compare", TextPair("a", "b", "same"), ("accuracy", "macro_f1")),
        ("compare", TextPair("a", "b", score=0.5), ("spearman", "pearson")),
        ("tag", TaggedSentence(("Rome",), ("B-place",)), ("f1", "accuracy")),
        ("tag", TaggedSentence(("Rome",), ("PROPN",)), ("accuracy",)),
        ("span", Question("where", "in Rome", ((3, "Rome"),)), ("f1", "exact_match")),
        ("translate", TranslationPair("a", "b"), ("bleu", "chrf", "exact_match")),
    ],
)
def test_one_metric_decides_for_a_task(example_kind, example, names):
    assert metrics_for(example_kind, [example]) == names and choose_metric(example_kind, [example]) == names[0]
    assert choose_metric(example_kind, [example], names[-1]) == names[-1]
    with pytest.raises(BadInput, match=f"--metric perplexity does not fit these examples for {example_kind}; choose {' or '.join(names)}"):
        choose_metric(example_kind, [example], "perplexity")


@pytest.mark.parametrize(("example_kind", "example", "wrong"), [
    ("classify", LabelledText("a", "good"), "bad"),
    ("compare", TextPair("a", "b", "same"), "other"),
    ("tag", TaggedSentence(("in", "Rome"), ("O", "B-place")), ["O", "O"]),
    ("span", Question("where", "in Rome", ((3, "Rome"),)), "in"),
    ("choose", MultipleChoice("where", ("in Rome", "in Kyoto"), 0), "in Kyoto"),
    ("translate", TranslationPair("a", "the cat sat on the mat"), "the cat sat on a mat"),
])  # fmt: skip
def test_what_a_report_keeps_of_each_example_is_enough_for_every_metric(example_kind, example, wrong):
    examples = [example] * 5
    correct = gold_of(example_kind, examples)[0][0] if example_kind == "span" else gold_of(example_kind, examples)[0]
    predictions = [correct, wrong, correct, wrong, wrong]
    measured = all_metrics(example_kind, examples, predictions)
    for metric in metrics_for(example_kind, examples):
        recorded = json.loads(json.dumps(outcomes(metric, example_kind, examples, predictions)))
        assert len(recorded) == 5 and confidence_interval(statistic(metric, example_kind, examples,
            recorded))["value"] == pytest.approx(measured[metric]["value"])


def test_recorded_scores_of_pairs_are_correlated():
    examples, predictions = [TextPair("a", "b", score=i / 9) for i in range(10)], [((7 * i) % 10) / 3 for i in range(10)]
    measured = all_metrics("compare", examples, predictions)
    for metric in ("spearman", "pearson"):
        recorded = outcomes(metric, "compare", examples, predictions)
        assert confidence_interval(statistic(metric, "compare", examples, recorded))["value"] == pytest.approx(measured[metric]["value"])
