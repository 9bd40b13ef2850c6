"""The docstrings of the running Python and three of its packages, each with what the code says about its owner.

Reading them takes seconds (python_sources.py), so they are cached under a key of versions, and of sizes and times of all files.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import zstandard

from stairs.cache import cache_folder
from stairs.errors import EnvironmentFault
from stairs.progress import say
from stairs.text.embedded import attached_docstrings, compiled_docstrings, python_sources

FORMAT = 1  # increased whenever other docstrings would be found in the same files


@dataclass(frozen=True, slots=True)
class Docstring:
    """One docstring and its owner."""

    package: str  # "python" for the standard library
    module: str  # "numpy.linalg._linalg"
    name: str  # "Generator.normal"; empty for the module itself
    kind: str  # module, class or function
    parameters: tuple[str, ...]  # without self and cls; a class has those of its __init__
    text: str
    where: str  # "numpy/linalg/_linalg.py:12"

    def row(self) -> list:
        return [self.package, self.module, self.name, self.kind, self.parameters, self.text, self.where]


def from_row(row: list) -> Docstring:
    package, module, name, kind, parameters, text, where = row
    return Docstring(package, module, name, kind, tuple(parameters), text, where)


@lru_cache(maxsize=1)
def docstrings() -> tuple[Docstring, ...]:
    """All docstrings in the order of package, file and line, without duplicates."""
    files = list(python_sources.source_files())
    path = cache_folder() / f"docstrings-{cache_key(files)}.json.zst"
    records = load(path)
    if records is None:
        records = tuple(drop_duplicates(from_row(row) for row in docstring_rows(files)))
        if not records:
            raise EnvironmentFault("this Python has no source files to read docstrings from; give a text file")
        save(path, records)
    return records


def docstring_rows(files: list[python_sources.SourceFile]) -> Iterator[list]:
    yield from python_sources.read_all(files)
    for package, module, name, kind, text in compiled_docstrings.compiled_docstrings():
        yield [package, module, name, kind, attached_docstrings.signature(text), text, f"{module}.{name}".rstrip(".")]


def drop_duplicates(records: Iterable[Docstring]) -> Iterator[Docstring]:
    seen = set()
    for docstring in records:
        if docstring.text not in seen and is_encodable(docstring.text):
            seen.add(docstring.text)
            yield docstring


def is_encodable(text: str) -> bool:
    """Whether it can be written as UTF-8: a docstring may hold a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cache_key(files: list[python_sources.SourceFile]) -> str:
    key = hashlib.sha256(f"{FORMAT} {sys.version}".encode())
    for package in python_sources.PACKAGES:
        with suppress(PackageNotFoundError):
            key.update(f"{package} {version(package)}\n".encode())
    for _, _, file in files:
        with suppress(OSError):
            state = os.stat(file)
            key.update(os.fsencode(f"{file} {state.st_size} {state.st_mtime_ns}\n"))
    return key.hexdigest()[:16]


def save(path: Path, records: tuple[Docstring, ...]) -> None:
    """Cache them if the disk allows: otherwise the next start is slower, nothing else."""
    compressed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(json.dumps([docstring.row() for docstring in records]).encode())
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(compressed)
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        say(f"the docstrings could not be cached in {path.parent} ({error.strerror}); they will be read again next time")


def load(path: Path) -> tuple[Docstring, ...] | None:
    """What `save` wrote; None if it is missing or damaged."""
    try:
        return tuple(from_row(row) for row in json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes())))
    except FileNotFoundError:
        return None
    except (OSError, zstandard.ZstdError, ValueError, TypeError):
        say(f"{path} is damaged; reading the docstrings again")
        return None
