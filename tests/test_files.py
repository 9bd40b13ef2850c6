"""A large file is verified in full once, and again after it has changed."""

import os

import pytest

from stairs import cache, files
from stairs.errors import BadInput


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "LARGE_FILE", 100)
    with files.new_folder(tmp_path / "folder") as new:
        (new / "large").write_bytes(b"a" * 1000)
        (new / "small").write_bytes(b"b" * 10)
    return tmp_path / "folder"


def count_reads(monkeypatch):
    paths, sha256 = [], files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: paths.append(path.name) or sha256(path))
    return paths


def test_a_verified_file_is_not_read_again(folder, monkeypatch, tmp_path):
    read = count_reads(monkeypatch)
    files.verified_manifest(folder)
    assert read == ["small"]
    for mark in (tmp_path / "cache").rglob("checked/*"):
        mark.unlink()
    files.verified_manifest(folder)  # as on another machine
    files.verified_manifest(folder)
    assert read == ["small", "large", "small", "small"]


def test_a_change_is_detected_even_if_its_date_is_set_back(folder):
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
    read = count_reads(monkeypatch)
    files.verified_manifest(folder)
    files.verified_manifest(folder)
    assert read == ["large", "small"] * 2
