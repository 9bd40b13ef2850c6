"""Several candidates, of which the best on validation examples is kept: killed anywhere, it ends with the same bits."""

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
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training import selection
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.selection import Candidate, fit_best, read_selection

TEXTS = [LabelledText(f"{word} and {word} number {number}", "food" if word in ("soup", "rice") else "weather")
         for number in range(8) for word in ("soup", "rice", "rain", "snow")]  # fmt: skip
EXAMPLES = LabelledSplits(TEXTS[8:], TEXTS[:8])
QUICK = TrainingOptions(epochs=3, batch_examples=8, learning_rate=0.01, precision="fp32", threads=1)


def new_task(tokenizer, transfer):
    model = MODELS["bert"](CONFIGS["bert"](vocab_size=tokenizer.vocab_size, context=16, width=16, heads=2, layers=1))
    model.initialize(0)
    return Classify(model, tokenizer, TransferOptions(transfer=transfer), **Classify.settings_from(TEXTS))


@pytest.fixture(scope="module")
def candidates():
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text for example in TEXTS]])
    return [Candidate(transfer, cost, partial(new_task, tokenizer, transfer)) for transfer, cost in (("features", 1), ("full", 3))]


@pytest.fixture(scope="module")
def uninterrupted(candidates, tmp_path_factory):
    """A selection that was not interrupted."""
    out = tmp_path_factory.mktemp("selection") / "run"
    fit_best(candidates, EXAMPLES, out, QUICK)
    return out


def test_the_best_candidate_is_kept_and_the_others_are_deleted(candidates, uninterrupted):
    selection = read_selection(uninterrupted)
    errors = selection["validation_errors"]
    assert set(errors) == {"features", "full"} and errors[selection["selected"]] == min(errors.values())
    assert [path.name for path in uninterrupted.parent.iterdir()] == ["run"]
    assert json.loads((uninterrupted / "run.json").read_text())["transfer"]["transfer"] == selection["selected"]
    assert fit_best(candidates, EXAMPLES, uninterrupted, QUICK)["error"]["value"] == min(errors.values())


class Killed(BaseException):
    """What no handler catches."""


@pytest.mark.parametrize("moment", ["second candidate", "before the name", "behind the name"])
def test_killed_anywhere_it_comes_to_the_same_bits(moment, candidates, uninterrupted, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        if moment == "second candidate":
            patch.setattr(selection, "fit", lambda task, *rest, **more: fit(task, *rest, **more) if task.transfer.transfer == "features" else kill())
        elif moment == "before the name":
            patch.setattr(Path, "rename", kill)
        else:
            patch.setattr(shutil, "rmtree", kill)
        with pytest.raises(Killed):
            fit_best(candidates, EXAMPLES, out, QUICK)
    fit_best(candidates, EXAMPLES, out, QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    for name in ("model/model.safetensors", "model/head.safetensors", "selection.json"):
        assert (out / name).read_bytes() == (uninterrupted / name).read_bytes()


def kill(*arguments, **others):
    raise Killed


def test_a_budget_is_shared(candidates, monkeypatch, tmp_path):
    shares = []
    monkeypatch.setattr(selection, "fit", lambda task, examples, out, options, **more: shares.append(options.budget) or {})
    fit_best(candidates, EXAMPLES, tmp_path / "run", TrainingOptions(budget="2m"))
    assert shares == ["30.000s", "90.000s"]


def test_a_selection_that_cannot_be_read_is_refused(candidates, uninterrupted, tmp_path):
    shutil.copytree(uninterrupted, tmp_path / "run")
    (tmp_path / "run" / "selection.json").write_text("{}")
    with pytest.raises(BadInput, match=r"selection.json does not name the selected candidate"):
        fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK)
