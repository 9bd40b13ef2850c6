"""SIGTERM and Ctrl-C finish the step, save, and lose nothing (F3, F4); a second Ctrl-C stops at once; one writer (F18)."""

import os
import signal
import time

import pytest

from stairs.training import checkpoint
from tests.training.training_server import outcome

LONG = {"steps": 300, "save_every": 1000, "evaluate_every": 100}


def wait_for(run, words: str, lines: int = 5) -> None:
    """Wait until this many rows of metrics have these words."""
    metrics = run / "metrics.jsonl"
    for _ in range(2000):
        if metrics.exists() and metrics.read_text().count(words) >= lines:
            return
        time.sleep(0.005)
    raise AssertionError("it never got so far")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_the_current_step_and_nothing_is_lost(server, undisturbed, tmp_path, number, code):
    run = tmp_path / "run"
    process = server.start(run, "gpt", **LONG)
    wait_for(run, '"loss"')
    started = time.monotonic()
    os.kill(process, number)
    assert server.wait(process) == code, server.messages(run)
    assert time.monotonic() - started < 10
    saved_step = checkpoint.checkpoint_steps(run)[0]
    assert saved_step == len((run / "metrics.jsonl").read_text().splitlines())  # zero steps are lost
    assert f"saved at step {saved_step} of 300; the same command resumes from there" in server.messages(run)
    assert server.train(run, "gpt", **LONG) == 0
    assert f"resuming from step {saved_step} of 300" in server.messages(run)
    assert outcome(run) == undisturbed("gpt", **LONG)


def test_a_signal_abandons_an_evaluation_which_is_repeated(train, tmp_path, monkeypatch):
    from stairs.tasks import NextToken

    train(out=tmp_path / "undisturbed", steps=20)
    evaluate, calls = NextToken.evaluate_split, []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(NextToken, "evaluate_split", interrupted)
    with pytest.raises(SystemExit) as exit:
        train(steps=20)
    assert exit.value.code == 143
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].evaluated_step == 10
    train(steps=20)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "undisturbed")


def test_signal_handlers_are_restored(train):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    train(steps=2)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_the_second_interrupt_stops_at_once_and_touches_no_checkpoint(train, tmp_path, monkeypatch):
    from stairs.training import checkpoint as module

    train(steps=4)
    write = module.write_checkpoint

    def slow(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        write(*arguments)

    monkeypatch.setattr(module, "write_checkpoint", slow)
    with pytest.raises(KeyboardInterrupt):
        train(steps=8)
    assert module.checkpoint_steps(tmp_path / "run") == [4]


def test_a_second_writer_is_refused_and_names_the_first(server, tmp_path):
    run = tmp_path / "run"
    process = server.start(run, "gpt", **LONG)
    wait_for(run, '"loss"')
    assert server.train(run, "gpt", **LONG) == 5
    assert f"is being written by process {process}" in server.messages(run)
    os.kill(process, signal.SIGKILL)
    server.wait(process)
    assert server.train(run, "gpt", **LONG) == 0


def test_of_two_writers_at_once_one_is_refused(server, tmp_path):
    run = tmp_path / "run"
    processes = [server.start(run, "gpt", steps=300, save_every=1000) for _ in range(2)]
    assert sorted(server.wait(process) for process in processes) == [0, 5], server.messages(run)
