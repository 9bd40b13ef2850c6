"""Examples in docstrings are run, so that what they print is what the code computes."""

import doctest
import importlib
from pathlib import Path

import pytest

import stairs

SOURCE = Path(stairs.__file__).parent
NEED_RUNS = {  # examples that load a run, and the tests that train one for them
    "api": "tests/python/test_verbs.py",
    "tasks.run_verbs": "tests/python/test_verbs.py",
    "tasks.task": "tests/python/test_verbs.py",
    "tasks.verbs": "tests/python/test_verbs.py",
    "sklearn": "tests/test_sklearn.py",
    "embeddings": "tests/test_sklearn.py",
}


def modules_with_examples():
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if "\n>>> " in path.read_text("utf-8").replace("    ", "")]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]


@pytest.mark.parametrize("name", [name for name in modules_with_examples() if name not in NEED_RUNS])
def test_examples_print_what_they_show(name, capsys):
    failed, tried = doctest.testmod(importlib.import_module(f"stairs.{name}"))
    assert tried and not failed, capsys.readouterr().out


def test_examples_that_need_runs_are_tested_elsewhere():
    assert NEED_RUNS.keys() <= set(modules_with_examples())
    assert all((SOURCE.parents[1] / path).exists() for path in NEED_RUNS.values())
