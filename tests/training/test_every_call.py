"""SIGKILL at every file-system call of a save: the run is usable afterwards and ends with the same bits (F2); errors there end as F5 says."""

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

CALLS = "write,pwrite64,fsync,rename,renameat2,mkdir,unlink,unlinkat,rmdir,ftruncate"  # an empty new file is there before its first write
HALF = {"gpt": {"steps": 4, "save_every": 4, "evaluate_every": 4, "schedule": "constant"}, "toy": {"epochs": 1, "save_every": 1000, "steady": True}}
WHOLE = {"gpt": {**HALF["gpt"], "steps": 8}, "toy": {**HALF["toy"], "epochs": 2}}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")]


def traced(number: int, order: str, log: Path) -> subprocess.Popen:
    """strace on a process that has stopped itself, which then goes on."""
    for _ in range(2000):
        if "(stopped)" in Path(f"/proc/{number}/status").read_text():
            break
        time.sleep(0.005)
    words = ["strace", "-f", "-qq", "-e", f"trace={CALLS}", "-e", order, "-o", str(log), "-p", str(number)]
    tracer = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    for _ in range(2000):
        if f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{number}/status").read_text():
            break
        time.sleep(0.005)
    os.kill(number, signal.SIGCONT)
    return tracer


def half_way(server, folder: Path, step: str) -> Path:
    run = folder / "stands"
    assert server.train(run, step, **HALF[step]) == 0
    return run


def count_calls(server, stands: Path, folder: Path, step: str) -> Counter:
    run = shutil.copytree(stands, folder / "counted")
    number = server.start(run, step, stopped=True, **WHOLE[step])
    tracer = traced(number, f"inject={CALLS}:delay_enter=0", folder / "calls")
    assert server.wait(number) == 0, server.messages(run)
    tracer.wait(30)
    return Counter(re.findall(r"^\d+ +(\w+)\(", (folder / "calls").read_text(), re.M))


@pytest.mark.parametrize("step", HALF)
def test_a_kill_at_every_call(server, undisturbed, tmp_path, step):
    """From a run that stands half way: every call of the second half, with its save, its evaluation, its model, and the start itself."""
    stands, expected = half_way(server, tmp_path, step), undisturbed(step, **WHOLE[step])
    first, last = checkpoint.checkpoint_steps(stands)[0], 2 * checkpoint.checkpoint_steps(stands)[0]
    calls = count_calls(server, stands, tmp_path, step)
    assert calls.total() > 60 and calls["fsync"] > 15 and calls["rename"] > 5
    killed = 0
    for call, when in ((call, when) for call, count in calls.items() for when in range(1, count + 1)):  # strace counts each kind by itself
        run = shutil.copytree(stands, tmp_path / f"{call}-{when}")
        number = server.start(run, step, stopped=True, **WHOLE[step])
        tracer = traced(number, f"inject={call}:signal=KILL:when={when}", tmp_path / "log")
        killed += server.wait(number) == -signal.SIGKILL
        tracer.wait(30)
        assert checkpoint.newest_checkpoint(run)[0].step in (first, last)  # the old or the new, never a mix
        assert server.train(run, step, **WHOLE[step]) == 0, server.messages(run)
        assert outcome(run)["weights"] == expected["weights"], (call, when)
        assert not list(run.glob(".tmp-*")) and not list(run.glob(".old-*"))
        shutil.rmtree(run)
    assert killed >= calls.total() - 5


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS"])
def test_an_error_at_every_fsync_and_rename(server, undisturbed, tmp_path, fault):
    """The disk refuses once, at any of the calls that make a file durable: the run goes on or ends with 3, and then ends with the same bits."""
    stands, expected = half_way(server, tmp_path, "gpt"), undisturbed("gpt", **WHOLE["gpt"])
    for when in range(1, 60):
        run = shutil.copytree(stands, tmp_path / f"run-{when}")
        number = server.start(run, "gpt", stopped=True, **WHOLE["gpt"])
        tracer = traced(number, f"inject=fsync,rename,renameat2:error={fault}:when={when}", tmp_path / "log")
        code = server.wait(number)
        tracer.wait(30)
        messages = server.messages(run)
        assert code in (0, 3) and "Traceback" not in messages, (when, code, messages)
        assert not list(run.glob(".tmp-*")), when
        assert checkpoint.newest_checkpoint(run)[0].step in (4, 8)
        assert server.train(run, "gpt", **WHOLE["gpt"]) == 0, server.messages(run)
        assert outcome(run)["weights"] == expected["weights"], when
        if "INJECTED" not in (tmp_path / "log").read_text():
            break
        shutil.rmtree(run)
    assert when > 10
