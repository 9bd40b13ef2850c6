"""The explorer over runs of every kind."""

import pytest
from explorer_runs import PORT, make


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of runs."""
    place = tmp_path_factory.mktemp("explorer") / "runs"
    make(place)
    return place


@pytest.fixture(scope="session")
def shelf(folder):
    from stairs.web.runs import Shelf, found

    shelf = Shelf(found([str(folder)]))
    for run in shelf.runs.values():
        run.load()
    return shelf


@pytest.fixture(scope="session")
def client(shelf):
    from starlette.testclient import TestClient

    from stairs.web.app import application

    return TestClient(application(shelf, PORT), base_url=f"http://127.0.0.1:{PORT}", raise_server_exceptions=False)
