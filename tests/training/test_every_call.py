"""SIGKILL at every file-system call of a save: the run stays usable and ends with the same bits (F2); errors there end as F5 says."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from stairs.training import checkpoint
from tests.training.training_server import outcome

CALLS = "write,pwrite64,fsync,rename,renameat2,mkdir,unlink,unlinkat,rmdir,ftruncate"  # an empty new file exists before its first write
HALF = {"gpt": {"steps": 4, "save_every": 4, "evaluate_every": 4, "schedule": "constant"}, "toy": {"epochs": 1, "save_every": 1000, "steady": True}}
FULL = {"gpt": {**HALF["gpt"], "steps": 8}, "toy": {**HALF["toy"], "epochs": 2}}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")]


def start_strace(process: int, order: str, log: Path) -> subprocess.Popen:
    """strace on a process that has stopped itself, and then continue it."""
    for _ in range(2000):
        if "(stopped)" in Path(f"/proc/{process}/status").read_text():
            break
        time.sleep(0.005)
    arguments = ["strace", "-f", "-qq", "-e", f"trace={CALLS}", "-e", order, "-o", str(log), "-p", str(process)]
    tracer = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    for _ in range(2000):
        if f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{process}/status").read_text():
            break
        time.sleep(0.005)
    os.kill(process, signal.SIGCONT)
    return tracer


def train_first_half(server, folder: Path, model: str) -> Path:
    run = folder / "half"
    assert server.train(run, model, **HALF[model]) == 0
    return run


def count_calls(server, half: Path, folder: Path, model: str) -> Counter:
    run = shutil.copytree(half, folder / "counted")
    process = server.start(run, model, stopped=True, **FULL[model])
    tracer = start_strace(process, f"inject={CALLS}:delay_enter=0", folder / "calls")
    assert server.wait(process) == 0, server.messages(run)
    tracer.wait(30)
    return Counter(re.findall(r"^\d+ +(\w+)\(", (folder / "calls").read_text(), re.M))


@pytest.mark.parametrize("model", HALF)
def test_a_kill_at_every_call(server, undisturbed, tmp_path, model):
    """Every call of the second half of a run: resuming, evaluating, saving a checkpoint and the model."""
    half, expected = train_first_half(server, tmp_path, model), undisturbed(model, **FULL[model])
    first, last = checkpoint.checkpoint_steps(half)[0], 2 * checkpoint.checkpoint_steps(half)[0]
    calls = count_calls(server, half, tmp_path, model)
    assert calls.total() > 60 and calls["fsync"] > 15 and calls["rename"] > 5
    kills = 0
    for call, when in ((call, when) for call, count in calls.items() for when in range(1, count + 1)):  # strace counts each call separately
        run = shutil.copytree(half, tmp_path / f"{call}-{when}")
        process = server.start(run, model, stopped=True, **FULL[model])
        tracer = start_strace(process, f"inject={call}:signal=KILL:when={when}", tmp_path / "log")
        kills += server.wait(process) == -signal.SIGKILL
        tracer.wait(30)
        assert checkpoint.newest_checkpoint(run)[0].step in (first, last)  # the old or the new, never a mix
        assert server.train(run, model, **FULL[model]) == 0, server.messages(run)
        assert outcome(run)["weights"] == expected["weights"], (call, when)
        assert not list(run.glob(".tmp-*")) and not list(run.glob(".old-*"))
        shutil.rmtree(run)
    assert kills >= calls.total() - 5


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS"])
def test_an_error_at_every_fsync_and_rename(server, undisturbed, tmp_path, fault):
    """The disk fails once, at any call that makes a file durable: the run continues or exits with 3, and then ends with the same bits."""
    half, expected = train_first_half(server, tmp_path, "gpt"), undisturbed("gpt", **FULL["gpt"])
    for when in range(1, 60):
        run = shutil.copytree(half, tmp_path / f"run-{when}")
        process = server.start(run, "gpt", stopped=True, **FULL["gpt"])
        tracer = start_strace(process, f"inject=fsync,rename,renameat2:error={fault}:when={when}", tmp_path / "log")
        code = server.wait(process)
        tracer.wait(30)
        messages = server.messages(run)
        assert code in (0, 3) and "Traceback" not in messages, (when, code, messages)
        assert not list(run.glob(".tmp-*")), when
        assert checkpoint.newest_checkpoint(run)[0].step in (4, 8)
        assert server.train(run, "gpt", **FULL["gpt"]) == 0, server.messages(run)
        assert outcome(run)["weights"] == expected["weights"], when
        if "INJECTED" not in (tmp_path / "log").read_text():
            break
        shutil.rmtree(run)
    assert when > 10
