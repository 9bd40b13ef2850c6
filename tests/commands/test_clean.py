"""stairs clean: what the cache holds is shown, and freed only when somebody says so."""

import json
import os

import pytest

from stairs.cli import main


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "stairs"
    (folder / "shards-0123").mkdir(parents=True)
    (folder / "shards-0123" / "train.bin").write_bytes(b"x" * 100_000)
    (folder / "kernels-4567.json").write_text("{}")
    return folder


def test_without_a_terminal_it_only_shows(cache, capsys):
    assert main(["clean"]) == 0
    shown = capsys.readouterr().out
    assert "corpora as token ids" in shown
    assert "stairs clean --yes" in shown
    assert (cache / "shards-0123").exists()


def test_yes_frees_all_but_the_notes_on_compiled_kernels(cache, capsys):
    assert main(["clean", "--yes", "--json"]) == 0
    freed = json.loads(capsys.readouterr().out)
    assert freed["is_freed"]
    assert freed["kinds"]["corpora as token ids"]["bytes"] >= 100_000
    assert [path.name for path in cache.iterdir()] == ["kernels-4567.json"]
    assert main(["clean"]) == 0
    assert "nothing to free" in capsys.readouterr().out


def test_what_is_newer_is_kept(cache):
    old = cache / "features-89"
    old.mkdir()
    os.utime(old, (0, 0))
    assert main(["clean", "--yes", "--older-than", "30d"]) == 0
    assert not old.exists()
    assert (cache / "shards-0123").exists()


def test_what_a_running_process_writes_is_kept(cache):
    other = cache / f".tmp-{os.getppid()}-shards-aa"
    other.mkdir()
    assert main(["clean", "--yes"]) == 0
    assert other.exists()


def test_a_time_that_is_none_is_one_sentence(cache, capsys):
    assert main(["clean", "--older-than", "soon"]) == 2
    assert "--older-than 'soon' is not a time" in capsys.readouterr().err
