"""climb: rows for every step, a split that keeps the labels' shares, and a recommendation that follows from the numbers."""

import json

import pytest

from stairs.climb import ladder
from stairs.climb.ladder import climb, recommendation, split
from stairs.errors import BadInput
from stairs.models.sizes import USUAL_TOKENIZER
from stairs.text.corpus import Corpus
from stairs.text.examples import Text
from stairs.text.shards import build
from stairs.text.tokenizer import TokenizerSpec


def labelled():
    texts = [(f"the {word} cat number {i}", label) for i in range(30) for word, label in (("happy", "good"), ("sad", "bad"))]
    return [Text(text, label, f"cats.csv:{i}") for i, (text, label) in enumerate(texts, 2)]


@pytest.fixture
def shards(tmp_path):
    text = tmp_path / "cats.txt"
    text.write_text("\n\n".join(f"The cat {i} sat on the mat. It was cat number {i}." for i in range(200)))

    def shards_for(step):
        spec = TokenizerSpec(USUAL_TOKENIZER[step], vocab_size=None if step == "ngram" else 300)
        return build(Corpus([text]), spec, cache=tmp_path / "cache")

    return shards_for


def test_a_row_for_each_step_and_runs_that_can_be_asked(shards, tmp_path, monkeypatch):
    from stairs.training.run import load

    monkeypatch.setattr(ladder, "SHORTEST", 0.1)
    monkeypatch.setattr(ladder, "LEARNING_SHARE", 0.01)
    report = climb(shards, labelled(), tmp_path / "out", budget=200, steps=None)
    ground = [(row["step"], row["asks"]) for row in report["rows"]]
    classifiers = [(step, "classify") for step in ("ngram", "words", "cbow", "skipgram", "glove")]
    assert ground == [("ngram", "next-token"), *classifiers, ("nnlm", "next-token"), ("gpt", "next-token")]
    assert all("bits_per_character" in row for row in report["rows"] if row["asks"] == "next-token")
    assert all(row["megabytes"] >= 0 and row["seconds"] >= 0 for row in report["rows"])
    assert json.loads((tmp_path / "out" / "report.json").read_text())["rows"] == report["rows"]
    assert load(tmp_path / "out" / "classify-words").answer("a happy cat")["label"] == "good"
    assert load(tmp_path / "out" / "classify-glove").answer("a happy cat")["label"] in ("good", "bad")
    assert load(tmp_path / "out" / "window-glove").answer("cat")["near"]


@pytest.mark.parametrize("step", ["ngram", "glove"])
def test_run_again_it_does_not_train_again(shards, tmp_path, step):
    first = climb(shards, labelled(), tmp_path / "out", budget=60, steps=[step])
    second = climb(shards, labelled(), tmp_path / "out", budget=60, steps=[step])
    assert not any("failed" in row for row in first["rows"])
    timing = ("ms_per_text",)
    for a, b in zip(first["rows"], second["rows"], strict=True):
        assert {k: v for k, v in a.items() if k not in timing} == {k: v for k, v in b.items() if k not in timing}


def test_a_used_up_budget_is_said_in_the_row(shards, tmp_path):
    report = climb(shards, labelled(), tmp_path / "out", budget=1e-9, steps=["ngram", "words"])
    assert all("budget" in row["not_tried"] for row in report["rows"]) and report["recommendation"] is None


def test_an_unknown_step(shards, tmp_path):
    with pytest.raises(BadInput, match="'bret'"):
        climb(shards, labelled(), tmp_path / "out", budget=60, steps=["bret"])


def test_the_split_keeps_every_label_and_does_not_depend_on_chance():
    examples = labelled()
    train, test = split(examples, 0)
    assert len(train) == 48 and len(test) == 12 and sum(e.label == "good" for e in test) == 6
    assert not set(map(id, train)) & set(map(id, test)) and split(examples, 0) == (train, test) != split(examples, 1)
    with pytest.raises(BadInput, match="too few"):
        split(examples[:2], 0)


def row(step, value, low, high, cost):
    return {"step": step, "accuracy": {"value": value, "low": low, "high": high}, "seconds": cost, "ms_per_text": 1.0}


def test_the_cheapest_within_the_interval_of_the_best_is_recommended():
    assert recommendation([row("ngram", 0.80, 0.78, 0.82, 1), row("words", 0.81, 0.79, 0.83, 9)])["step"] == "ngram"
    assert recommendation([row("ngram", 0.70, 0.68, 0.72, 1), row("words", 0.81, 0.79, 0.83, 9)])["step"] == "words"
    assert recommendation([]) is None
