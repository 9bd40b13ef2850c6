"""Commands that must be refused, and a run for them."""

import shutil
import signal
from pathlib import Path

import pytest

from stairs import cli
from tests.faults.refusals import assert_one_sentence, sentences, tree


@pytest.fixture
def refused(command, tmp_path):
    """Run a command that must be refused: the exit code, one sentence that holds `words`, and not a byte changed on the disk."""

    def run(*arguments: object, words: tuple[str, ...] = (), code: int = 2, stdin: bytes = b"") -> str:
        before = tree(tmp_path)
        result = command(*arguments, stdin=stdin)
        assert_one_sentence(result, code)
        for word in words:
            assert word in result.err, result.err
        assert tree(tmp_path) == before
        return result.err

    return run


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text(sentences())
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A finished run, copied for each test."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "notes.txt").write_text(sentences())
    before = signal.getsignal(signal.SIGTERM)
    assert cli.main(["train", "ngram", str(folder / "notes.txt"), "--out", str(folder / "run"), "--quiet"]) == 0
    signal.signal(signal.SIGTERM, before)
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path, corpus) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))
