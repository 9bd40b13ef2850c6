import os

import pytest

from tests.support.runs import every_run


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Every kind of run, and the folder that they lie in."""
    folder, before = tmp_path_factory.mktemp("world"), os.getcwd()
    os.chdir(folder)
    try:
        runs = every_run(folder)
        for task in runs.values():
            task.folder = task.folder.resolve()
        yield folder, runs
    finally:
        os.chdir(before)


@pytest.fixture
def runs(world, monkeypatch):
    monkeypatch.chdir(world[0])
    return world[1]
