"""Small trainings: in this process (`train`), or in processes of their own that can be killed (`server`)."""

import json
import math
import random
from pathlib import Path

import pytest

from stairs import progress
from tests.training.training_server import TrainingServer, outcome


@pytest.fixture(scope="session")
def text(tmp_path_factory) -> Path:
    """A text in which some words are more frequent than others, and more frequent after some."""
    random_numbers = random.Random(0)
    words = [f"w{i}" for i in range(120)]
    lines = []
    for _ in range(150):
        for _ in range(5):
            at = random_numbers.randrange(20)
            sentence = []
            for _ in range(random_numbers.randint(4, 14)):
                at = (at * 3 + random_numbers.randrange(4)) % len(words)
                sentence.append(words[at])
            lines.append(" ".join(sentence) + " .")
        lines.append("")
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="session")
def server(tmp_path_factory, text):
    server = TrainingServer(tmp_path_factory.mktemp("server"), text)
    yield server
    server.process.stdin.close()
    server.process.wait(30)


@pytest.fixture(scope="session")
def undisturbed(server, tmp_path_factory):
    """`undisturbed("gpt")`: the outcome of a training that is not interrupted."""
    outcomes = {}

    def get(model: str, **settings):
        key = model, json.dumps(settings, sort_keys=True)
        if key not in outcomes:
            out = tmp_path_factory.mktemp("undisturbed") / "run"
            assert server.train(out, model, **settings) == 0, server.messages(out)
            outcomes[key] = outcome(out)
        return outcomes[key]

    return get


@pytest.fixture
def train(text, tmp_path):
    """`train("gpt", steps=3)` in this process, into tmp_path / "run" by default."""
    from stairs.training.fit import fit
    from tests.training.train_process import fit_arguments

    def run(model: str = "gpt", out: Path | None = None, corpus: Path | None = None, **settings) -> dict:
        return fit(*fit_arguments(out or tmp_path / "run", corpus or text, model, **settings))

    return run


@pytest.fixture
def messages(monkeypatch):
    """The messages of a training, without the percentages of progress bars."""
    lines = []
    monkeypatch.setattr(progress, "listener", lines.append)
    monkeypatch.setattr(progress, "LISTENER_INTERVAL", math.inf)
    return lines
