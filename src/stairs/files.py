"""Folders that are whole or not there: written aside, checked by a manifest, and renamed into place in one instant."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stairs.errors import BadInput, EnvironmentFault

MANIFEST = "manifest.json"
LARGE_FILE = 1 << 26  # bytes; a larger file that was checked once is checked again only when it has changed
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_PERMITTED = {errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EBUSY, errno.ESTALE, errno.ENXIO}
NO_SUCH_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}  # below a file, or in /proc


@contextmanager
def new_folder(target: Path, metadata: dict | None = None) -> Iterator[Path]:
    """Yield an empty folder to fill; afterwards it stands at `target` with a manifest of sizes and sha256, or, after an error, nowhere.

    `about` is kept in the manifest and may still be filled inside the `with`.
    """
    aside = target.parent / f".tmp-{os.getpid()}-{target.name}"
    with os_errors_as_sentences(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(target)
            aside.mkdir()
            yield aside
            files = {}
            for path in sorted(aside.iterdir()):
                files[path.name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
                fsync_path(path)
                if path.stat().st_size >= LARGE_FILE:
                    write_mark(verification_mark(path, str(files[path.name]["sha256"])))
            manifest = {**(metadata or {}), "files": files}
            write_json(aside / MANIFEST, {**manifest, "checksum": checksum(manifest)})
            fsync_path(aside)
            replaced = target.parent / f".old-{os.getpid()}-{target.name}"
            if target.exists():
                target.rename(replaced)
            try:
                aside.rename(target)
            except OSError:
                if replaced.exists():
                    replaced.rename(target)
                raise
            fsync_path(target.parent)
            shutil.rmtree(replaced, ignore_errors=True)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def verified_manifest(folder: Path) -> dict:
    """The manifest of a folder, every file checked against it; BadInput names the first that differs."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = {str(name): (int(expected["bytes"]), str(expected["sha256"])) for name, expected in manifest["files"].items()}
        if manifest.pop("checksum") != checksum(manifest):
            raise ValueError
    except FileNotFoundError:
        raise BadInput(f"{folder} has no {MANIFEST}, so it was not finished; make it again") from None
    except OSError as error:
        raise EnvironmentFault(f"cannot read {folder / MANIFEST}: {os_error_reason(error)}; check the folder") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{folder / MANIFEST} is damaged; make the folder again") from None
    for name, (size, digest) in files.items():
        path = folder / name
        if not path.is_file():
            raise BadInput(f"{path} is missing; make the folder again")
        if path.stat().st_size != size:
            raise BadInput(f"{path} has {path.stat().st_size} bytes where its manifest says {size}; make the folder again")
        actual = cached_sha256(path, digest)
        if actual != digest:
            raise BadInput(f"{path} is damaged: sha256 {actual[:12]} where its manifest says {digest[:12]}; make the folder again")
    return manifest


def remove_leftovers(target: Path) -> None:
    """What a process that is no more, or this one's namesake, left half-written beside `target`."""
    for left in [*target.parent.glob(f".tmp-*-{target.name}"), *target.parent.glob(f".old-*-{target.name}")]:
        process = left.name.split("-")[1]
        if process == str(os.getpid()) or not (process.isdecimal() and is_running(int(process))):
            shutil.rmtree(left, ignore_errors=True)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, and is another user's
    return True


def checksum(manifest: dict) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def write_json(path: Path, data: object) -> None:
    """JSON people can read."""
    write_atomically(path, (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_atomically(path: Path, content: bytes) -> None:
    """A file that is on the disk when this returns, and never half of it."""
    with os_errors_as_sentences(path):
        aside = path.with_name(f".tmp-{os.getpid()}-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(content)
            fsync_path(aside)
            aside.replace(path)
            fsync_path(path.parent)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached_sha256(path: Path, claimed: str) -> str:
    """The sha256 of a file; millions of vectors are read in full once, and again when they have changed, not whenever they are opened."""
    if path.stat().st_size < LARGE_FILE:
        return sha256(path)
    note = verification_mark(path, claimed)
    if note.exists():
        return claimed
    actual = sha256(path)
    if actual == claimed:
        write_mark(note)
    return actual


def verification_mark(path: Path, digest: str) -> Path:
    """Where it is noted that a file had this sha256. Whoever changes the file changes its ctime, which nobody can set back."""
    status = path.stat()
    seen = (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns, digest)
    return cache_folder() / "checked" / hashlib.sha256(repr(seen).encode()).hexdigest()


def write_mark(note: Path) -> None:
    with suppress(OSError):  # without a cache it is read in full the next time
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()


def fsync_path(path: Path) -> None:
    """Until it is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_free_space(folder: Path, needed: int, what: str) -> None:
    """EnvironmentFault if less than `require_tensorboard` bytes are free where `folder` will be."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentFault(
            f"{what} needs about {format_megabytes(needed)} in {folder}, where {format_megabytes(free)} are free; "
            "free some or set XDG_CACHE_HOME elsewhere"
        )


def format_megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


@contextmanager
def os_errors_as_sentences(path: Path) -> Iterator[None]:
    """A full disk, a missing permission or a place where nothing can be as one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL | NOT_PERMITTED | NO_SUCH_PATH:
            raise
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> EnvironmentFault:
    if error.errno not in DISK_FULL:
        return EnvironmentFault(f"cannot write {path}: {os_error_reason(error)}; choose another place")
    there = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    free = format_megabytes(shutil.disk_usage(there).free)
    return EnvironmentFault(f"cannot write {path}: {os_error_reason(error)} ({free} free); free some space or choose another place")


def os_error_reason(error: OSError) -> str:
    return (error.strerror or "input/output error").lower()


def cache_folder() -> Path:
    """Where what can be made again is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stairs"
