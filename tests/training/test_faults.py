"""A full disk, a deleted folder, values that are not finite, other settings, other data, too little memory: F5 to F7, F10 to F13, F17, F19 to F22."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from stairs.errors import BadInput, Diverged, EnvironmentFault
from stairs.tasks import NextToken
from stairs.training import checkpoint
from stairs.training.run import Run, load, load_tokenizer
from tests.training.training_server import TRAIN_PROCESS, outcome


def full(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model.safetensors")


# The disk


def test_training_continues_on_a_full_disk_and_tries_again(train, tmp_path, monkeypatch, messages):
    train(out=tmp_path / "undisturbed", steps=20)
    real, tries = checkpoint.write_tensors, []

    def sometimes(tensors, path):
        if "step-" in str(path) and len(tries) < 2:
            tries.append(path)
            full()
        real(tensors, path)

    monkeypatch.setattr(checkpoint, "write_tensors", sometimes)
    train(steps=20)
    warnings = [line for line in messages if "no space left" in line]
    assert (len(warnings) == 2 and "MB free" in warnings[0]) or "kB free" in warnings[0]
    assert "a checkpoint of about" in warnings[0] and "tries again in 4 steps" in warnings[0] and str(tmp_path) in warnings[0]
    assert checkpoint.checkpoint_steps(tmp_path / "run") == [20, 16, 12]
    assert not list((tmp_path / "run").glob(".tmp-*"))
    assert outcome(tmp_path / "run") == outcome(tmp_path / "undisturbed")


def test_on_disk_full_stop_ends_the_training_and_keeps_the_checkpoints(train, tmp_path, monkeypatch):
    train(steps=4, schedule="constant")
    monkeypatch.setattr(checkpoint, "write_tensors", full)
    with pytest.raises(EnvironmentFault, match="no space left"):
        train(steps=8, schedule="constant", on_disk_full="stop")
    monkeypatch.undo()
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].step == 4
    train(steps=8, schedule="constant", on_disk_full="stop")
    train(out=tmp_path / "undisturbed", steps=8, schedule="constant")
    assert outcome(tmp_path / "run")["weights"] == outcome(tmp_path / "undisturbed")["weights"]


def test_metrics_that_cannot_be_written_are_reported_once(train, monkeypatch, messages):
    real = Run.log

    def refuse(self, row, *, durably=True):
        if not durably:
            raise EnvironmentFault("cannot write metrics.jsonl: no space left")
        real(self, row)

    monkeypatch.setattr(Run, "log", refuse)
    train(steps=6)
    assert len([line for line in messages if "continues without measurements" in line]) == 1


def test_a_real_file_size_limit_is_a_full_disk(text, tmp_path):
    """The operating system's own refusal, in the middle of a file."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    words = [sys.executable, str(TRAIN_PROCESS), "run", str(text), "gpt", "steps=8", "width=32", 'on_disk_full="stop"']
    cached = subprocess.run([*words[:2], "cached", *words[3:], "heads=1"], cwd=tmp_path, capture_output=True, text=True)
    assert cached.returncode == 0, cached.stderr
    limited = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit)
    assert limited.returncode == 3, limited.stderr
    assert "file too large" in limited.stderr and "Traceback" not in limited.stderr
    assert not list((tmp_path / "run").glob("step-*")) and not list((tmp_path / "run").glob(".tmp-*"))


def test_a_folder_deleted_during_training_is_created_again(train, tmp_path, monkeypatch, messages):
    real, calls = NextToken.training_loss, []

    def delete(self, batch):
        calls.append(1)
        if len(calls) == 6:
            shutil.rmtree(tmp_path / "run")
        return real(self, batch)

    monkeypatch.setattr(NextToken, "training_loss", delete)
    train(steps=12)
    assert [line for line in messages if "was deleted during training; it is created again" in line]
    monkeypatch.undo()
    assert load(tmp_path / "run").answer("w1")["next"]
    train(out=tmp_path / "undisturbed", steps=12)
    assert outcome(tmp_path / "run")["weights"] == outcome(tmp_path / "undisturbed")["weights"]


# Numbers that are not finite


@pytest.mark.parametrize("rate", [1e20, 1e38])
def test_divergence_ends_with_a_sentence_and_nothing_bad_on_disk(train, tmp_path, rate):
    with pytest.raises(Diverged, match="--learning-rate") as raised:
        train(steps=200, learning_rate=rate, save_every=1, clip=0, warmup=0)
    assert raised.value.code == 4
    for path in (tmp_path / "run").rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(path).values())


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_ends_the_training_before_the_update(train, tmp_path, monkeypatch, poison):
    real, calls = NextToken.training_loss, []

    def poisoned(self, batch):
        total, count = real(self, batch)
        calls.append(1)
        if len(calls) == 6:
            total.register_hook(lambda gradient: gradient * poison)
        return total, count

    monkeypatch.setattr(NextToken, "training_loss", poisoned)
    with pytest.raises(Diverged, match="the norm of the gradient became nan at step 6"):
        train(steps=12)
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].step == 4


# Other settings, other data


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, r"seed = 0, now it is 1"),
        ({"width": 32}, r"config\.width = 16, now it is 32"),
        ({"dropout": 0.2}, r"config\.dropout = 0\.1, now it is 0\.2"),
        ({"batch_tokens": 512}, r"training\.batch_tokens = 256, now it is 512"),
        ({"learning_rate": 0.1}, r"training\.learning_rate = None, now it is 0\.1"),
        ({"schedule": "cosine"}, r"training\.schedule = 'linear', now it is 'cosine'"),
        ({"weight_decay": 0.5}, r"training\.weight_decay"),
        ({"accumulate": 2}, r"training\.accumulate"),
        ({"clip": 0.5}, r"training\.clip"),
        ({"warmup": 0.5}, r"training\.warmup"),
        ({"precision": "bf16"}, r"training\.precision"),
        ({"steps": 3}, r"training\.steps = 4, now it is 3"),
    ],
)
def test_a_changed_setting_is_refused_with_the_old_the_new_and_a_way_out(train, text, tmp_path, change, words):
    if not (tmp_path / "run").exists():
        train(steps=4)
    before = outcome(tmp_path / "run")
    with pytest.raises(BadInput, match=f"was started with {words}.*--out.*--init-from"):
        train(**{"steps": 4, **change})
    assert outcome(tmp_path / "run") == before


def test_settings_that_decide_nothing_may_change_and_are_recorded(train, tmp_path):
    train(steps=4)
    train(steps=8, save_every=3, keep=1, patience=0)
    assert Run(tmp_path / "run").settings["resumable"]["save_every"] == 3
    assert Run(tmp_path / "run").settings["training"]["steps"] == 8
    assert checkpoint.checkpoint_steps(tmp_path / "run") == [8]


def test_init_from_starts_from_the_weights_of_the_other_run(train, tmp_path):
    train(steps=8)
    train(out=tmp_path / "initialized", steps=1, learning_rate=1e-12, init_from=str(tmp_path / "run"))
    old, new = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("run", "initialized"))
    assert all(torch.allclose(old[name], new[name], atol=1e-6) for name in old)


def test_other_text_is_refused_unless_accepted_and_the_same_text_elsewhere_is_not(train, text, tmp_path):
    train(steps=4)
    moved = tmp_path / "moved.txt"
    shutil.copy(text, moved)
    os.utime(moved, (0, 0))
    train(corpus=moved, steps=4)
    other = tmp_path / "other.txt"
    other.write_text(text.read_text() + "\n\nw1 w2 w3 .\n")
    with pytest.raises(BadInput, match=r"data\.corpus.*--init-from.*--accept-new-corpus"):
        train(corpus=other, steps=8)
    train(corpus=other, steps=8, accept_new_corpus=True)
    assert Run(tmp_path / "run").metrics()[-1]["step"] == 8
    assert load_tokenizer(tmp_path / "run").hash == load(tmp_path / "run").tokenizer.hash


def test_another_tokenizer_is_refused_with_both_hashes(train, tmp_path):
    train(steps=4)
    settings = Run(tmp_path / "run").settings
    real, settings["data"]["tokenizer"] = settings["data"]["tokenizer"], "f" * 64
    (tmp_path / "run" / "run.json").write_text(json.dumps(settings))
    with pytest.raises(BadInput, match=rf"data\.tokenizer = 'ffff.*now it is '{real[:20]}"):
        train(steps=4)


# The machine


def test_another_machine_resumes_and_says_that_bits_may_differ(train, tmp_path, messages):
    train(steps=4)
    settings = Run(tmp_path / "run").settings
    settings["environment"] |= {"threads": 2, "cpu": "ANOTHER"}
    (tmp_path / "run" / "run.json").write_text(json.dumps(settings))
    train(steps=8)
    assert "not bit-exact: threads 2 -> 1, cpu ANOTHER -> " + torch.backends.cpu.get_cpu_capability() in messages
    assert Run(tmp_path / "run").settings["environment"]["threads"] == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_written(train, tmp_path):
    with pytest.raises(BadInput, match="no CUDA device; use --device cpu"):
        train(device="cuda")
    assert not (tmp_path / "run").exists()


def test_too_many_threads_are_reduced_with_a_message(train, messages):
    before = torch.get_num_threads()
    train(steps=1, threads=100_000)
    assert [line for line in messages if "--threads 100000 is more than" in line]
    assert torch.get_num_threads() == before


def test_out_of_memory_says_what_fits(train, monkeypatch):
    real = NextToken.training_loss

    def hungry(self, batch):
        if batch.ids.numel() > 64:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return real(self, batch)

    monkeypatch.setattr(NextToken, "training_loss", hungry)
    with pytest.raises(EnvironmentFault, match="not enough memory for 256 positions at once; --accumulate 4 fits, with the same result"):
        train(steps=2)


@pytest.mark.parametrize(("settings", "advice"), [({"layers": 1}, "--accumulate"), ({"layers": 8}, "--size")])
def test_really_out_of_memory_is_one_sentence(server, tmp_path, settings, advice):
    """In a process that may have only a little more memory than it has after starting: too little for the batch, or for the model."""
    code = server.train(tmp_path / "run", "gpt", **{"steps": 1, "batch_tokens": 6000, "megabytes": 110, "width": 512, **settings})
    messages = server.messages(tmp_path / "run")
    assert code == 3, messages
    assert messages.count("\n") == 1 and "not enough memory" in messages and advice in messages, messages


def test_the_clock_does_not_matter(train, tmp_path, monkeypatch):
    train(out=tmp_path / "undisturbed", steps=12)
    year = 365 * 86400
    jumps = iter([1e9, 1e9 + year, 1e9 - year] * 10_000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    train(steps=12)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "undisturbed")
