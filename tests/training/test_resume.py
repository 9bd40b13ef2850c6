"""Killed at any instant and started again, a run ends with the bits of an undisturbed one (F1, F8, F9)."""

import os
import random
import shutil
import signal
import time

import pytest

from stairs.errors import BadInput
from stairs.training import checkpoint
from tests.training.training_server import outcome

NAMES = ("ngram", "nnlm", "gpt", "bert", "roberta", "unilm", "elmo", "seq2seq", "transformer", "tuned", "cnn", "toy", "skipgram")


def kill_repeatedly(server, out, model: str, kills: int, seed: int, **settings) -> int:
    """Start and kill `kills` times at random instants, then let it finish; the number of kills that hit a running process."""
    random_numbers, hits = random.Random(seed), 0
    for _ in range(kills):
        process = server.start(out, model, **settings)
        time.sleep(random_numbers.uniform(0.0, 0.45))
        os.kill(process, signal.SIGKILL)
        hits += server.wait(process) == -signal.SIGKILL
    assert server.train(out, model, **settings) == 0, server.messages(out)
    return hits


@pytest.mark.parametrize("model", [*NAMES, "xlnet"])
def test_three_kills_change_no_bit(server, undisturbed, tmp_path, model):
    assert kill_repeatedly(server, tmp_path / "run", model, 3, seed=1) >= 1
    assert outcome(tmp_path / "run") == undisturbed(model)


def test_three_kills_change_no_bit_where_states_before_the_token_attend(server, undisturbed, tmp_path):
    bahdanau = {"attention_query": "before", "source_width": 8, "layers": 2}
    assert kill_repeatedly(server, tmp_path / "run", "seq2seq", 3, seed=1, **bahdanau) >= 1
    assert outcome(tmp_path / "run") == undisturbed("seq2seq", **bahdanau) != undisturbed("seq2seq")


ATTENTION = [
    ("gpt", {"positions": "relative", "max_distance": 3, "share_projections": "kv"}),
    ("gpt", {"attention_pattern": "sparse", "radius": 4, "block": 4, "random_blocks": 1, "score": "folded"}),
    ("bert", {"attention_pattern": "linformer", "rank": 4, "positions": "sinusoidal"}),
    ("gpt", {"memory": 6, "positions": "rotary"}),
    ("transformer", {"positions": "buckets", "cross_heads": 1, "attention_pattern": "window", "radius": 3}),
]
MUON = [
    ("gpt", {"optimizer": "muon"}),
    ("bert", {"optimizer": "muon", "objective": "none", "mask_prob": 0.3}),
    ("transformer", {"optimizer": "muon"}),
]
SHORT = [  # what a recipe for minutes chooses
    ("gpt", {"optimizer": "muon", "stacking": 0.6, "skipgram_tokens": 4000, "layers": 3}),
    ("bert", {"optimizer": "muon", "stacking": 0.6, "skipgram_tokens": 4000, "objective": "none", "layers": 3}),
    ("transformer", {"optimizer": "muon", "stacking": 0.6, "layers": 2}),
]


@pytest.mark.parametrize(("model", "settings"), [*ATTENTION, *MUON, *SHORT])
def test_three_kills_change_no_bit_with_other_settings(server, undisturbed, tmp_path, model, settings):
    assert kill_repeatedly(server, tmp_path / "run", model, 3, seed=1, **settings) >= 1
    assert outcome(tmp_path / "run") == undisturbed(model, **settings) != undisturbed(model)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "settings"), [*MUON, *SHORT])
def test_twenty_kills_change_no_bit_with_the_recipe_for_minutes(server, undisturbed, tmp_path, model, settings):
    longer = {**settings, "steps": 400, "save_every": 7, "patience": 0}
    assert kill_repeatedly(server, tmp_path / "run", model, 20, seed=2, **longer) >= 15
    assert outcome(tmp_path / "run") == undisturbed(model, **longer)


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMES)
def test_twenty_kills_change_no_bit(server, undisturbed, tmp_path, model):
    long = {"ngram": {}, "nnlm": {"steps": 800}, "toy": {"epochs": 40}, "skipgram": {"epochs": 120}}.get(model, {"steps": 400})
    longer = {**long, "save_every": 7, "patience": 0} if long else {}
    hits = kill_repeatedly(server, tmp_path / "run", model, 20, seed=2, **longer)
    assert hits >= (1 if model == "ngram" else 15)
    assert outcome(tmp_path / "run") == undisturbed(model, **longer)


def test_two_runs_of_one_seed_are_equal_and_another_seed_is_not(train, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(out=tmp_path / name, steps=5, seed=seed)
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b")
    assert outcome(tmp_path / "a")["weights"] != outcome(tmp_path / "c")["weights"]


# Damage to the newest checkpoint


LONGER = {"steps": 20, "schedule": "constant", "evaluate_every": 5}


@pytest.fixture(scope="module")
def run_at_step_12(server, tmp_path_factory):
    """A run at step 12 of 20, with checkpoints at 4, 8 and 12."""
    run = tmp_path_factory.mktemp("resume") / "run"
    assert server.train(run, "gpt", **{**LONGER, "steps": 12}) == 0
    shutil.rmtree(run / "model")
    return run


@pytest.fixture
def interrupted_run(run_at_step_12, tmp_path):
    return shutil.copytree(run_at_step_12, tmp_path / "run")


def test_a_run_can_be_extended(train, interrupted_run, undisturbed):
    train(**LONGER)
    assert outcome(interrupted_run)["weights"] == undisturbed("gpt", **LONGER)["weights"]


@pytest.mark.parametrize("name", ["manifest.json", checkpoint.STATE_FILE, checkpoint.OPTIMIZER_FILE, "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "cut", "zeroed", "flipped"])
def test_a_damaged_checkpoint_is_detected_and_the_one_before_it_is_used(train, interrupted_run, undisturbed, messages, name, damage):
    path = interrupted_run / "step-000000012" / name
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    path.unlink()
    if damage == "flipped":
        content[middle] ^= 1
        path.write_bytes(content)
    elif damage != "missing":
        path.write_bytes(content[:middle] + (bytes(len(content) - middle) if damage == "zeroed" else b""))
    train(**LONGER)
    assert outcome(interrupted_run)["weights"] == undisturbed("gpt", **LONGER)["weights"]
    assert [line for line in messages if "step-000000012" in line and "resuming from step-000000008 instead" in line], messages


def test_without_an_intact_checkpoint_the_error_names_all_of_them(train, interrupted_run):
    for step in (4, 8, 12):
        (interrupted_run / checkpoint.checkpoint_name(step) / checkpoint.STATE_FILE).write_text("{}")
    with pytest.raises(BadInput, match=r"no usable checkpoint.*step-000000012.*step-000000008.*step-000000004.*delete the folder"):
        train(**LONGER)


def test_checkpoints_are_pruned_to_the_newest_and_the_best(train, tmp_path):
    train(steps=20, save_every=2, keep=2, evaluate_every=5)
    assert checkpoint.checkpoint_steps(tmp_path / "run") == [20, 18]
    assert len(list(checkpoint.best_folders(tmp_path / "run"))) == 1
