"""Several workers under torchrun: the same examples at each step, the same weights up to rounding, and a lost worker costs nothing (F14 to F16)."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from stairs.training import checkpoint
from tests.training.training_server import TRAIN_PROCESS, outcome

WITHOUT_DROPOUT = {"dropout": 0.0, "steps": 16}  # each worker draws its own


def launch(
    run: Path, text: Path, *, model: str = "gpt", workers: int = 2, restarts: int = 0, environment: dict | None = None, **settings
) -> subprocess.Popen:
    words = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers), "--max-restarts", str(restarts)]
    log = run.with_name(run.name + ".log").open("a")
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
    return subprocess.Popen([*command, str(TRAIN_PROCESS), str(run), str(text), model, *words], stdout=log, stderr=log, env=variables)


def wait(process: subprocess.Popen, run: Path, seconds: float = 200) -> int:
    try:
        return process.wait(seconds)
    finally:
        process.kill()


def messages(run: Path) -> str:
    return run.with_name(run.name + ".log").read_text()


def worker(process: subprocess.Popen, rank: int) -> int:
    """The process id of a worker."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == process.pid and f"\0RANK={rank}\0".encode() in (path / "environ").read_bytes():
                return int(path.name)
        except OSError:
            continue
    raise AssertionError(f"no worker {rank}")


def wait_for_step(run: Path, step: int) -> None:
    metrics = run / "metrics.jsonl"
    for _ in range(6000):
        if metrics.exists() and f'"step": {step}, "loss"' in metrics.read_text():
            return
        time.sleep(0.01)
    raise AssertionError(messages(run))


def losses(run: Path) -> list[float]:
    return [line["loss"] for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if "loss_hex" in line]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def assert_close(run: Path, single: Path) -> None:
    assert losses(run) == pytest.approx(losses(single), rel=1e-5)
    one, two = weights(single), weights(run)
    assert one.keys() == two.keys()
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)


@pytest.mark.parametrize("more", [{}, {"stacking": 0.5, "skipgram_tokens": 4000, "layers": 3}])
def test_two_workers_train_as_one_does_with_muon(text, train, tmp_path, more):
    muon = {**WITHOUT_DROPOUT, "optimizer": "muon", **more}
    train(out=tmp_path / "single", **muon)
    assert wait(launch(tmp_path / "run", text, **{**muon, "steps": 16, "accumulate": 1}), tmp_path / "run") == 0, messages(tmp_path / "run")
    assert_close(tmp_path / "run", tmp_path / "single")


def test_two_workers_train_as_one_does_and_one_can_resume(text, train, tmp_path):
    train(out=tmp_path / "single", **WITHOUT_DROPOUT)
    run = tmp_path / "run"
    assert wait(launch(run, text, **{**WITHOUT_DROPOUT, "steps": 16, "accumulate": 1}), run) == 0, messages(run)
    assert_close(run, tmp_path / "single")
    targets = [[json.loads(line).get("targets") for line in (path / "metrics.jsonl").read_text().splitlines()] for path in (run, tmp_path / "single")]
    assert targets[0] == targets[1]  # the same examples at every step
    train(out=tmp_path / "single", **{**WITHOUT_DROPOUT, "steps": 24})
    assert wait(launch(run, text, workers=1, **{**WITHOUT_DROPOUT, "steps": 24}), run) == 0, messages(run)
    assert "same data order, not bit-exact (world size 2 -> 1)" in messages(run)
    assert_close(run, tmp_path / "single")


def test_a_killed_worker_is_restarted_and_ends_with_the_same_bits(text, tmp_path):
    """Rank 1 dies half-way, and the group restarts from the last checkpoint; dropout is on."""
    reference, run, long = tmp_path / "reference", tmp_path / "run", {"steps": 120, "save_every": 10, "evaluate_every": 50}
    assert wait(launch(reference, text, **long), reference) == 0, messages(reference)
    process = launch(run, text, restarts=3, **long)
    wait_for_step(run, 25)
    os.kill(worker(process, 1), signal.SIGKILL)
    assert wait(process, run) == 0, messages(run)
    assert outcome(run) == outcome(reference)


@pytest.mark.slow
def test_killed_again_and_again_in_either_worker(text, tmp_path):
    reference, run, long = tmp_path / "reference", tmp_path / "run", {"steps": 200, "save_every": 5, "evaluate_every": 50}
    assert wait(launch(reference, text, **long), reference) == 0, messages(reference)
    process = launch(run, text, restarts=6, **long)
    for step, rank in ((20, 0), (45, 1), (60, 0), (90, 1), (130, 0)):
        wait_for_step(run, step)
        os.kill(worker(process, rank), signal.SIGKILL)
        killed_at = time.monotonic()
        saved_step = checkpoint.checkpoint_steps(run)[0]
        time.sleep(0.5)
        wait_for_step(run, saved_step + 12)
        assert time.monotonic() - killed_at < 60
    assert wait(process, run) == 0, messages(run)
    assert outcome(run) == outcome(reference)


@pytest.mark.slow
def test_after_the_last_restart_the_worker_and_the_signal_are_named(text, tmp_path):
    run = tmp_path / "run"
    process = launch(run, text, steps=2000)
    wait_for_step(run, 10)
    os.kill(worker(process, 1), signal.SIGKILL)
    assert wait(process, run) != 0
    assert "SIGKILL" in messages(run) and "rank      : 1" in messages(run)


@pytest.mark.slow
def test_a_worker_that_hangs_is_abandoned_after_the_timeout(text, tmp_path):
    reference, run, long = tmp_path / "reference", tmp_path / "run", {"steps": 150, "save_every": 10, "evaluate_every": 100}
    assert wait(launch(reference, text, **long), reference) == 0, messages(reference)
    process = launch(run, text, restarts=2, environment={"STAIRS_TIMEOUT": "5"}, **long)
    wait_for_step(run, 20)
    os.kill(worker(process, 1), signal.SIGSTOP)
    assert wait(process, run) == 0, messages(run)
    assert "lost the others" in messages(run)
    assert outcome(run) == outcome(reference)


@pytest.mark.slow
def test_sigterm_to_the_group_saves_and_nothing_is_lost(text, tmp_path):
    reference, run, long = tmp_path / "reference", tmp_path / "run", {"steps": 150, "save_every": 1000, "evaluate_every": 100}
    assert wait(launch(reference, text, **long), reference) == 0, messages(reference)
    process = launch(run, text, **long)
    wait_for_step(run, 20)
    process.terminate()
    assert wait(process, run) != 0
    assert checkpoint.checkpoint_steps(run)[0] == len(losses(run))
    assert wait(launch(run, text, **long), run) == 0, messages(run)
    assert outcome(run) == outcome(reference)


@pytest.mark.slow
def test_sharded_weights_train_the_same_and_any_worker_can_resume(text, train, tmp_path):
    train(out=tmp_path / "single", **WITHOUT_DROPOUT)
    run = tmp_path / "run"
    assert wait(launch(run, text, **WITHOUT_DROPOUT, shard=True), run) == 0, messages(run)
    assert_close(run, tmp_path / "single")
    train(out=run, **{**WITHOUT_DROPOUT, "steps": 20})  # the sharded run's checkpoint, by one worker
    train(out=tmp_path / "single", **{**WITHOUT_DROPOUT, "steps": 20})
    assert_close(run, tmp_path / "single")
    assert wait(launch(run, text, **{**WITHOUT_DROPOUT, "steps": 24}, shard=True), run) == 0, messages(run)  # and back
    train(out=tmp_path / "single", **{**WITHOUT_DROPOUT, "steps": 24})
    assert_close(run, tmp_path / "single")


@pytest.mark.slow
def test_parts_and_workers_without_examples_change_nothing(text, train, tmp_path):
    """Batches of two rows in three parts, for three workers: one of them has no examples."""
    small = {**WITHOUT_DROPOUT, "batch_tokens": 64}
    train(out=tmp_path / "single", **small)
    run = tmp_path / "run"
    assert wait(launch(run, text, workers=3, **small, accumulate=3), run) == 0, messages(run)
    assert_close(run, tmp_path / "single")


# Sweeps: each worker reads its share of every slice


def final_loss(run: Path) -> float:
    return json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["loss"]["value"]


def test_two_workers_sweep_as_well_as_one_and_one_can_resume(text, train, tmp_path):
    long = {"epochs": 8, "steady": True, "patience": 0}
    train("toy", out=tmp_path / "single", **long)
    run = tmp_path / "run"
    assert wait(launch(run, text, model="toy", **long), run) == 0, messages(run)
    first_loss = losses(run)[0]
    assert final_loss(run) == pytest.approx(final_loss(tmp_path / "single"), abs=0.1 * (first_loss - final_loss(tmp_path / "single")))
    words = [[json.loads(line).get("words") for line in (path / "metrics.jsonl").read_text().splitlines()] for path in (run, tmp_path / "single")]
    assert words[0] == words[1]  # all of each slice is read
    assert wait(launch(run, text, model="toy", workers=1, **{**long, "epochs": 9}), run) == 0, messages(run)
    assert "same data order, not bit-exact (world size 2 -> 1)" in messages(run)


def test_a_killed_worker_of_a_sweep_is_restarted_and_ends_with_the_same_bits(text, tmp_path):
    reference, run, long = tmp_path / "reference", tmp_path / "run", {"model": "toy", "epochs": 12, "save_every": 10, "patience": 0}
    assert wait(launch(reference, text, **long), reference) == 0, messages(reference)
    process = launch(run, text, restarts=3, **long)
    wait_for_step(run, 25)
    os.kill(worker(process, 1), signal.SIGKILL)
    assert wait(process, run) == 0, messages(run)
    assert outcome(run) == outcome(reference)


def test_workers_follow_the_clock_of_rank_zero(text, tmp_path):
    settings = {"steps": None, "budget": "6s", "schedule": "hold", "evaluate_every": None, "save_every": None, "dropout": 0.0}
    process = launch(tmp_path / "run", text, **settings)
    assert wait(process, tmp_path / "run") == 0, messages(tmp_path / "run")
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "run" / "clock.jsonl").read_text().splitlines()]
    assert kinds.count("decay") == kinds.count("end") == 1 and kinds.count("update") >= 20
    again = launch(tmp_path / "again", text, plans_from=str(tmp_path / "run"), **settings)
    assert wait(again, tmp_path / "again") == 0, messages(tmp_path / "again")
    assert outcome(tmp_path / "again") == outcome(tmp_path / "run")
