"""SIGTERM and Ctrl-C finish the step, save, and lose nothing (F3, F4); a second Ctrl-C leaves at once; one writer (F18)."""

import os
import signal
import time

import pytest

from stairs.training import checkpoint
from tests.training.training_server import outcome

LONG = {"steps": 300, "save_every": 1000, "evaluate_every": 100}


def wait_for(run, words: str, lines: int = 5) -> None:
    """Until so many steps have been made."""
    metrics = run / "metrics.jsonl"
    for _ in range(2000):
        if metrics.exists() and metrics.read_text().count(words) >= lines:
            return
        time.sleep(0.005)
    raise AssertionError("it never came so far")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_the_step_in_hand_and_nothing_is_lost(server, undisturbed, tmp_path, number, code):
    run = tmp_path / "run"
    process = server.start(run, "gpt", **LONG)
    wait_for(run, '"loss"')
    began = time.monotonic()
    os.kill(process, number)
    assert server.wait(process) == code, server.messages(run)
    assert time.monotonic() - began < 10
    stands = checkpoint.checkpoint_steps(run)[0]
    assert stands == len((run / "metrics.jsonl").read_text().splitlines())  # zero steps are lost
    assert f"saved at step {stands} of 300; the same command resumes from there" in server.messages(run)
    assert server.train(run, "gpt", **LONG) == 0
    assert f"resuming from step {stands} of 300" in server.messages(run)
    assert outcome(run) == undisturbed("gpt", **LONG)


def test_a_signal_during_an_evaluation_drops_it_and_makes_it_again(train, tmp_path, monkeypatch):
    from stairs.tasks import NextToken

    train(out=tmp_path / "alone", steps=20)
    real, called = NextToken.evaluate_split, []

    def interrupted(self, *arguments, **options):
        called.append(1)
        if len(called) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        return real(self, *arguments, **options)

    monkeypatch.setattr(NextToken, "evaluate_split", interrupted)
    with pytest.raises(SystemExit) as ended:
        train(steps=20)
    assert ended.value.code == 143
    assert checkpoint.newest_checkpoint(tmp_path / "run")[0].evaluated_step == 10
    train(steps=20)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "alone")


def test_handlers_are_put_back(train):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    train(steps=2)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_the_second_interrupt_leaves_at_once_and_touches_no_checkpoint(train, tmp_path, monkeypatch):
    from stairs.training import checkpoint as module

    train(steps=4)
    real = module.write_checkpoint

    def slow(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        real(*arguments)

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


def test_two_at_once_give_one_writer(server, tmp_path):
    run = tmp_path / "run"
    both = [server.start(run, "gpt", steps=300, save_every=1000) for _ in range(2)]
    assert sorted(server.wait(process) for process in both) == [0, 5], server.messages(run)
