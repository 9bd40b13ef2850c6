"""On a machine that cannot set itself up, make says in one sentence what to install."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OLD = 'case "$2" in *version_info*) exit 1;; esac; [ "$1" = --version ] && echo "Python 3.9.2"; exit 0'
BARE = 'case "$2" in *ensurepip*) exit 1;; esac; exit 0'


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (OLD, "Python 3.9.2 is too old: install Python 3.11 or newer, and name it as in make PYTHON=python3.12 if it is not your python3."),
        (BARE, "{python} cannot make virtual environments: install its venv package (apt-get install python3-venv on Debian and Ubuntu)."),
        (None, "There is no {python}: install Python 3.11 or newer."),
    ],
)
def test_an_unsuitable_python_is_named(tmp_path, script, sentence):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python3"
    if script:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    result = subprocess.run(["make", "test", f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True)
    printed, ending = result.stderr.splitlines()
    assert result.returncode and printed == sentence.format(python=python) and ending.startswith("make")
    assert not (tmp_path / ".venv").exists() and "install" not in result.stdout
