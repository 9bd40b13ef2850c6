"""A large file is read in full once, and again when anybody has touched it."""

import os

import pytest

from stairs import files
from stairs.errors import BadInput


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "LARGE_FILE", 100)
    with files.new_folder(tmp_path / "folder") as new:
        (new / "large").write_bytes(b"a" * 1000)
        (new / "small").write_bytes(b"b" * 10)
    return tmp_path / "folder"


def counted(monkeypatch):
    read, whole = [], files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: read.append(path.name) or whole(path))
    return read


def test_what_was_checked_is_not_read_again(folder, monkeypatch, tmp_path):
    read = counted(monkeypatch)
    files.verified_manifest(folder)
    assert read == ["small"]
    for note in (tmp_path / "cache").rglob("checked/*"):
        note.unlink()
    files.verified_manifest(folder)  # as on a machine that has not seen it yet
    files.verified_manifest(folder)
    assert read == ["small", "large", "small", "small"]


def test_a_change_is_found_even_if_its_date_was_set_back(folder):
    path = folder / "large"
    before = path.stat()
    path.write_bytes(b"a" * 999 + b"c")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(BadInput, match="large is damaged"):
        files.verified_manifest(folder)
    path.write_bytes(b"a" * 1000)
    files.verified_manifest(folder)


def test_without_a_cache_it_is_read_each_time(folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    read = counted(monkeypatch)
    files.verified_manifest(folder)
    files.verified_manifest(folder)
    assert read == ["large", "small"] * 2
