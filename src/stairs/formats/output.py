"""A file or a folder for another tool, which appears only when it is complete."""

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.files import fsync_path, os_errors_as_sentences, share_permissions


@contextmanager
def open_output(path: str) -> Iterator[Any]:
    """A binary file, compressed if its name ends in .gz; - is stdout."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with new_file(path) as aside, gzip.open(aside, "wb", 6) if path.endswith(".gz") else aside.open("wb") as file:
        yield file


@contextmanager
def new_file(path: str) -> Iterator[Path]:
    """The name of a file to write, which is moved to `path` afterwards."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise BadInput(f"{path} is {'a folder' if target.is_dir() else 'a device or a pipe'}; give --out a file, or - for stdout")
    aside = target.with_name(f".tmp-{os.getpid()}-{target.name}")
    with os_errors_as_sentences(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield aside
            fsync_path(aside)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """An empty folder to fill, which is moved to `path` afterwards."""
    target = Path(path)
    if path == "-" or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise BadInput(f"{path} is {'stdout' if path == '-' else 'not empty or not a folder'}; give --out a new folder")
    aside = target.with_name(f".tmp-{os.getpid()}-{target.name}")
    with os_errors_as_sentences(target):
        try:
            aside.mkdir(parents=True)
            yield aside
            for file in sorted(aside.rglob("*")):
                share_permissions(file)
                fsync_path(file)
            if target.exists():
                target.rmdir()
            aside.rename(target)
            fsync_path(target.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
