"""Any number of labels, and a number, by models that learn without gradients: TF-IDF, n-grams and word vectors."""

import json

import numpy as np
import pytest

from stairs.errors import BadInput, Unsupported
from stairs.tasks import TASKS, WordVectors
from stairs.tasks.baselines import train_baselines
from stairs.tasks.outcomes import baseline_warnings, evaluate_with_baselines
from stairs.tasks.prediction_options import PredictionOptions
from stairs.tasks.row_predictions import RowPredictor
from stairs.text.examples import MultiLabelText, ScoredText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import fit_once, load
from tests.support.small_world import SENTENCES, encoder, examples


def trained(name):
    train = examples(name.partition("-")[0], 120)
    if not name.endswith("vectors"):
        return TASKS[name].train(train[:90]), train[90:]
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])
    return TASKS[name].train(train[:90], WordVectors(encoder("skipgram", words), words)), train[90:]


@pytest.mark.parametrize(
    ("name", "metric", "least"),
    [
        ("multilabel-tfidf", "micro_f1", 0.95), ("multilabel-ngram", "micro_f1", 0.85), ("multilabel-vectors", "micro_f1", 0.8),
        ("regress-tfidf", "r2", 0.9), ("regress-vectors", "r2", 0.5),
    ],
)  # fmt: skip
def test_it_learns_and_its_run_gives_the_same_answers(name, metric, least, tmp_path):
    task, test = trained(name)
    fit_once(tmp_path / "run", {"seed": 0, "data": {}}, lambda: task, lambda own: {})
    again = load(tmp_path / "run")
    measured, predictions = again.metrics_and_predictions(test)
    assert measured[metric]["value"] > least, measured
    texts = [example.text for example in test]
    assert again.predict(texts) == predictions == task.predict_examples(test)
    answer = again.answer(texts[0])
    assert json.loads(json.dumps(answer)) == answer
    if name.startswith("multilabel"):
        assert answer["labels"] == predictions[0] and again.threshold == task.threshold
        np.testing.assert_allclose(again.predict_proba(texts[:3]), task.predict_proba(texts[:3]))
        with pytest.raises(BadInput, match="f:1: the label 'x' is not in the training file, which has food, weather"):
            again.evaluate_examples([MultiLabelText("soup", ("x",), "f:1")])
    else:
        assert answer["value"] == pytest.approx(predictions[0]) and "rmse" in measured
        with pytest.raises(Unsupported, match="has no predict_proba"):
            again.predict_proba(texts)


def test_tfidf_gives_what_scikit_learn_gives():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    train, test = examples("multilabel", 120)[:90], examples("multilabel", 120)[90:]
    task = TASKS["multilabel-tfidf"].train(train)
    features = [task.text_features([example.text for example in part]) for part in (train, test)]
    peer = OneVsRestClassifier(LogisticRegression(C=8, max_iter=1000)).fit(
        features[0], MultiLabelBinarizer().fit_transform([example.labels for example in train])
    )
    np.testing.assert_allclose(task.predict_proba([example.text for example in test]), peer.predict_proba(features[1]), atol=0.02)
    numbers = examples("regress", 120)[:90]
    task = TASKS["regress-tfidf"].train(numbers)
    own = task.tfidf.features([example.text for example in numbers]).matrix()
    values = np.array([example.value for example in numbers])
    theirs = Ridge(alpha=1.0, solver="cholesky").fit(own.toarray(), values).predict(own.toarray())
    np.testing.assert_allclose(task.predict([example.text for example in numbers]), theirs, atol=1e-3 * values.std())


def test_the_threshold_does_not_come_from_examples_that_were_learnt_from(monkeypatch):
    kind, seen = TASKS["multilabel-tfidf"], []
    fit = kind.fit
    monkeypatch.setattr(kind, "fit", lambda train, labels, tokenizer: seen.append(train) or fit(train, labels, tokenizer))
    train = examples("multilabel", 100)
    kind.train(train)
    assert [len(own) for own in seen] == [100, 80] and not {id(example) for example in train[::5]} & {id(example) for example in seen[1]}
    assert kind.train(train[:20]).threshold == 0.5 and len(seen) == 3  # too few to choose by


def test_a_label_that_every_text_has_is_given_to_every_text():
    texts = [MultiLabelText(f"{word} today", ("all", "a") if word == "rain" else ("all",)) for word in ("soup", "rain") * 8]
    for name in ("multilabel-tfidf", "multilabel-ngram"):
        assert all("all" in own for own in TASKS[name].train(texts).predict(["soup", "rain", "hail"]))


def test_rows_get_the_labels_of_the_runs_own_threshold_or_of_another_one():
    task, test = trained("multilabel-tfidf")
    texts = [example.text for example in test]
    task.threshold = 0.2
    assert [cells[0] for cells in RowPredictor(task, PredictionOptions()).predict(texts, None, texts)] == [
        ";".join(sorted(own)) for own in task.predict(texts)
    ]
    strict = RowPredictor(task, PredictionOptions(threshold=0.9999))
    assert all(cells[0] == "" for cells in strict.predict(texts, None, texts))
    assert strict.decide_answer(task.answer(texts[0]))["labels"] == [] != task.answer(texts[0])["labels"]


def test_n_grams_refuse_more_labels_than_they_can_hold():
    texts = [MultiLabelText(f"text {number}", (f"l{number}",), "f:1") for number in range(201)]
    with pytest.raises(Unsupported, match="two models for each label, and 201 labels are too many for it; use tfidf"):
        TASKS["multilabel-ngram"].train(texts)


@pytest.mark.parametrize(("kind", "simple"), [("multilabel", "most frequent labels"), ("regress", "mean")])
def test_baselines_are_tfidf_and_what_needs_no_learning(kind, simple):
    train, test = examples(kind, 120)[:90], examples(kind, 120)[90:]
    baselines = train_baselines(train, TASKS[f"{kind}-tfidf"].train(train))
    assert list(baselines) == [simple] and len(set(map(str, baselines[simple](test)))) == 1
    metric = {"multilabel": "micro_f1", "regress": "spearman"}[kind]
    task = TASKS[f"{kind}-tfidf"].train(train)
    measured = evaluate_with_baselines(task, test, baselines, metric)
    assert measured["baseline"]["is_beaten"] and measured["baseline"]["name"] == simple
    assert list(train_baselines(train, None)) == [simple, "tfidf"]


def test_one_answer_for_every_text_is_said():
    train = [MultiLabelText(f"text {number}", ("a", "b") if number % 2 else (), "f:1") for number in range(8)]

    class Same:
        example_kind = "multilabel"

        def metrics_and_predictions(self, given):
            return {"micro_f1": {"value": 0.5}}, [[] for _ in given]

    measured = evaluate_with_baselines(Same(), train, {"most frequent labels": lambda given: [["a", "b"]] * len(given)}, "micro_f1")
    assert any("no label" in sentence for sentence in baseline_warnings(measured, "the test examples"))


def test_equal_numbers_teach_nothing():
    with pytest.raises(BadInput, match="f:1: all 3 texts have the number 4; there is nothing to learn"):
        TASKS["regress-tfidf"].train([ScoredText(text, 4.0, "f:1") for text in ("a", "b", "c")])
