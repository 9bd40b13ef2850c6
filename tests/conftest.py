"""One torch thread, a seed, and a cache of their own, so that tests neither disturb one another nor depend on the machine."""

import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from stairs import progress, questions  # stairs before torch, whose threads then sleep while they wait
from stairs.cache import cache_folder
from stairs.machine import cores

os.environ.setdefault("NUMBA_NUM_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # in the processes that tests start, too: the other cores belong to other workers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job begun in the background would ignore Ctrl-C, and so would all it starts
MOST_WORKERS = 8  # each takes a gigabyte or two


def pytest_configure(config):
    """One cache for the whole session: the first process makes it, and its workers and all that they start find it in their environment."""
    if not hasattr(config, "workerinput"):
        notes = list(cache_folder().glob("kernels-*.json"))  # which kernels `make` has compiled: they are beside the sources, for all
        folder = tempfile.mkdtemp(prefix="stairs-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["XDG_CACHE_HOME"] = folder
        cache_folder().mkdir()
        for note in notes:
            shutil.copy(note, cache_folder())


def pytest_xdist_auto_num_workers():
    """For `-n auto`: a worker for each core that is ours."""
    return min(cores(), MOST_WORKERS)


def pytest_itemcollected(item):
    """Tests on real data are those that ask for its folder."""
    if "data" in item.fixturenames:
        item.add_marker(pytest.mark.data)


@pytest.fixture(autouse=True)
def repeatable():
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
    before = progress.messages_enabled, progress.verbose, progress.bars_enabled, progress.listener
    yield
    progress.messages_enabled, progress.verbose, progress.bars_enabled, progress.listener = before  # a command within a test decides for itself
    questions.assume_yes = False


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, where there is one. An empty STAIRS_DATA names none."""
    folder = os.environ.get("STAIRS_DATA")
    if not folder:
        pytest.skip("STAIRS_DATA names no folder of real data")
    if not Path(folder).is_dir():
        pytest.skip(f"STAIRS_DATA is {folder}, and there is no such folder")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def prose() -> None:
    """The documentation of Python and its packages is in the session's cache: one worker reads it, the others wait."""
    from stairs.text.embedded.docstrings import docstrings

    with open(Path(os.environ["XDG_CACHE_HOME"]) / "prose.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        docstrings()


@pytest.fixture
def stairs(tmp_path):
    """Run the command line as a user does: `stairs("train", "ngram", "notes.txt")` in a folder of its own."""

    def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "stairs", *map(str, arguments)]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **(env or {})}, timeout=300, **options
        )

    return run


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """The same within the test's own process, since most of a command's time is the import of torch."""
    from stairs import cli

    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def run(*arguments: object, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)
