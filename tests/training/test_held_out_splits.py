"""Validation data chooses the weights; they are evaluated once on test data."""

import pytest

from stairs.tasks import BidirectionalLM, MaskedToken, NextToken, Translate, WordVectors
from stairs.training.fit import fit
from stairs.training.run import Run, load
from tests.training.train_process import fit_arguments

TASKS = {"ngram": NextToken, "gpt": NextToken, "elmo": BidirectionalLM, "bert": MaskedToken, "toy": WordVectors, "seq2seq": Translate}


@pytest.fixture
def evaluated_splits(monkeypatch):
    """The splits in the order of their evaluations."""
    splits = []

    def recording(real):
        def evaluate(self, shards, split="validation", *rest, **options):
            splits.append(split)
            return real(self, shards, split, *rest, **options)

        return evaluate

    for task in (NextToken, MaskedToken, Translate, WordVectors):
        monkeypatch.setattr(task, "evaluate_split", recording(task.evaluate_split))
    return splits


@pytest.mark.parametrize("model", list(TASKS))
def test_the_test_split_is_evaluated_once_and_last(model, text, tmp_path, evaluated_splits):
    task, shards, out, options = fit_arguments(tmp_path / "run", text, model)
    if model == "seq2seq":
        shards = type(shards)(shards.train, shards.validation[:10], test=shards.validation[10:])
    measured = fit(task, shards, out, options)
    assert evaluated_splits[-1] == "test" and set(evaluated_splits[:-1]) == {"validation"}
    assert measured == Run(out).metrics()[-1] and measured["validation"][task.monitor]["value"] > 0
    loaded = load(out)
    loaded.trained_module.eval()
    on_test, on_validation = (loaded.evaluate_split(shards, split)[task.monitor]["value"] for split in ("test", "validation"))
    assert measured[task.monitor]["value"] == pytest.approx(on_test, rel=1e-6) != on_validation
    assert measured["validation"][task.monitor]["value"] == pytest.approx(on_validation, rel=1e-6)


def test_under_a_budget_the_test_split_is_evaluated_once_too(text, tmp_path, evaluated_splits):
    fit(*fit_arguments(tmp_path / "run", text, "gpt", steps=None, budget="3s"), refuse_short=False)
    assert evaluated_splits[-1] == "test" and set(evaluated_splits[:-1]) == {"validation"}


def test_the_best_weights_of_another_text_do_not_count(train, text, tmp_path):
    train(steps=10)
    other = tmp_path / "other.txt"
    other.write_text("\n".join(" ".join(reversed(line.split())) for line in text.read_text().split("\n")))
    measured = train(corpus=other, steps=20, accept_new_corpus=True)
    assert measured["best_step"] == 20
