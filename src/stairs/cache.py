"""The folder of everything that can be made again, and the marks in it of large files whose sha256 was verified."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

LARGE_FILE = 1 << 26  # bytes; a larger file is verified once, and again only when it has changed
_temporary_folder: ContextVar[Path | None] = ContextVar("temporary_cache", default=None)


def cache_folder() -> Path:
    if (temporary := _temporary_folder.get()) is not None:
        return temporary
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stairs"


@contextmanager
def temporary_cache(folder: Path) -> Iterator[None]:
    """The cache is `folder` inside the `with`, for work that is to leave nothing on the disk."""
    token = _temporary_folder.set(folder)
    try:
        yield
    finally:
        _temporary_folder.reset(token)


def is_verified(path: Path, digest: str) -> bool:
    """Whether a large file was read in full and had this sha256, and has not changed since."""
    return verification_mark(path, digest).exists()


def mark_verified(path: Path, digest: str) -> None:
    with suppress(OSError):  # without a cache the file is read in full the next time
        mark = verification_mark(path, digest)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def verification_mark(path: Path, digest: str) -> Path:
    """The empty file in the cache that records that a file had this sha256. Changing the file changes its ctime, which nobody can set back."""
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns, digest)
    return cache_folder() / "checked" / hashlib.sha256(repr(identity).encode()).hexdigest()
