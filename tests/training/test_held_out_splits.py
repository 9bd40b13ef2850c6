"""Validation data chooses the weights; test data is judged once, with those."""

import pytest

from stairs.tasks import BidirectionalLM, MaskedToken, NextToken, Translate, WordVectors
from stairs.training.fit import fit
from stairs.training.run import Run, load
from tests.training.train_process import fit_arguments

TASK_OF = {"ngram": NextToken, "gpt": NextToken, "elmo": BidirectionalLM, "bert": MaskedToken, "toy": WordVectors, "seq2seq": Translate}


@pytest.fixture
def judged(monkeypatch):
    """The parts of the data in the order in which they were judged."""
    found = []

    def noted(real):
        def evaluate(self, shards, split="validation", *rest, **options):
            found.append(split)
            return real(self, shards, split, *rest, **options)

        return evaluate

    for task in (NextToken, MaskedToken, Translate, WordVectors):
        monkeypatch.setattr(task, "evaluate_split", noted(task.evaluate_split))
    return found


@pytest.mark.parametrize("step", list(TASK_OF))
def test_the_test_part_is_judged_once_and_last(step, text, tmp_path, judged):
    task, shards, out, options = fit_arguments(tmp_path / "run", text, step)
    if step == "seq2seq":
        shards = type(shards)(shards.train, shards.validation[:10], test=shards.validation[10:])
    measured = fit(task, shards, out, options)
    assert judged[-1] == "test" and set(judged[:-1]) == {"validation"}
    assert measured == Run(out).metrics()[-1] and measured["validation"][task.monitor]["value"] > 0
    kept = load(out)
    kept.trained_module.eval()
    on_test, on_validation = (kept.evaluate_split(shards, split)[task.monitor]["value"] for split in ("test", "validation"))
    assert measured[task.monitor]["value"] == pytest.approx(on_test, rel=1e-6) != on_validation
    assert measured["validation"][task.monitor]["value"] == pytest.approx(on_validation, rel=1e-6)


def test_a_budget_judges_the_test_part_once_too(text, tmp_path, judged):
    fit(*fit_arguments(tmp_path / "run", text, "gpt", steps=None, budget="3s"), refuse_short=False)
    assert judged[-1] == "test" and set(judged[:-1]) == {"validation"}


def test_the_best_weights_of_another_text_are_forgotten(train, text, tmp_path):
    train(steps=10)
    other = tmp_path / "other.txt"
    other.write_text("\n".join(" ".join(reversed(line.split())) for line in text.read_text().split("\n")))
    measured = train(corpus=other, steps=20, accept_new_corpus=True)
    assert measured["best_step"] == 20
