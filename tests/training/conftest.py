"""Small trainings: in this process (`train`), or in processes of their own that can be killed (`nursery`)."""

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

TRAINEE = Path(__file__).with_name("trainee.py")


class Nursery:
    """Processes that train. Torch is imported once, in a server that forks."""

    def __init__(self, folder: Path, text: Path) -> None:
        self.folder, self.text = folder, text
        self.server = subprocess.Popen([sys.executable, str(TRAINEE), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **order) -> int:
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def start(self, out: Path, step: str, *, stopped: bool = False, text: Path | None = None, **given) -> int:
        words = [str(out), str(text or self.text), step, *(f"{name}={json.dumps(value)}" for name, value in given.items())]
        return self.ask(words=words, log=str(self.log(out)), stopped=stopped)

    def wait(self, number: int) -> int:
        return self.ask(wait=number)

    def train(self, out: Path, step: str, **given) -> int:
        return self.wait(self.start(out, step, **given))

    def log(self, out: Path) -> Path:
        return out.with_name(out.name + ".log")

    def said(self, out: Path) -> str:
        return self.log(out).read_text()


@pytest.fixture(scope="session")
def text(tmp_path_factory) -> Path:
    """A text in which some words are likelier than others, and likelier after some."""
    dice = random.Random(0)
    words = [f"w{i}" for i in range(120)]
    lines = []
    for _ in range(150):
        for _ in range(5):
            at = dice.randrange(20)
            sentence = []
            for _ in range(dice.randint(4, 14)):
                at = (at * 3 + dice.randrange(4)) % len(words)
                sentence.append(words[at])
            lines.append(" ".join(sentence) + " .")
        lines.append("")
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="session")
def nursery(tmp_path_factory, text):
    nursery = Nursery(tmp_path_factory.mktemp("nursery"), text)
    yield nursery
    nursery.server.stdin.close()
    nursery.server.wait(30)


@pytest.fixture(scope="session")
def alone(nursery, tmp_path_factory):
    """`alone("gpt")`: the outcome of a training that nobody disturbed."""
    found = {}

    def get(step: str, **given):
        key = step, json.dumps(given, sort_keys=True)
        if key not in found:
            out = tmp_path_factory.mktemp("alone") / "run"
            assert nursery.train(out, step, **given) == 0, nursery.said(out)
            found[key] = outcome(out)
        return found[key]

    return get


@pytest.fixture
def train(text, tmp_path):
    """`train("gpt", steps=3)` in this process, into tmp_path / "run" unless told otherwise."""
    from trainee import prepared

    from stairs.training.fit import fit

    def run(step: str = "gpt", out: Path | None = None, corpus: Path | None = None, **given) -> dict:
        return fit(*prepared(out or tmp_path / "run", corpus or text, step, **given))

    return run


@pytest.fixture
def said(monkeypatch):
    """What was said on the way."""
    lines = []
    for module in ("loop", "fit", "checkpoint", "device", "probe", "sweeps"):
        monkeypatch.setattr(f"stairs.training.{module}.say", lines.append, raising=True)
    monkeypatch.setattr("stairs.training.loop.say_verbose", lines.append)
    return lines


def outcome(out: Path) -> dict:
    """The bits of a finished run: of the loss at every step, of every evaluation, and of the weights."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        for clock in ("seconds", "cpu_seconds", "seconds_by_phase", "words_per_second"):
            line.pop(clock, None)
    return {"lines": lines, "weights": hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()}
