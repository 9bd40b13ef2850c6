"""Several ways to learn, of which the best on validation examples is kept: killed anywhere, it comes to the same bits."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from stairs.errors import BadInput
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import Classify
from stairs.tasks.parts.supervised import LabelledSplits
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training import tuning
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.tuning import Candidate, fit_best, read_selection

TEXTS = [LabelledText(f"{word} and {word} number {number}", "food" if word in ("soup", "rice") else "weather")
         for number in range(8) for word in ("soup", "rice", "rain", "snow")]  # fmt: skip
EXAMPLES = LabelledSplits(TEXTS[8:], TEXTS[:8])
QUICK = TrainingOptions(epochs=3, batch_examples=8, learning_rate=0.01, precision="fp32", threads=1)


def new_task(tokenizer, way):
    model = MODELS["bert"](CONFIGS["bert"](vocab_size=tokenizer.vocab_size, context=16, width=16, heads=2, layers=1))
    model.initialize(0)
    return Classify(model, tokenizer, TransferOptions(transfer=way), **Classify.settings_from(TEXTS))


@pytest.fixture(scope="module")
def candidates():
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text for example in TEXTS]])
    return [Candidate(way, cost, partial(new_task, tokenizer, way)) for way, cost in (("features", 1), ("full", 3))]


@pytest.fixture(scope="module")
def whole(candidates, tmp_path_factory):
    """A choice that nobody interrupted."""
    out = tmp_path_factory.mktemp("selection") / "run"
    fit_best(candidates, EXAMPLES, out, QUICK)
    return out


def test_the_better_one_is_kept_and_the_others_are_not(candidates, whole):
    known = read_selection(whole)
    errors = known["validation_errors"]
    assert set(errors) == {"features", "full"} and errors[known["selected"]] == min(errors.values())
    assert [path.name for path in whole.parent.iterdir()] == ["run"]
    assert json.loads((whole / "run.json").read_text())["transfer"]["transfer"] == known["selected"]
    assert fit_best(candidates, EXAMPLES, whole, QUICK)["error"]["value"] == min(errors.values())


class Killed(BaseException):
    """What no handler catches."""


@pytest.mark.parametrize("place", ["second candidate", "before the name", "behind the name"])
def test_killed_anywhere_it_comes_to_the_same_bits(place, candidates, whole, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        if place == "second candidate":
            patched.setattr(tuning, "fit", lambda task, *given: fit(task, *given) if task.transfer.transfer == "features" else killed())
        elif place == "before the name":
            patched.setattr(Path, "rename", killed)
        else:
            patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(Killed):
            fit_best(candidates, EXAMPLES, out, QUICK)
    fit_best(candidates, EXAMPLES, out, QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    for name in ("model/model.safetensors", "model/head.safetensors", "selection.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def killed(*given, **others):
    raise Killed


def test_a_budget_is_shared(candidates, monkeypatch, tmp_path):
    shares = []
    monkeypatch.setattr(tuning, "fit", lambda task, examples, out, options: shares.append(options.budget) or {})
    fit_best(candidates, EXAMPLES, tmp_path / "run", TrainingOptions(budget="2m"))
    assert shares == ["30.000s", "90.000s"]


def test_a_choice_that_cannot_be_read_is_refused(candidates, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "run" / "selection.json").write_text("{}")
    with pytest.raises(BadInput, match=r"selection.json does not name the selected candidate"):
        fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK)
