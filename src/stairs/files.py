"""Folders that are complete or absent: written under a temporary name, described by a manifest, and renamed into place. The lock of a folder, and
whether one may write there."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from stairs import cache
from stairs.errors import BadInput, EnvironmentFault, Locked

MANIFEST, LOCK_FILE = "manifest.json", "run.lock"
TEMPORARY_PREFIXES = (".tmp-", ".old-")  # of names that only a killed process leaves behind
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_PERMITTED = {errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EBUSY, errno.ESTALE, errno.ENXIO}
NO_SUCH_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}  # below a file, or in /proc


@contextmanager
def new_folder(target: Path, metadata: dict[str, Any] | None = None) -> Iterator[Path]:
    """Yield an empty folder to fill; afterwards it stands at `target` with a manifest of sizes and sha256 or, after an error, nowhere.

    `metadata` goes into the manifest and may still be filled inside the `with`.
    """
    temporary = target.parent / f".tmp-{os.getpid()}-{target.name}"
    with os_errors_as_sentences(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(target)
            temporary.mkdir()
            yield temporary
            files = {}
            for path in sorted(temporary.iterdir()):
                share_permissions(path)
                files[path.name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
                fsync_path(path)
                if path.stat().st_size >= cache.LARGE_FILE:
                    cache.mark_verified(path, str(files[path.name]["sha256"]))
            manifest = {**(metadata or {}), "files": files}
            write_json(temporary / MANIFEST, {**manifest, "checksum": checksum(manifest)})
            fsync_path(temporary)
            old_folder = target.parent / f".old-{os.getpid()}-{target.name}"
            if target.exists():
                target.rename(old_folder)
            try:
                temporary.rename(target)
            except OSError:
                if old_folder.exists():
                    old_folder.rename(target)
                raise
            fsync_path(target.parent)
            shutil.rmtree(old_folder, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def verified_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, every file verified against it; BadInput names the first that differs."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = {str(name): (int(expected["bytes"]), str(expected["sha256"])) for name, expected in manifest["files"].items()}
        if manifest.pop("checksum") != checksum(manifest):
            raise ValueError
    except FileNotFoundError:
        raise BadInput(f"{folder} has no {MANIFEST}, so it was not finished; make it again") from None
    except OSError as error:
        raise EnvironmentFault(f"cannot read {folder / MANIFEST}: {os_error_reason(error)}; check the folder") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{folder / MANIFEST} is damaged; make the folder again") from None
    for name, (size, expected) in files.items():
        path = folder / name
        if not path.is_file():
            raise BadInput(f"{path} is missing; make the folder again")
        if path.stat().st_size != size:
            raise BadInput(f"{path} has {path.stat().st_size} bytes where its manifest says {size}; make the folder again")
        is_large = size >= cache.LARGE_FILE
        if is_large and cache.is_verified(path, expected):
            continue
        actual = sha256(path)
        if actual != expected:
            raise BadInput(f"{path} is damaged: sha256 {actual[:12]} where its manifest says {expected[:12]}; make the folder again")
        if is_large:
            cache.mark_verified(path, expected)
    return manifest


def remove_leftovers(target: Path) -> None:
    """Delete what a dead process, or this one under the same number, left half-written beside `target`."""
    for path in [*target.parent.glob(f".tmp-*-{target.name}"), *target.parent.glob(f".old-*-{target.name}")]:
        if not is_used_elsewhere(path):
            shutil.rmtree(path, ignore_errors=True)


def is_used_elsewhere(path: Path) -> bool:
    """Whether it is a temporary name under which another process that runs is writing."""
    process = path.name.split("-")[1] if path.name.startswith(TEMPORARY_PREFIXES) else ""
    return process.isdecimal() and process != str(os.getpid()) and is_running(int(process))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, as another user
    return True


def checksum(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def write_json(path: Path, data: object) -> None:
    """Readable JSON."""
    write_atomically(path, (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_atomically(path: Path, content: bytes) -> None:
    """A file that is on the disk when this returns, and is never half-written."""
    with os_errors_as_sentences(path):
        temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            fsync_path(temporary)
            temporary.replace(path)
            fsync_path(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def share_permissions(path: Path) -> None:
    """Let those read a file who may read its folder: safetensors writes files that only their owner may read."""
    if path.is_file():
        path.chmod(path.parent.stat().st_mode & 0o666)


def fsync_path(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_free_space(folder: Path, needed: int, what: str) -> None:
    """EnvironmentFault if fewer than `needed` bytes are free where `folder` will be."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentFault(
            f"{what} needs about {format_megabytes(needed)} in {folder}, but only {format_megabytes(free)} are free; free some space or set "
            "XDG_CACHE_HOME to another disk"
        )


def format_megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


@contextmanager
def os_errors_as_sentences(path: Path) -> Iterator[None]:
    """Turn a full disk, a missing permission or an impossible path into an error of one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL | NOT_PERMITTED | NO_SUCH_PATH:
            raise
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> EnvironmentFault:
    if error.errno not in DISK_FULL:
        return EnvironmentFault(f"cannot write {path}: {os_error_reason(error)}; choose another place")
    existing = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    free = format_megabytes(shutil.disk_usage(existing).free)
    return EnvironmentFault(f"cannot write {path}: {os_error_reason(error)} ({free} free); free some space or choose another place")


def os_error_reason(error: OSError) -> str:
    return (error.strerror or "input/output error").lower()


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Be the only writer of a folder; the lock ends with the process, however that ends. Folders created for it are removed if nothing is written."""
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    with acquire_lock(folder) as file:
        with os_errors_as_sentences(folder):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
        try:
            yield
        except BaseException:
            with suppress(OSError):  # the folder may be gone already
                if [path.name for path in folder.iterdir()] == [LOCK_FILE]:
                    (folder / LOCK_FILE).unlink()
                    for path in new_folders or [folder]:
                        path.rmdir()
            raise


def acquire_lock(folder: Path) -> TextIO:
    """The locked lock file of a folder; one that its last owner deleted while this process waited does not count."""
    while True:
        with os_errors_as_sentences(folder):
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK_FILE).open("a+")
        lock_file(file, fcntl.LOCK_EX, folder)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def lock_file(file: TextIO, kind: int, folder: Path) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read(200).strip() or "another process"
        raise Locked(f"{folder} is being written by {owner}; wait for it or choose another --out") from None
    except OSError as error:
        raise EnvironmentFault(f"cannot lock {folder}: {os_error_reason(error)}; choose a folder on another disk with --out") from None


def refuse_inside(out: Path, corpus: Sequence[str]) -> None:
    """An output within its own input would be read the next time."""
    for path in filter(os.path.exists, corpus):
        if os.path.isdir(path) and out.resolve().is_relative_to(Path(path).resolve()):
            raise BadInput(f"--out {out} lies inside the corpus {path}; choose a folder elsewhere")
        if out.resolve() == Path(path).resolve():
            raise BadInput(f"--out {out} is the corpus itself; choose another folder")


def check_unlocked(folder: Path) -> None:
    """Refuse a folder that another process is writing to."""
    if (folder / LOCK_FILE).exists() and os.environ.get("RANK", "0") == "0":  # only rank 0 writes, and it may have started already
        with os_errors_as_sentences(folder), (folder / LOCK_FILE).open() as file:
            lock_file(file, fcntl.LOCK_SH, folder)


def is_leftover(name: str) -> bool:
    return name == LOCK_FILE or name.startswith(TEMPORARY_PREFIXES)


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be created. Only trying shows it: root may do what permissions forbid."""
    try:
        existing = next(parent for parent in [folder, *folder.absolute().parents] if parent.exists())
        if not existing.is_dir():
            below = f", so {folder} cannot be a folder" if existing != folder else ""
            raise BadInput(f"{existing} is a file{below}; choose another folder with --out")
        os.rmdir(tempfile.mkdtemp(prefix=TEMPORARY_PREFIXES[0], dir=existing))
    except OSError as error:
        raise write_error(folder, error) from None
