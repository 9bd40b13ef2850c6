"""Full disks, signals and kills: nothing half-written stays, and the same command makes the run of an undisturbed training."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.refusals import TRAIN, assert_one_sentence, model, sentences


@pytest.mark.parametrize(("name", "number"), [("fsync", errno.ENOSPC), ("rename", errno.EIO), ("replace", errno.EROFS), ("mkdir", errno.EDQUOT)])
def test_a_disk_that_fails_at_each_call_of_a_save(command, run, corpus, trained, monkeypatch, name, number):
    real = getattr(os, name)
    for when in range(1, 50):
        calls = 0

        def failing(*arguments, when=when, **options):
            nonlocal calls
            calls += 1
            if calls == when:
                raise OSError(number, os.strerror(number))
            return real(*arguments, **options)

        shutil.rmtree("run")
        with monkeypatch.context() as patch:
            patch.setattr(os, name, failing)
            result = command(*TRAIN)
        if calls < when:
            break
        if result.code or name != "mkdir":  # a folder that exists need not be made
            assert_one_sentence(result, 3)
            assert "cannot write run" in result.err
        assert not [path for path in Path().rglob(".*") if path.name.startswith((".tmp-", ".old-"))]
        assert not Path("run/model").exists() or model(Path("run")) == model(trained)
        assert command(*TRAIN).code == 0
        assert model(Path("run")) == model(trained)
    assert when > 1


def test_files_that_may_not_grow(command, corpus, trained):
    """The library that writes the weights raises errors of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert (trained / "model/model.safetensors").stat().st_size > 6000
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        result = command(*TRAIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_one_sentence(result, 3)
    assert sorted(os.listdir("run")) == ["metrics.jsonl", "run.json", "run.lock"]
    assert command(*TRAIN).code == 0
    assert model(Path("run")) == model(trained)


# Signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("target", ["tasks.next_token.NextToken.evaluate_split", "tasks.next_token.NextToken.save", "files.fsync_path"])
def test_a_signal_ends_the_command_cleanly(command, corpus, trained, monkeypatch, number, code, target):
    with monkeypatch.context() as patch:
        patch.setattr(f"stairs.{target}", lambda *arguments: signal.raise_signal(number))
        result = command(*TRAIN)
    assert result.code == code and "Traceback" not in result.err
    assert not Path("run/model").exists() and not list(Path("run").glob(".*"))
    assert command(*TRAIN).code == 0
    assert model(Path("run")) == model(trained)


def test_a_signal_to_a_process_that_reads(tmp_path):
    cache = tmp_path / "cache"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    arguments = [sys.executable, "-m", "stairs", "train", "ngram", "-", "--out"]
    processes = [subprocess.Popen([*arguments, name], cwd=tmp_path, env=environment, **pipes) for name in ("first", "second")]
    for process, number, code in zip(processes, (signal.SIGTERM, signal.SIGINT), (143, 130), strict=True):
        with process:
            process.stdin.write(b"some text . " * 20_000)  # more than a pipe holds: when this returns, it is being read
            process.stdin.flush()
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        assert process.returncode == code
        assert out == b"" and b"Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] in ([], ["cache"]) and not list(cache.rglob(".tmp-*"))


# Kills


def test_leftovers_of_killed_processes_are_removed(command, run, trained):
    """Killed before run.json, within a save, between the two renames of a save, and before the model was saved."""
    shutil.rmtree(run)
    for leftover in (".tmp-1-run.json", ".tmp-1-model/config.json", ".old-1-model/config.json", "run.lock"):
        (run / leftover).parent.mkdir(parents=True, exist_ok=True)
        (run / leftover).write_text("half")
    assert command(*TRAIN).code == 0
    assert sorted(os.listdir(run)) == ["metrics.jsonl", "model", "run.json", "run.lock"]
    shutil.rmtree(run / "model")
    assert command(*TRAIN).code == 0
    assert model(run) == model(trained) and len((run / "metrics.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace, which kills at a chosen system call, is not installed")
@pytest.mark.parametrize(
    ("calls", "cache"),
    [
        ("rename,renameat,renameat2", "warm"),
        ("fsync,fdatasync", "warm"),
        ("mkdir,mkdirat", "warm"),
        ("unlink,unlinkat,rmdir", "warm"),
        ("write,ftruncate", "warm"),
        ("rename,renameat,renameat2", "fresh"),
        ("fsync,fdatasync", "fresh"),
    ],
)
def test_killed_at_every_call(tmp_path, calls, cache):
    """Killed at the k-th call for each k, the same command ends with the model of an undisturbed run."""
    (tmp_path / "notes.txt").write_text(sentences())
    arguments = [sys.executable, str(Path(__file__).with_name("kill_at_calls.py")), str(tmp_path), str(tmp_path / "notes.txt"), calls, cache]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=900)
    if "could not attach" in result.stderr:
        pytest.skip("strace may not trace processes here")
    assert result.returncode == 0, result.stderr
    reference, *trials = map(json.loads, result.stdout.splitlines())
    assert trials[-1]["first"] == 0  # there was no k-th call
    assert len(trials) > 1
    for trial in trials:
        assert trial["first"] in (0, -signal.SIGKILL) and trial["again"] == 0, trial
        assert trial["state"] == reference["reference"], trial
