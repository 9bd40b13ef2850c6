"""One torch thread, a seed, and caches of their own, so that tests neither disturb one another nor depend on the machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("NUMBA_NUM_THREADS", "2")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job begun in the background would ignore Ctrl-C, and so would all it starts


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Shards and samples of the tests go to a folder of theirs; the Python prose is read once for all of them."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(autouse=True)
def repeatable():
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)


@pytest.fixture(scope="session")
def data() -> Path:
    """Real data, where there is some."""
    folder = os.environ.get("STAIRS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("STAIRS_DATA is not set to a folder of real data")
    return Path(folder)


@pytest.fixture
def stairs(tmp_path):
    """Run the command line as a user does: `stairs("train", "ngram", "notes.txt")` in a folder of its own."""

    def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "stairs", *map(str, arguments)]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **(env or {})}, timeout=300, **options
        )

    return run
