"""A sweep tries BERT's batch sizes, learning rates and epochs, and keeps the best: killed anywhere, it ends with the same bits."""

import json
import shutil

import pytest

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.fine_tuning import FULL_RATE, REFERENCE_WIDTH
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training import selection as selecting
from stairs.training.fit import fit
from stairs.training.grid import BATCHES, EPOCHS, check_sweep, grid_points, has_time, sweep_table
from stairs.training.options import TrainingOptions
from stairs.training.selection import Candidate, fit_best, read_selection
from tests.support.small_world import SENTENCES, encoder
from tests.training.test_selection import EXAMPLES, TEXTS, Killed, kill, new_task

QUICK = TrainingOptions(precision="fp32", threads=1)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text for example in TEXTS]])


@pytest.fixture(scope="module")
def candidates(tokenizer):
    points = [{"batch_examples": 8, "learning_rate": rate, "epochs": epochs} for epochs in (2.0, 5.0) for rate in (1e-9, 0.02)]
    return [Candidate(f"full-{number}", 3, lambda: new_task(tokenizer, "full"), point) for number, point in enumerate(points)]


def test_the_grid_is_the_papers_for_an_encoder_as_wide_and_a_given_setting_is_not_varied():
    pieces = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=100), lambda: [SENTENCES])
    model = encoder("bert", pieces)
    points = grid_points(TrainingOptions(), model, TransferOptions())
    assert len(points) == 18 and {(point["batch_examples"], point["epochs"]) for point in points} == {(b, e) for b in BATCHES for e in EPOCHS}
    scale = REFERENCE_WIDTH / model.config.width
    assert sorted({point["learning_rate"] for point in points}) == pytest.approx([2e-5 * scale, 3e-5 * scale, FULL_RATE * scale])
    assert points[0] == {"batch_examples": 32, "learning_rate": pytest.approx(FULL_RATE * scale), "epochs": 3.0}  # the defaults come first
    given = TrainingOptions(learning_rate=1e-4, epochs=5.0)
    assert [tuple(point.values()) for point in grid_points(given, model, TransferOptions())] == [(32, 1e-4, 5.0), (16, 1e-4, 5.0)]


def test_the_best_combination_is_kept_with_its_own_options(candidates, tmp_path):
    measured = fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK)
    selection = read_selection(tmp_path / "run")
    assert measured["selection"] == selection and set(selection["sweep"]) == {candidate.name for candidate in candidates} and not selection["untried"]
    errors = {name: result["error"] for name, result in selection["sweep"].items()}
    assert errors == selection["validation_errors"] and errors[selection["selected"]] == min(errors.values()) == measured["error"]["value"]
    training = json.loads((tmp_path / "run" / "run.json").read_text())["training"]
    assert training["learning_rate"] == selection["sweep"][selection["selected"]]["learning_rate"] == 0.02
    assert [path.name for path in tmp_path.iterdir()] == ["run"] and not list((tmp_path / "run").glob("step-*"))
    assert fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK) == measured  # a finished one is not trained again
    table = sweep_table(selection["sweep"], selection["selected"], ["full-9"])
    assert len(table) == 6 and table[1].endswith("kept") and "no time was left for 1 of 5 combinations" in table[-1]


def test_killed_in_the_middle_it_comes_to_the_same_bits(candidates, tmp_path, monkeypatch):
    fit_best(candidates, EXAMPLES, tmp_path / "once", QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(selecting, "fit", lambda task, data, out, *rest, **more: kill() if out.name == "run-full-2" else fit(task, data, out, *rest))
        with pytest.raises(Killed):
            fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK)
    assert {path.name for path in tmp_path.iterdir()} == {"once", "run-full-0", "run-full-1"}
    fit_best(candidates, EXAMPLES, tmp_path / "run", QUICK)
    for name in ("model/model.safetensors", "model/head.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "once" / name).read_bytes()
    assert read_selection(tmp_path / "run")["validation_errors"] == read_selection(tmp_path / "once")["validation_errors"]
    shutil.rmtree(tmp_path / "once")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_budget_leaves_out_what_does_not_fit_and_never_the_first():
    def result(seconds, epochs):
        return {"batch_examples": 8, "learning_rate": 0.1, "epochs": epochs, "error": 0.5, "seconds": seconds}

    point = {"batch_examples": 8, "learning_rate": 0.1, "epochs": 4.0}
    assert has_time(point, [], 0.001) and has_time(point, [result(99.0, 1.0)], None)
    assert has_time(point, [result(30.0, 3.0)], 70.0) and not has_time(point, [result(30.0, 3.0)], 69.0)
    assert not has_time(point, [result(30.0, 3.0), result(20.0, 2.0)], 89.0)


def test_combinations_without_time_are_not_tried(candidates, tmp_path):
    fit_best(candidates, EXAMPLES, tmp_path / "run", TrainingOptions(precision="fp32", threads=1, budget="0.000001s"))
    selection = read_selection(tmp_path / "run")
    assert list(selection["sweep"]) == ["full-0"] and selection["untried"] == ["full-1", "full-2", "full-3"]


@pytest.mark.parametrize(
    ("options", "transfer", "sentence"),
    [
        (TrainingOptions(steps=5), TransferOptions(), "--steps and --sweep"),
        (TrainingOptions(), TransferOptions(transfer="features"), "--transfer features trains none of it"),
    ],
)
def test_what_a_sweep_cannot_vary_is_refused(options, transfer, sentence):
    with pytest.raises(BadInput, match=sentence):
        check_sweep(options, transfer)
    assert check_sweep(TrainingOptions(), TransferOptions(transfer="auto")).transfer == "full"
