"""cbow, skipgram and glove by the command line: train, go on, ask, embed, score, plan."""

import json
import signal
from types import SimpleNamespace

import pytest

from stairs import cli, progress
from stairs.models import MODELS
from stairs.training import sweeps

TEXT = "\n\n".join(f"the {a} saw the {b} . the {b} saw a {a} ." for a in ("cat", "dog", "cow") for b in ("king", "queen", "duke")) * 30


@pytest.fixture
def stairs(tmp_path, monkeypatch, capsys):
    """The command line within this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweeps, "SLICE_TOKENS", 1 << 20)  # whatever other tests have made of it: an epoch of this text is one stretch
    before, shown = signal.getsignal(signal.SIGTERM), (progress.messages_enabled, progress.bars_enabled)

    def run(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = cli.main(list(arguments))
        messages = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=messages.out, stderr=messages.err)

    yield run
    signal.signal(signal.SIGTERM, before)
    progress.messages_enabled, progress.bars_enabled = shown


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes.txt").write_text(TEXT)
    return "notes.txt"


@pytest.mark.parametrize("step", ["cbow", "skipgram", "glove"])
def test_from_a_text_to_an_answer(stairs, notes, tmp_path, step):
    epochs = int(MODELS[step].epochs)
    words = ("train", step, notes, "--out", "run", "--width", "12", "--deterministic", "--patience", "0")
    first = stairs(*words, "--json")
    assert first.returncode == 0, first.stderr
    measured = json.loads(first.stdout)
    assert measured["loss"]["value"] > 0 and measured["step"] == measured["trained_steps"] == epochs
    assert f"epoch {epochs} of {epochs} (step {epochs} of {epochs})" in first.stderr and "words/s" in first.stderr
    assert "--deterministic reads" in first.stderr
    longer = stairs(*words, "--epochs", str(epochs + 1))
    assert longer.returncode == 0 and f"resuming from epoch {epochs} of {epochs + 1}" in longer.stderr, longer.stderr
    assert longer.stdout.startswith("run: ") and "loss on test text (" in longer.stdout
    answer = stairs("ask", "run", "king", "--top", "2", "--json")
    assert [len(json.loads(answer.stdout)["near"]), json.loads(answer.stdout)["words"]] == [2, ["king"]], answer.stderr
    messages = stairs("ask", "run", "the cat").stdout
    assert len(messages.split(", ")) > 3 and messages.split()[1].removesuffix(",").count(".") == 1
    vectors = stairs("embed", "run", "the king", "--json")
    assert len(json.loads(vectors.stdout)[0]["vector"]) == 12, vectors.stderr
    score = stairs("score", "run", notes, "--json")
    assert json.loads(score.stdout)["loss"]["value"] > 0, score.stderr


def test_a_plan(stairs, notes, tmp_path):
    plan = stairs("plan", "cbow", notes, "--width", "12", "--json")
    estimate = json.loads(plan.stdout)
    assert estimate["epochs"] == 5 and estimate["words_per_second"] > 0 and estimate["parameters"] > 0 and not (tmp_path / "runs").exists()


def test_rare_words_are_left_out_unless_asked_for(stairs, tmp_path):
    (tmp_path / "few.txt").write_text("\n\n".join(["red blue green , green blue red"] * 3))
    result = stairs("train", "cbow", "few.txt")
    assert result.returncode == 2 and "lower --min-count" in result.stderr, result.stderr
    first = stairs("train", "cbow", "few.txt", "--min-count", "1", "--width", "4", "--subsample", "0")
    assert first.returncode == 0, first.stderr
