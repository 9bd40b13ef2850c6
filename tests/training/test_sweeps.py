"""Steps that learn by sweeping over the text: the same promises as those that learn by gradients, epoch by epoch."""

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
from stairs.training.distributed import Workers
from stairs.training.fit import plan
from stairs.training.options import TrainingOptions
from stairs.training.run import Run, load
from stairs.training.snapshots import read_snapshots
from tests.training.nursery import outcome
from tests.training.toy import Toy
from tests.training.trainee import prepared


def teacher_of(text, tmp_path, **given):
    task, shards, _, options = prepared(tmp_path / "run", text, "toy", **given)
    task.start(options.seed)
    return sweeps.SweepUpdater(task, task.examples(shards), options, Workers(0, 1, torch.device("cpu"))), task, shards, options


# The plan of a training


def test_shares_of_all_workers_make_up_the_text():
    ends = []
    for number in range(3):
        for rank in range(2):
            ends.append(CorpusSlice(number, 3, 0, 0.1, 0.1, 0, 1, True, rank, 2).bounds(1001))
    assert ends[0][0] == 0 and ends[-1][1] == 1001
    assert all(a[1] == b[0] for a, b in pairwise(ends))


def test_every_stretch_is_swept_once_an_epoch_and_the_rate_falls_along_a_straight_line(train, tmp_path, monkeypatch):
    seen = []
    real = Toy.sweep
    monkeypatch.setattr(Toy, "sweep", lambda self, stretch: seen.append(stretch) or real(self, stretch))
    train("toy", epochs=2, deterministic=False)
    count = seen[0].slices
    assert count > 5 and [(s.epoch, s.number) for s in seen] == [(e, n) for e in range(2) for n in range(count)]
    assert seen[0].rate_from == Toy.learning_rate and seen[-1].rate_to == pytest.approx(Toy.learning_rate * sweeps.FINAL_LR_FACTOR)
    steps = np.diff([s.rate_from for s in seen])
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert all(a.rate_to == b.rate_from for a, b in pairwise(seen))


def test_a_constant_rate_stays(train, monkeypatch):
    seen = []
    real = Toy.sweep
    monkeypatch.setattr(Toy, "sweep", lambda self, stretch: seen.append(stretch) or real(self, stretch))
    train("toy", epochs=1, deterministic=False, learning_rate=0.3, steady=True)
    assert {(s.rate_from, s.rate_to) for s in seen} == {(0.3, 0.3)}


def test_it_learns_and_says_how_far_and_how_fast_it_is(train, tmp_path, said):
    last = train("toy", epochs=3)
    lines = Run(tmp_path / "run").metrics()
    losses = [line["loss"]["value"] for line in lines if isinstance(line["loss"], dict) and "finished" not in line]
    assert len(losses) == 3 and losses[2] < losses[0] < 2 * math.log(2)
    assert last["loss"]["low"] < last["loss"]["value"] < last["loss"]["high"]
    assert all(line["words"] > 0 and line["words_per_second"] > 0 for line in lines if "loss_hex" in line)
    assert [line for line in said if line.startswith("epoch 1 of 3 (step ") and "words/s" in line and "left" in line]


def test_five_epochs_unless_told_otherwise(text, tmp_path):
    task, _, _, _ = prepared(tmp_path / "run", text, "toy")
    assert sweeps.validated(task.model, TrainingOptions()).epochs == 5
    assert sweeps.validated(Toy, TrainingOptions(budget="1m")).epochs is None
    assert sweeps.validated(Toy, TrainingOptions(epochs=0.5)).epochs == 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 100}, "--steps means nothing to toy.*give --epochs or --budget"),
        ({"batch_tokens": 100}, "--batch-tokens means nothing to toy"),
        ({"schedule": "cosine"}, "--schedule means nothing"),
        ({"precision": "bf16"}, "--precision means nothing"),
        ({"clip": 0.0}, "--clip means nothing"),
        ({"device": "cuda"}, "--device cuda: toy is trained on the CPU"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_written(train, tmp_path, given, words):
    with pytest.raises(BadInput, match=words):
        train("toy", **({"epochs": None} if "steps" in given else {}), **given)
    assert not (tmp_path / "run").exists()


def test_deterministic_is_only_for_those_who_sweep(train):
    with pytest.raises(BadInput, match="--deterministic is for steps that sweep"):
        train("gpt", deterministic=True)


def test_runs_from_before_there_was_a_switch_go_on(train, tmp_path):
    train("gpt", steps=4)
    assert "deterministic" not in Run(tmp_path / "run").settings["training"]
    train("toy", out=tmp_path / "toy", epochs=1)
    with pytest.raises(BadInput, match=r"training\.deterministic = True and now None"):
        train("toy", out=tmp_path / "toy", epochs=1, deterministic=False)


def test_what_deterministic_costs_is_said(train, said):
    train("toy", epochs=1)
    assert [line for line in said if line.startswith("--deterministic reads ") and line.count("words/s") == 2]


# Going on


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_stretch_and_nothing_is_lost(train, tmp_path, monkeypatch, number, said):
    train("toy", out=tmp_path / "alone", save_every=1000)
    real, calls = Toy.sweep, []

    def interrupted(self, stretch):
        calls.append(stretch)
        if len(calls) == 24:  # two of them find out what --deterministic costs
            os.kill(os.getpid(), number)
        return real(self, stretch)

    monkeypatch.setattr(Toy, "sweep", interrupted)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        train("toy", save_every=1000)
    stands = checkpoint.checkpoint_steps(tmp_path / "run")[0]
    assert stands == len([line for line in Run(tmp_path / "run").metrics() if "loss_hex" in line]) == 20
    assert [line for line in said if "saved at epoch 1." in line and "the same command goes on from there" in line]
    train("toy", save_every=1000)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "alone")


def test_without_deterministic_it_goes_on_and_says_so(train, tmp_path, monkeypatch, said):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    train("toy", epochs=1, deterministic=False)
    assert not [line for line in said if "not bit-exact" in line]
    train("toy", epochs=2, deterministic=False)
    assert "not bit-exact: without --deterministic no two runs are the same" in said
    assert Run(tmp_path / "run").metrics()[-1]["step"] == Run(tmp_path / "run").settings["probed_plan"]["steps"]


def test_deterministic_runs_do_not_care_about_threads(train, tmp_path, said):
    train("toy", epochs=1)
    settings = Run(tmp_path / "run").settings
    assert "threads" not in settings["environment"] and settings["environment"]["numba"]
    train("toy", epochs=2, threads=2)
    assert not [line for line in said if "not bit-exact" in line]


def test_the_memory_goes_on_too(train, tmp_path):
    """AdaGrad's sums are not weights, and the rehearsal that found out the cost of --deterministic left no trace in them."""
    train("toy", epochs=1, steady=True)
    sums = load_file(next(iter(sorted((tmp_path / "run").glob("step-*"), reverse=True))) / checkpoint.OPTIMIZER_FILE)["sums"]
    assert sums.shape[0] == 2 and 1 < float(sums.max()) < 1000
    train("toy", epochs=2, steady=True)
    train("toy", out=tmp_path / "alone", epochs=2, steady=True)
    assert outcome(tmp_path / "run")["weights"] == outcome(tmp_path / "alone")["weights"]


def test_a_damaged_checkpoint_costs_an_epoch_at_most(train, tmp_path, said):
    train("toy", out=tmp_path / "alone")
    train("toy")
    run = tmp_path / "run"
    shutil.rmtree(run / "model")
    newest = checkpoint.checkpoint_steps(run)[0]
    (run / checkpoint.checkpoint_name(newest) / checkpoint.OPTIMIZER_FILE).write_bytes(b"")
    train("toy")
    assert [line for line in said if f"{checkpoint.checkpoint_name(newest)}" in line and "instead" in line]
    assert outcome(run) == outcome(tmp_path / "alone")


def test_a_fork_counts_the_new_text(train, text, tmp_path):
    train("toy", epochs=1)
    other = tmp_path / "other.txt"
    other.write_text(text.read_text()[: len(text.read_text()) // 2])
    train("toy", out=tmp_path / "run", corpus=other, epochs=2, accept_new_corpus=True)
    old = load_file(tmp_path / "run" / "model" / "model.safetensors")["counts"]
    assert old.sum() < len(text.read_text().split())


# Epochs


def test_it_judges_saves_and_keeps_a_snapshot_after_every_epoch(train, tmp_path):
    train("toy", epochs=2.5, save_every=1000, keep=100)
    run = Run(tmp_path / "run")
    epoch, steps = run.settings["probed_plan"]["steps_per_epoch"], run.settings["probed_plan"]["steps"]
    assert checkpoint.checkpoint_steps(run.folder) == [steps, 2 * epoch, epoch]
    found = read_snapshots(run.folder)
    assert [snapshot["epoch"] for snapshot in found] == [0, 1, 2]
    assert found[0]["words"] == found[2]["words"] and found[0]["words"][0] in ("w0", "w1", "w2", ".")
    assert found[0]["vectors"].shape == (len(found[0]["words"]), 8)
    moved = [np.abs(b["vectors"] - a["vectors"]).max() for a, b in pairwise(found)]
    assert min(moved) > 0
    json.dumps(found[0]["words"])


def test_it_stops_early_and_keeps_the_best(train, tmp_path, monkeypatch, said):
    from stairs.tasks import WordVectors

    real, values = WordVectors.evaluate_split, iter([3.0, 1.0, 2.0, 2.5, 1.5, 1.0])
    judged = []

    def decreed(self, shards, *arguments, **options):
        judged.append(self.model.vectors.detach().clone())
        return {**real(self, shards, *arguments, **options), "loss": {"value": (value := next(values)), "low": value, "high": value}}

    monkeypatch.setattr(WordVectors, "evaluate_split", decreed)
    train("toy", epochs=10, patience=2)
    last = Run(tmp_path / "run").metrics()[-1]
    epoch = Run(tmp_path / "run").settings["probed_plan"]["steps_per_epoch"]
    assert last["step"] == 4 * epoch and last["best_step"] == 2 * epoch
    assert [line for line in said if "2 evaluations brought nothing better" in line]
    assert torch.equal(load(tmp_path / "run").model.vectors, judged[1])


def test_a_budget_is_probed_once_and_gives_a_part_of_an_epoch_if_there_is_no_more(train, tmp_path, monkeypatch, said):
    monkeypatch.setattr(sweeps.SweepUpdater, "rehearse", lambda self, deterministic: 100.0)  # words a second
    monkeypatch.setattr(sweeps, "seconds_per_position", lambda judge, teacher: {"one": 0.0, "all": 0.0})
    told = {"epochs": None, "budget": "40s", "deterministic": False}
    train("toy", **told)
    found = Run(tmp_path / "run").settings["probed_plan"]
    assert 5 <= found["steps"] <= 8 < found["steps_per_epoch"]
    monkeypatch.setattr(sweeps.SweepUpdater, "rehearse", lambda self, deterministic: 1.0)  # a slower day changes nothing
    train("toy", **told)
    assert Run(tmp_path / "run").settings["probed_plan"] == found and said[-1].endswith("is finished; nothing to do")


def test_a_probe_leaves_no_trace(text, tmp_path):
    teacher, task, _, _ = teacher_of(text, tmp_path)
    before = {name: tensor.clone() for name, tensor in [*task.model.state_dict().items(), *task.model.optimizer_state().items()] if name != "counts"}
    assert teacher.rehearse(True) > 0
    after = {**task.model.state_dict(), **task.model.optimizer_state()}
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_plan_tells_minutes_memory_and_disk(text, tmp_path):
    _, task, shards, options = teacher_of(text, tmp_path)
    found = plan(task, shards, options)
    assert found["epochs"] == 4 and found["steps"] % 4 == 0 and found["words_per_second"] > 0
    assert found["minutes"] >= 0 and found["memory_mb"] > 50 and found["disk_mb"] > 0
    json.dumps(found)


# Numbers that are none


def test_a_loss_that_is_no_number_ends_it_and_nothing_bad_is_on_disk(train, tmp_path, monkeypatch):
    real = Toy.sweep

    def poisoned(self, stretch):
        nats, pairs, words = real(self, stretch)
        if stretch.rate_from and stretch.number == 6:
            as_if_diverged = torch.full_like(self.vectors, math.nan)
            self.vectors.copy_(as_if_diverged)
            nats = math.nan
        return nats, pairs, words

    monkeypatch.setattr(Toy, "sweep", poisoned)
    with pytest.raises(Diverged, match=r"the loss became nan at step 7; try --learning-rate 0\.02"):
        train("toy", save_every=1)
    for path in (tmp_path / "run").rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(path).values())
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].step == 6


def test_weights_that_are_no_numbers_are_not_written_though_the_loss_is_one(train, tmp_path, monkeypatch):
    real = Toy.sweep

    def poisoned(self, stretch):
        found = real(self, stretch)
        if stretch.rate_from:
            self.contexts[-1] = math.inf
        return found

    monkeypatch.setattr(Toy, "sweep", poisoned)
    with pytest.raises(Diverged, match="the vectors grew beyond all bounds at step 1; try --learning-rate"):
        train("toy", save_every=1)
    assert not list((tmp_path / "run").glob("step-*"))


@pytest.mark.parametrize("step", ["skipgram", "cbow", "glove"])
@pytest.mark.parametrize("rate", [1e8, 1e20, 1e38])
def test_divergence_ends_with_a_sentence(train, tmp_path, step, rate):
    with pytest.raises(Diverged, match="--learning-rate"):
        train(step, learning_rate=rate, save_every=1, epochs=50)
    for path in (tmp_path / "run").rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(path).values())


def test_a_finished_run_is_not_even_counted_again(train, monkeypatch):
    train("toy", epochs=1)
    monkeypatch.setattr(Toy, "prepare", lambda *arguments: pytest.fail("it was counted"))
    train("toy", epochs=1)


def test_adopted_vectors_are_not_trained():
    with pytest.raises(Unsupported, match="adopted, not trained"):
        sweeps.validated(MODELS["vectors"], TrainingOptions())


def test_workers_add_up_what_each_has_learnt(text, tmp_path):
    """The other worker is played by one that found the same."""
    teacher, *_ = teacher_of(text, tmp_path)
    own = [tensor.clone() for tensor in teacher.state_tensors()]
    teacher.workers = SimpleNamespace(add_up=lambda tensor: tensor * 2, count=2)
    teacher.merge_workers([0.9 * tensor for tensor in own])  # all rows have moved a little
    assert all(torch.allclose(now, 1.1 * was) for now, was in zip(teacher.state_tensors(), own, strict=True))
    teacher.merge_workers([torch.zeros_like(tensor) for tensor in own])  # and now far
    *weights, memory = zip(teacher.state_tensors(), own, strict=True)
    assert all(torch.allclose(now, 1.1 * was) for now, was in weights)  # the mean, since both went the same way
    assert torch.allclose(memory[0], 2.2 * memory[1])


def test_changes_add_up_as_far_as_they_are_at_right_angles():
    was = torch.tensor([[0.1, 0.0], [0.1, 0.0], [9.0, 0.0]])
    one, other = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    squares = one.square().sum(1) + other.square().sum(1)
    assert sweeps.damping(one + other, squares, was, 2)[:, 0].tolist() == [1.0, 0.5, 1.0]
    assert sweeps.damping(torch.zeros(3), torch.zeros(3), torch.ones(3), 2).tolist() == [1.0] * 3
