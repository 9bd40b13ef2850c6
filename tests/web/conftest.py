"""The explorer over runs of every kind."""

import pytest

from tests.web.explorer_runs import PORT, climb, make, write_labels


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of runs."""
    place = tmp_path_factory.mktemp("explorer") / "runs"
    make(place)
    return place


@pytest.fixture(scope="session")
def hill(tmp_path_factory):
    """The folder of a climb whose runs are elsewhere."""
    place = tmp_path_factory.mktemp("climbs") / "hill"
    climb(place)
    return place


@pytest.fixture
def climbed(hill):
    """The same for a test that changes it: afterwards it is as it was, however the test ends."""
    yield hill
    climb(hill)


@pytest.fixture(scope="session")
def shelf(folder, hill):
    from stairs.web.shelf import Shelf, find_folders

    shelf = Shelf(*find_folders([str(folder), str(hill)]), str(write_labels(folder.parent / "labels.csv")))
    for run in shelf.runs.values():
        run.load()
    return shelf


@pytest.fixture(scope="session")
def client(shelf):
    from starlette.testclient import TestClient

    from stairs.web.app import application

    return TestClient(application(shelf, PORT), base_url=f"http://127.0.0.1:{PORT}", raise_server_exceptions=False)
