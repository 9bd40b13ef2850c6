"""The options of a training, what it probes, and what a plan estimates."""

import json
import sys
import time
from types import SimpleNamespace

import pytest

from stairs import machine
from stairs.errors import BadInput
from stairs.machine import find_device
from stairs.training import probe
from stairs.training.clock import Action
from stairs.training.estimates import estimate_gradients
from stairs.training.fit import SingleProcess, gradient_plan
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions, parse_duration
from stairs.training.records import describe_differences
from stairs.training.run import Run, load
from tests.training.train_process import fit_arguments


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("20m", 1200), ("2h", 7200), ("1.5m", 90), ("30", 30), ("1d", 86400)])
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-5m", "20 minutes", "0s", "1e9d", "nan"])
def test_what_is_not_a_duration(text):
    with pytest.raises(BadInput, match="write it as 90s, 20m or 2h"):
        TrainingOptions(budget=text).check()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 0}, "--steps 0 is not between 1 and"),
        ({"steps": 10**10}, "--steps"),
        ({"epochs": -1}, "--epochs -1 is not between 0 and"),
        ({"epochs": 0}, "--epochs 0 would train nothing"),
        ({"learning_rate": float("nan")}, "--learning-rate nan"),
        ({"learning_rate": float("inf")}, "--learning-rate inf"),
        ({"learning_rate": -0.1}, "--learning-rate -0.1"),
        ({"threads": 0}, "--threads 0"),
        ({"batch_tokens": 10**12}, "--batch-tokens"),
        ({"warmup": 1.5}, "--warmup"),
        ({"seed": -1}, "--seed -1"),
        ({"device": "gpu"}, "--device 'gpu' is unknown"),
        ({"steps": 5, "epochs": 2}, "--steps and --epochs both say how long"),
    ],
)
def test_impossible_values_are_refused(settings, words):
    with pytest.raises(BadInput, match=words.replace("(", r"\(")):
        TrainingOptions(**settings).check()


def test_a_missing_device_is_refused():
    with pytest.raises(BadInput, match="no CUDA device"):
        find_device("cuda:9")


def test_every_option_has_its_help_on_its_line():
    import inspect
    import re
    from dataclasses import fields

    helps = dict(re.findall(r"^ {4}(\w+):.*?# (.*)$", inspect.getsource(TrainingOptions), re.M))
    assert all(helps.get(field.name) for field in fields(TrainingOptions))


def test_only_differences_of_the_environment_are_reported():
    now = {"threads": 1, "torch": "2.13.0", "workers": 1}
    assert describe_differences(now, now) == "" and describe_differences({}, now) == ""
    assert describe_differences({**now, "threads": 2}, now) == "not bit-exact: threads 2 -> 1"
    assert describe_differences({**now, "workers": 2}, now) == "same data order, not bit-exact (world size 2 -> 1)"


@pytest.mark.parametrize(("fp32", "bf16", "chosen"), [(1.0, 0.5, "bf16"), (1.0, 0.99, "fp32"), (1.0, 2.0, "fp32")])
def test_precision_is_bf16_only_where_that_is_native_and_faster(train, tmp_path, monkeypatch, fp32, bf16, chosen):
    precisions = []

    def seconds_per_step(updater, precision, *limits):
        precisions.append(precision)
        return {"fp32": fp32, "bf16": bf16}[precision] / 1000

    monkeypatch.setattr(probe, "seconds_per_step", seconds_per_step)
    monkeypatch.setattr(machine, "precisions", lambda: ("bf16", "fp32"))
    train(steps=2, precision="auto")
    assert Run(tmp_path / "run").settings["probed_plan"]["precision"] == chosen and precisions == ["bf16", "fp32"]
    monkeypatch.setattr(machine, "precisions", lambda: ("fp32",))
    train(steps=2, precision="auto", out=tmp_path / "ordinary")
    assert Run(tmp_path / "ordinary").settings["probed_plan"]["precision"] == "fp32" and len(precisions) == 2  # what is emulated is never precisions


def test_a_precision_that_is_much_slower_is_given_up_after_one_update(text, tmp_path, monkeypatch):
    updater, _ = new_updater(text, tmp_path)
    rehearsals = []
    monkeypatch.setattr(updater, "rehearse", lambda step: rehearsals.append(step) or time.sleep(0.51))
    assert probe.seconds_per_step(updater, "fp32", limit=10, give_up=0.1) > 0.5 and rehearsals == [0]


def test_emulated_bf16_is_allowed_with_a_message(train, monkeypatch, messages):
    monkeypatch.setattr(machine, "has_bf16", lambda: False)
    train(steps=1, precision="bf16")
    assert any("emulates bfloat16" in line and "times as slow" in line for line in messages)


def new_updater(text, tmp_path, **settings):
    task, shards, _, options = fit_arguments(tmp_path / "run", text, "gpt", **settings)
    return GradientUpdater(task, shards, options, SingleProcess(find_device("cpu"))), options


def test_a_probe_changes_no_bit_of_the_weights(text, tmp_path):
    updater, _ = new_updater(text, tmp_path)
    before = [weight.detach().clone() for weight in updater.weights]
    assert probe.seconds_per_step(updater, "fp32", 0.1) > 0
    assert all((a == b).all() for a, b in zip(before, updater.weights, strict=True))
    assert not updater.optimizer.state


def test_a_plan_estimates_minutes_memory_and_disk(text, tmp_path):
    updater, _ = new_updater(text, tmp_path, steps=None, epochs=2)
    plan = estimate_gradients(updater, gradient_plan(updater), lambda limit: {"tokens": 100})
    assert plan["epochs"] == 2 and plan["steps"] == 2 * updater.steps_per_epoch
    assert plan["minutes"] >= 0 and plan["memory_mb"] > 50 and plan["disk_mb"] > 0 and plan["tokens_per_second"] > 0
    json.dumps(plan)


def test_parts_give_the_same_gradient_as_the_whole(text, tmp_path):
    results = []
    for parts in (1, 3):
        updater, _ = new_updater(text, tmp_path, accumulate=parts, dropout=0.0)
        losses = [updater.update(Action("update", step, lr_factor=1.0))[0] for step in range(10)]
        results.append((losses, [weight.detach().clone() for weight in updater.weights]))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    assert all(a.allclose(b, atol=1e-5) for a, b in zip(results[0][1], results[1][1], strict=True))


def test_early_stopping_when_validation_gets_worse(train, text, tmp_path, messages):
    train(steps=400, learning_rate=0.02, patience=2, evaluate_every=5, dropout=0.0)
    last = Run(tmp_path / "run").metrics()[-1]
    assert last["step"] < 400 and last["best_step"] == last["step"] - 10
    assert [line for line in messages if "stopping early after 2 evaluations without improvement" in line]
    best = min(line["bits_per_character"]["value"] for line in Run(tmp_path / "run").metrics()[:-1] if "perplexity" in line)
    assert last["validation"]["bits_per_character"]["value"] == best  # the best weights are kept, not the last
    shards = fit_arguments(tmp_path / "run", text, "gpt")[1]
    measured = load(tmp_path / "run").evaluate_split(shards, "validation")
    assert measured["bits_per_character"]["value"] == pytest.approx(best, rel=1e-6)


def test_bf16_learns_as_fp32_does(train, tmp_path):
    losses = {}
    for precision in ("fp32", "bf16"):
        train(out=tmp_path / precision, steps=60, learning_rate=0.01, precision=precision, dropout=0.0)
        losses[precision] = Run(tmp_path / precision).metrics()[-1]["bits_per_character"]["value"]
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.05)


def test_a_missing_tensorboard_is_one_sentence(train, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BadInput, match="pip install tensorboard"):
        train(tensorboard=True)
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_the_curves(train, monkeypatch):
    scalars = []

    class Writer:
        def __init__(self, folder, purge_step):
            scalars.append((folder, purge_step))

        def add_scalar(self, name, value, step):
            scalars.append((name, step))

        def flush(self):
            pass

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    train(steps=10, tensorboard=True)
    assert scalars[0][0].endswith("run/tensorboard") and scalars[0][1] == 1
    assert {("loss", 1), ("loss", 10), ("bits_per_character", 10)} <= set(scalars)
