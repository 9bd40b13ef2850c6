"""Models that are trained by sweeps over the text: the same promises as with gradients, epoch by epoch."""

import json
import math
import os
import shutil
import signal
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from stairs.errors import BadInput, Diverged, Unsupported
from stairs.fast.corpus_slice import CorpusSlice
from stairs.models import MODELS
from stairs.training import checkpoint, sweeps
from stairs.training.estimates import plan
from stairs.training.fit import SingleProcess
from stairs.training.options import TrainingOptions
from stairs.training.run import Run, load
from stairs.training.snapshots import read_snapshots
from tests.training.toy_model import Toy
from tests.training.train_process import fit_arguments
from tests.training.training_server import outcome


def new_updater(text, tmp_path, **settings):
    task, shards, _, options = fit_arguments(tmp_path / "run", text, "toy", **settings)
    return sweeps.SweepUpdater(task, shards, options, SingleProcess(torch.device("cpu"))), task, shards, options


# Slices and options


def test_shares_of_all_workers_make_up_the_text():
    ends = []
    for index in range(3):
        for rank in range(2):
            ends.append(CorpusSlice(index, 3, 0, 0.1, 0.1, 0, 1, True, rank, 2).bounds(1001))
    assert ends[0][0] == 0 and ends[-1][1] == 1001
    assert all(a[1] == b[0] for a, b in pairwise(ends))


def test_every_slice_is_swept_once_an_epoch_and_the_learning_rate_falls_linearly(train, tmp_path, monkeypatch):
    slices = []
    sweep = Toy.sweep
    monkeypatch.setattr(Toy, "sweep", lambda self, corpus_slice: slices.append(corpus_slice) or sweep(self, corpus_slice))
    train("toy", epochs=2, deterministic=False)
    count = slices[0].slices
    assert count > 5 and [(s.epoch, s.index) for s in slices] == [(e, n) for e in range(2) for n in range(count)]
    assert slices[0].rate_from == Toy.learning_rate and slices[-1].rate_to == pytest.approx(Toy.learning_rate * sweeps.FINAL_LR_FACTOR)
    steps = np.diff([s.rate_from for s in slices])
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert all(a.rate_to == b.rate_from for a, b in pairwise(slices))


def test_a_constant_learning_rate_stays(train, monkeypatch):
    slices = []
    sweep = Toy.sweep
    monkeypatch.setattr(Toy, "sweep", lambda self, corpus_slice: slices.append(corpus_slice) or sweep(self, corpus_slice))
    train("toy", epochs=1, deterministic=False, learning_rate=0.3, steady=True)
    assert {(s.rate_from, s.rate_to) for s in slices} == {(0.3, 0.3)}


def test_it_learns_and_reports_its_progress_and_speed(train, tmp_path, messages):
    last = train("toy", epochs=3)
    lines = Run(tmp_path / "run").metrics()
    losses = [line["loss"]["value"] for line in lines if isinstance(line["loss"], dict) and "trained_steps" not in line]
    assert len(losses) == 3 and losses[2] < losses[0] < 2 * math.log(2)
    assert last["loss"]["low"] < last["loss"]["value"] < last["loss"]["high"]
    assert all(line["words"] > 0 and line["words_per_second"] > 0 for line in lines if "loss_hex" in line)
    assert [line for line in messages if line.startswith("epoch 1 of 3 (step ") and "words/s" in line and "left" in line]


def test_five_epochs_by_default(text, tmp_path):
    task, _, _, _ = fit_arguments(tmp_path / "run", text, "toy")
    assert TrainingOptions().validated(task.model).epochs == 5
    assert TrainingOptions(budget="1m").validated(Toy).epochs is None
    assert TrainingOptions(epochs=0.5).validated(Toy).epochs == 0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 100}, "--steps has no effect on toy.*give --epochs or --budget"),
        ({"batch_tokens": 100}, "--batch-tokens has no effect on toy"),
        ({"schedule": "cosine"}, "--schedule has no effect"),
        ({"precision": "bf16"}, "--precision has no effect"),
        ({"clip": 0.0}, "--clip has no effect"),
        ({"device": "cuda"}, "--device cuda: toy is trained on the CPU"),
    ],
)
def test_options_without_effect_are_refused_before_anything_is_written(train, tmp_path, settings, words):
    with pytest.raises(BadInput, match=words):
        train("toy", **({"epochs": None} if "steps" in settings else {}), **settings)
    assert not (tmp_path / "run").exists()


def test_deterministic_is_only_for_sweeps(train):
    with pytest.raises(BadInput, match="--deterministic is for cbow, skipgram and glove"):
        train("gpt", deterministic=True)


def test_a_switch_that_is_off_is_not_recorded(train, tmp_path):
    train("gpt", steps=4)
    assert "deterministic" not in Run(tmp_path / "run").settings["training"]
    train("toy", out=tmp_path / "toy", epochs=1)
    with pytest.raises(BadInput, match=r"training\.deterministic = True, now it is None"):
        train("toy", out=tmp_path / "toy", epochs=1, deterministic=False)


def test_the_cost_of_deterministic_is_reported(train, messages):
    train("toy", epochs=1)
    assert [line for line in messages if line.startswith("--deterministic reads ") and line.count("words/s") == 2]


# Resuming


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_slice_and_nothing_is_lost(train, tmp_path, monkeypatch, number, messages):
    train("toy", out=tmp_path / "undisturbed", save_every=1000)
    sweep, calls = Toy.sweep, []

    def interrupted(self, corpus_slice):
        calls.append(corpus_slice)
        if len(calls) == 24:  # four of them measure what --deterministic costs
            os.kill(os.getpid(), number)
        return sweep(self, corpus_slice)

    monkeypatch.setattr(Toy, "sweep", interrupted)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        train("toy", save_every=1000)
    saved_step = checkpoint.checkpoint_steps(tmp_path / "run")[0]
    assert saved_step == len([line for line in Run(tmp_path / "run").metrics() if "loss_hex" in line]) == 20
    assert [line for line in messages if "saved at epoch 1." in line and "the same command resumes from there" in line]
    train("toy", save_every=1000)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "undisturbed")


def test_without_deterministic_a_resumed_run_says_that_bits_differ(train, tmp_path, monkeypatch, messages):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    train("toy", epochs=1, deterministic=False)
    assert not [line for line in messages if "not bit-exact" in line]
    train("toy", epochs=2, deterministic=False)
    assert "not bit-exact: without --deterministic no two runs are the same" in messages
    assert Run(tmp_path / "run").metrics()[-1]["step"] == Run(tmp_path / "run").settings["probed_plan"]["steps"]


def test_deterministic_runs_do_not_depend_on_threads(train, tmp_path, messages):
    train("toy", epochs=1)
    settings = Run(tmp_path / "run").settings
    assert "threads" not in settings["environment"] and settings["environment"]["numba"]
    train("toy", epochs=2, threads=2)
    assert not [line for line in messages if "not bit-exact" in line]


def test_the_optimizer_state_is_resumed_too(train, tmp_path):
    """AdaGrad's sums are not weights, and the rehearsal that measured --deterministic left no trace in them."""
    train("toy", epochs=1, steady=True)
    sums = load_file(next(iter(sorted((tmp_path / "run").glob("step-*"), reverse=True))) / checkpoint.OPTIMIZER_FILE)["sums"]
    assert sums.shape[0] == 2 and 1 < float(sums.max()) < 1000
    train("toy", epochs=2, steady=True)
    train("toy", out=tmp_path / "undisturbed", epochs=2, steady=True)
    assert outcome(tmp_path / "run")["weights"] == outcome(tmp_path / "undisturbed")["weights"]


def test_a_damaged_checkpoint_costs_an_epoch_at_most(train, tmp_path, messages):
    train("toy", out=tmp_path / "undisturbed")
    train("toy")
    run = tmp_path / "run"
    shutil.rmtree(run / "model")
    newest = checkpoint.checkpoint_steps(run)[0]
    (run / checkpoint.checkpoint_name(newest) / checkpoint.OPTIMIZER_FILE).write_bytes(b"")
    train("toy")
    assert [line for line in messages if f"{checkpoint.checkpoint_name(newest)}" in line and "instead" in line]
    assert outcome(run) == outcome(tmp_path / "undisturbed")


def test_a_new_corpus_is_counted_again(train, text, tmp_path):
    train("toy", epochs=1)
    other = tmp_path / "other.txt"
    other.write_text(text.read_text()[: len(text.read_text()) // 2])
    train("toy", out=tmp_path / "run", corpus=other, epochs=2, accept_new_corpus=True)
    old = load_file(tmp_path / "run" / "model" / "model.safetensors")["counts"]
    assert old.sum() < len(text.read_text().split())


# Epochs


def test_every_epoch_ends_with_an_evaluation_a_checkpoint_and_a_snapshot(train, tmp_path):
    train("toy", epochs=2.5, save_every=1000, keep=100)
    run = Run(tmp_path / "run")
    epoch, steps = run.settings["probed_plan"]["steps_per_epoch"], run.settings["probed_plan"]["steps"]
    assert checkpoint.checkpoint_steps(run.folder) == [steps, 2 * epoch, epoch]
    snapshots = read_snapshots(run.folder)
    assert [snapshot["epoch"] for snapshot in snapshots] == [0, 1, 2]
    assert snapshots[0]["words"] == snapshots[2]["words"] and snapshots[0]["words"][0] in ("w0", "w1", "w2", ".")
    assert snapshots[0]["vectors"].shape == (len(snapshots[0]["words"]), 8)
    changes = [np.abs(b["vectors"] - a["vectors"]).max() for a, b in pairwise(snapshots)]
    assert min(changes) > 0
    json.dumps(snapshots[0]["words"])


def test_early_stopping_keeps_the_best_weights(train, tmp_path, monkeypatch, messages):
    from stairs.tasks import WordVectors

    sweep, values = WordVectors.evaluate_split, iter([3.0, 1.0, 2.0, 2.5, 1.5, 1.0])
    evaluated = []

    def fixed_losses(self, shards, *arguments, **options):
        evaluated.append(self.model.vectors.detach().clone())
        return {**sweep(self, shards, *arguments, **options), "loss": {"value": (value := next(values)), "low": value, "high": value}}

    monkeypatch.setattr(WordVectors, "evaluate_split", fixed_losses)
    train("toy", epochs=10, patience=2)
    last = Run(tmp_path / "run").metrics()[-1]
    epoch = Run(tmp_path / "run").settings["probed_plan"]["steps_per_epoch"]
    assert last["step"] == 4 * epoch and last["best_step"] == 2 * epoch
    assert [line for line in messages if "stopping early after 2 evaluations without improvement" in line]
    assert torch.equal(load(tmp_path / "run").model.vectors, evaluated[1])


def test_a_budget_is_probed_once_and_may_allow_only_part_of_an_epoch(train, tmp_path, monkeypatch, messages):
    monkeypatch.setattr(sweeps.SweepUpdater, "rehearse", lambda self, deterministic: 100.0)  # words a second
    monkeypatch.setattr(sweeps, "seconds_per_position", lambda evaluate, updater: {"one": 0.0, "all": 0.0})
    settings = {"epochs": None, "budget": "40s", "deterministic": False}
    train("toy", **settings)
    probed = Run(tmp_path / "run").settings["probed_plan"]
    assert 5 <= probed["steps"] <= 8 < probed["steps_per_epoch"]
    monkeypatch.setattr(sweeps.SweepUpdater, "rehearse", lambda self, deterministic: 1.0)  # a slower machine changes nothing
    train("toy", **settings)
    assert Run(tmp_path / "run").settings["probed_plan"] == probed and messages[-1].endswith("is finished; nothing to do")


def test_a_probe_leaves_no_trace(text, tmp_path):
    updater, task, _, _ = new_updater(text, tmp_path)
    before = {name: tensor.clone() for name, tensor in [*task.model.state_dict().items(), *task.model.optimizer_state().items()] if name != "counts"}
    assert updater.rehearse(True) > 0
    after = {**task.model.state_dict(), **task.model.optimizer_state()}
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_plan_estimates_minutes_memory_and_disk(text, tmp_path):
    _, task, shards, options = new_updater(text, tmp_path)
    estimate = plan(task, shards, options)
    assert estimate["epochs"] == 4 and estimate["steps"] % 4 == 0 and estimate["words_per_second"] > 0
    assert estimate["minutes"] >= 0 and estimate["memory_mb"] > 50 and estimate["disk_mb"] > 0
    json.dumps(estimate)


# Numbers that are not finite


def test_a_loss_that_is_not_finite_ends_the_training_and_is_not_saved(train, tmp_path, monkeypatch):
    sweep = Toy.sweep

    def poisoned(self, corpus_slice):
        nats, pairs, words = sweep(self, corpus_slice)
        if corpus_slice.rate_from and corpus_slice.index == 6:
            not_a_number = torch.full_like(self.vectors, math.nan)
            self.vectors.copy_(not_a_number)
            nats = math.nan
        return nats, pairs, words

    monkeypatch.setattr(Toy, "sweep", poisoned)
    with pytest.raises(Diverged, match=r"the loss became nan at step 7; try --learning-rate 0\.02"):
        train("toy", save_every=1)
    for path in (tmp_path / "run").rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(path).values())
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].step == 6


def test_weights_that_are_not_finite_are_not_saved_even_if_the_loss_is(train, tmp_path, monkeypatch):
    sweep = Toy.sweep

    def poisoned(self, corpus_slice):
        result = sweep(self, corpus_slice)
        if corpus_slice.rate_from:
            self.contexts[-1] = math.inf
        return result

    monkeypatch.setattr(Toy, "sweep", poisoned)
    with pytest.raises(Diverged, match="the vectors grew without bounds at step 1; try --learning-rate"):
        train("toy", save_every=1)
    assert not list((tmp_path / "run").glob("step-*"))


@pytest.mark.parametrize("model", ["skipgram", "cbow", "glove"])
@pytest.mark.parametrize("rate", [1e8, 1e20, 1e38])
def test_divergence_ends_with_a_sentence(train, tmp_path, model, rate):
    with pytest.raises(Diverged, match="--learning-rate"):
        train(model, learning_rate=rate, save_every=1, epochs=50)
    for path in (tmp_path / "run").rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(path).values())


def test_a_finished_run_is_not_even_counted_again(train, monkeypatch):
    train("toy", epochs=1)
    monkeypatch.setattr(Toy, "prepare", lambda *arguments: pytest.fail("it was counted"))
    train("toy", epochs=1)


def test_adopted_vectors_are_not_trained():
    with pytest.raises(Unsupported, match="adopted, not trained"):
        TrainingOptions().validated(MODELS["vectors"])


def test_changes_of_all_workers_are_merged(text, tmp_path):
    """With a second worker that made the same changes."""
    updater, *_ = new_updater(text, tmp_path)
    own = [tensor.clone() for tensor in updater.state_tensors()]
    updater.workers = SimpleNamespace(all_reduce_tensor=lambda tensor: tensor * 2, world_size=2)
    updater.merge_workers([0.9 * tensor for tensor in own])  # all rows have moved a little
    assert all(torch.allclose(now, 1.1 * was) for now, was in zip(updater.state_tensors(), own, strict=True))
    updater.merge_workers([torch.zeros_like(tensor) for tensor in own])  # and now by more than their length
    *weights, memory = zip(updater.state_tensors(), own, strict=True)
    assert all(torch.allclose(now, 1.1 * was) for now, was in weights)  # the mean, since both changes are the same
    assert torch.allclose(memory[0], 2.2 * memory[1])


def test_changes_add_up_as_far_as_they_are_orthogonal():
    was = torch.tensor([[0.1, 0.0], [0.1, 0.0], [9.0, 0.0]])
    one, other = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    squares = one.square().sum(1) + other.square().sum(1)
    assert sweeps.damping(one + other, squares, was, 2)[:, 0].tolist() == [1.0, 0.5, 1.0]
    assert sweeps.damping(torch.zeros(3), torch.zeros(3), torch.ones(3), 2).tolist() == [1.0] * 3
