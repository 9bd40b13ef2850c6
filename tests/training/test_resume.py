"""Killed at any instant and started again, a run ends with the bits of one that was left alone (F1, F8, F9)."""

import os
import random
import shutil
import signal
import time

import pytest

from stairs.errors import BadInput
from stairs.training import checkpoint
from tests.training.training_server import outcome

STEPS = ("ngram", "nnlm", "gpt", "bert", "elmo", "seq2seq", "transformer", "tuned", "toy", "skipgram")


def killed_again_and_again(server, out, step: str, kills: int, seed: int, **given) -> int:
    """Start and kill `kills` times at random instants, then let it finish; the number of kills that hit a running process."""
    dice, hit = random.Random(seed), 0
    for _ in range(kills):
        number = server.start(out, step, **given)
        time.sleep(dice.uniform(0.0, 0.45))
        os.kill(number, signal.SIGKILL)
        hit += server.wait(number) == -signal.SIGKILL
    assert server.train(out, step, **given) == 0, server.messages(out)
    return hit


@pytest.mark.parametrize("step", STEPS)
def test_three_kills_change_no_bit(server, undisturbed, tmp_path, step):
    assert killed_again_and_again(server, tmp_path / "run", step, 3, seed=1) >= 1
    assert outcome(tmp_path / "run") == undisturbed(step)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_twenty_kills_change_no_bit(server, undisturbed, tmp_path, step):
    long = {"ngram": {}, "nnlm": {"steps": 800}, "toy": {"epochs": 40}, "skipgram": {"epochs": 120}}.get(step, {"steps": 400})
    longer = {**long, "save_every": 7, "patience": 0} if long else {}
    hit = killed_again_and_again(server, tmp_path / "run", step, 20, seed=2, **longer)
    assert hit >= (1 if step == "ngram" else 15)
    assert outcome(tmp_path / "run") == undisturbed(step, **longer)


def test_two_runs_of_one_seed_are_equal_and_another_seed_is_not(train, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(out=tmp_path / name, steps=5, seed=seed)
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b")
    assert outcome(tmp_path / "a")["weights"] != outcome(tmp_path / "c")["weights"]


# What the disk did to the newest checkpoint


LONGER = {"steps": 20, "schedule": "constant", "evaluate_every": 5}


@pytest.fixture(scope="module")
def stands(server, tmp_path_factory):
    """A run that stands at step 12 of 20, with checkpoints at 4, 8 and 12."""
    run = tmp_path_factory.mktemp("stands") / "run"
    assert server.train(run, "gpt", **{**LONGER, "steps": 12}) == 0
    shutil.rmtree(run / "model")
    return run


@pytest.fixture
def interrupted(stands, tmp_path):
    return shutil.copytree(stands, tmp_path / "run")


def test_a_run_can_be_made_longer(train, interrupted, undisturbed):
    train(**LONGER)
    assert outcome(interrupted)["weights"] == undisturbed("gpt", **LONGER)["weights"]


@pytest.mark.parametrize("name", ["manifest.json", checkpoint.STATE_FILE, checkpoint.OPTIMIZER_FILE, "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "cut", "zeroed", "flipped"])
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_taken(train, interrupted, undisturbed, messages, name, damage):
    path = interrupted / "step-000000012" / name
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    path.unlink()
    if damage == "flipped":
        content[middle] ^= 1
        path.write_bytes(content)
    elif damage != "missing":
        path.write_bytes(content[:middle] + (bytes(len(content) - middle) if damage == "zeroed" else b""))
    train(**LONGER)
    assert outcome(interrupted)["weights"] == undisturbed("gpt", **LONGER)["weights"]
    assert [line for line in messages if "step-000000012" in line and "resuming from step-000000008 instead" in line], messages


def test_without_any_checkpoint_that_verifies_it_says_what_was_tried(train, interrupted):
    for step in (4, 8, 12):
        (interrupted / checkpoint.checkpoint_name(step) / checkpoint.STATE_FILE).write_text("{}")
    with pytest.raises(BadInput, match=r"no usable checkpoint.*step-000000012.*step-000000008.*step-000000004.*delete the folder"):
        train(**LONGER)


def test_checkpoints_are_pruned_to_the_newest_and_the_best(train, tmp_path):
    train(steps=20, save_every=2, keep=2, evaluate_every=5)
    assert checkpoint.checkpoint_steps(tmp_path / "run") == [20, 18]
    assert len(list(checkpoint.best_folders(tmp_path / "run"))) == 1
