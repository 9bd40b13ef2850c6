"""Any number of labels for a text, and a number for a text, on top of an encoder."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.tasks.multilabel_metrics import best_threshold, frequent_labels, labels_above, multilabel_metrics
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.regression_metrics import regression_metrics
from stairs.text.examples import MultiLabelText, ScoredText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import SENTENCES, encoder, examples, new_task


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])


def started(example_kind, tokenizer, **transfer):
    train = examples(example_kind)
    task = new_task(example_kind, encoder("bert", tokenizer), tokenizer, train, **transfer)
    task.start(0)
    task.trained_module.eval()
    return task, train


def test_the_loss_of_labels_is_the_cross_entropy_of_each_and_that_of_numbers_the_squared_error(tokenizer):
    task, train = started("multilabel", tokenizer)
    rows = task.labelled_rows(train[:5])
    loss, count = task.training_loss(rows.batch(np.arange(5), 0, 0))
    probabilities = task.example_probabilities(train[:5])
    gold = np.array([[label in example.labels for label in task.labels] for example in train[:5]])
    assert task.labels == ["food", "weather"] and count == 5
    assert loss.item() == pytest.approx(-np.log(np.where(gold, probabilities, 1 - probabilities)).sum(), rel=1e-4)
    task, train = started("regress", tokenizer)
    loss, count = task.training_loss(task.labelled_rows(train[:5]).batch(np.arange(5), 0, 0))
    errors = np.array(task.predict_examples(train[:5])) - [example.value for example in train[:5]]
    values = np.array([example.value for example in train])
    assert loss.item() == pytest.approx((errors**2).sum() / values.var(), rel=1e-4) and count == 5


def test_labels_start_at_the_probabilities_that_they_have_in_training(tokenizer):
    task, train = started("multilabel", tokenizer)
    shares = [np.mean([label in example.labels for example in train]) for label in task.labels]
    np.testing.assert_allclose(task.head.linear.bias.detach().sigmoid(), shares, atol=0.01)


def test_balanced_weights_count_texts_with_a_label_as_much_as_those_without(tokenizer):
    task, train = started("multilabel", tokenizer, class_weights="balanced")
    with_label = np.array([sum(label in example.labels for example in train) for label in task.labels])
    np.testing.assert_allclose(task.class_weights(torch.device("cpu")) * torch.tensor(with_label), len(train) - with_label)


@pytest.mark.parametrize(("example_kind", "metric", "least"), [("multilabel", "micro_f1", 0.9), ("regress", "spearman", 0.8)])
def test_bert_learns_it_and_its_run_says_the_same(example_kind, metric, least, tokenizer, tmp_path):
    train = examples(example_kind, 200)
    task = new_task(example_kind, encoder("bert", tokenizer), tokenizer, train)
    options = TrainingOptions(epochs=10, batch_examples=16, learning_rate=3e-3, precision="fp32", patience=0)
    measured = fit(task, LabelledSplits(train[:150], train[150:]), tmp_path / "run", options)
    assert measured[metric]["value"] > least, measured
    again = load(tmp_path / "run")
    assert again.evaluate_examples(train[150:])[metric] == measured[metric]
    assert again.predict([example.text for example in train[150:]]) == again.predict_examples(train[150:])
    if example_kind == "multilabel":
        answer = again.answer("soup and rain in Rome today .")
        assert set(answer["labels"]) == {"food", "weather"} and again.summary(answer) == ";".join(answer["labels"])
        probabilities = again.predict_proba(["soup and rain in Rome today .", "Rome today ."])
        assert probabilities.shape == (2, 2) and probabilities[0].sum() > 1
        details = again.detailed_metrics(train[150:])
        assert 0 < details["threshold"] < 1 and set(details["labels"]) == {"food", "weather"}
        assert details["threshold"] == pytest.approx(again.threshold)
    else:
        assert again.predict("soup and bread in Kyoto today .") > again.predict("rain and wind in Rome today .") + 3
        assert isinstance(again.answer("soup in Rome today .")["value"], float)


def test_the_threshold_is_the_best_on_validation_examples_and_is_that_of_the_best_weights(tokenizer, tmp_path):
    train = examples("multilabel", 80)
    data = LabelledSplits(train[:60], train[60:])
    task = new_task("multilabel", encoder("bert", tokenizer), tokenizer, train, transfer="features")
    fit(task, data, tmp_path / "run", TrainingOptions(steps=30, batch_examples=8, precision="fp32", patience=0, evaluate_every=5))
    again = load(tmp_path / "run")
    probabilities = again.example_probabilities(train[60:])
    assert again.threshold == pytest.approx(best_threshold([example.labels for example in train[60:]], probabilities, again.labels), abs=1e-6)


def test_what_cannot_be_learnt_or_is_unknown_is_refused_in_a_sentence(tokenizer):
    multilabel, regress = (type(started(kind, tokenizer)[0]) for kind in ("multilabel", "regress"))
    cases = [
        (multilabel, [MultiLabelText("a", (), "f:1"), MultiLabelText("b", (), "f:2")], "f:1: none of the 2 texts has a label"),
        (multilabel, [MultiLabelText("a", ("x",), "f:1"), MultiLabelText("b", ("x",), "f:2")], "all 2 texts have the label 'x'"),
        (regress, [ScoredText("a", 3.0, "f:1"), ScoredText("b", 3.0, "f:2")], "f:1: all 2 texts have the number 3"),
        (regress, [ScoredText("a", 1e308, "f:1"), ScoredText("b", -1e308, "f:2")], "too far apart"),
    ]
    for task, given, message in cases:
        with pytest.raises(BadInput, match=message):
            task.settings_from(given)
    task, _ = started("multilabel", tokenizer)
    with pytest.raises(BadInput, match="f:9: the label 'hail' is not in the training file, which has food, weather"):
        task.evaluate_examples([MultiLabelText("soup today", ("food", "hail"), "f:9")])


def test_metrics_of_label_sets_are_those_of_scikit_learn():
    from sklearn.metrics import f1_score

    random = np.random.default_rng(0)
    labels = ["a", "b", "c", "d"]
    gold, predicted = (random.random((60, 4)) < 0.3 for _ in range(2))
    sets = [[[label for label, own in zip(labels, row, strict=True) if own] for row in side] for side in (gold, predicted)]
    measured = multilabel_metrics(*sets)
    for name in ("micro", "macro"):
        assert measured[f"{name}_f1"]["value"] == pytest.approx(f1_score(gold, predicted, average=name))
        assert measured[f"{name}_f1"]["low"] < measured[f"{name}_f1"]["value"] < measured[f"{name}_f1"]["high"]
    assert measured["exact_match"]["value"] == pytest.approx((gold == predicted).all(1).mean())
    nothing = multilabel_metrics([[], []], [[], []])
    assert nothing["micro_f1"]["value"] == 0 and nothing["exact_match"]["value"] == 1


def test_metrics_of_numbers_are_those_of_scikit_learn():
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    random = np.random.default_rng(0)
    gold = random.normal(50, 10, 80)
    predicted = gold + random.normal(0, 4, 80)
    measured = regression_metrics(gold, predicted)
    expected = {"r2": r2_score, "rmse": root_mean_squared_error, "mae": mean_absolute_error}
    for name, metric in expected.items():
        assert measured[name]["value"] == pytest.approx(metric(gold, predicted))
        assert measured[name]["low"] < measured[name]["value"] < measured[name]["high"]
    assert regression_metrics(gold, np.full(80, gold.mean()))["r2"]["value"] == pytest.approx(0)


def test_no_other_threshold_is_better_and_equal_probabilities_stay_together():
    random = np.random.default_rng(1)
    probabilities = random.choice(np.linspace(0, 1, 11), (40, 3))
    gold = [[label for label, own in zip("abc", row, strict=True) if random.random() < own] for row in probabilities]
    chosen = best_threshold(gold, probabilities, "abc")

    def f1(threshold):
        return multilabel_metrics(gold, labels_above(probabilities, "abc", threshold))["micro_f1"]["value"]

    assert f1(chosen) == max(f1(threshold) for threshold in np.linspace(0.001, 0.999, 200))
    assert best_threshold([[], []], probabilities[:2], "abc") == 0.5


def test_the_most_frequent_labels_are_as_many_as_is_best():
    gold = [["a"], ["a", "b"], ["a", "b"], ["a", "c"], ["b", "a"]]
    assert frequent_labels(gold) == ["a", "b"]
