"""Commands run within the test's own process, since most of a command's time is the import of torch."""

import io
import shutil
import signal
import sys
from pathlib import Path

import pytest
from outcome import Ended, assert_one_sentence, sentences, tree

from stairs import cli, progress


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """`command("train", "ngram", "notes.txt")` in a folder of its own, without a process of its own."""
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    shown = progress.talkative, progress.shown

    def run(*arguments: object, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    yield run
    progress.talkative, progress.shown = shown
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def refused(command, tmp_path):
    """Run a command that must be refused: the exit code, one sentence that holds `words`, and not a byte changed on the disk."""

    def run(*arguments: object, words: tuple[str, ...] = (), code: int = 2, stdin: bytes = b"") -> str:
        before = tree(tmp_path)
        ended = command(*arguments, stdin=stdin)
        assert_one_sentence(ended, code)
        for word in words:
            assert word in ended.err, ended.err
        assert tree(tmp_path) == before
        return ended.err

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
