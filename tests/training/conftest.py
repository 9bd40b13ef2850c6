"""Small trainings: in this process (`train`), or in processes of their own that can be killed (`nursery`)."""

import json
import random
from pathlib import Path

import pytest

from tests.training.nursery import Nursery, outcome


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
    from stairs.training.fit import fit
    from tests.training.trainee import prepared

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
