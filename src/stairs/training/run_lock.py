"""Where a run may be written, and by whom: found out before any work is done, and without torch, so that a refusal comes at once."""

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from stairs.errors import BadInput, EnvironmentFault, Locked
from stairs.files import os_error_reason, os_errors_as_sentences, write_error

RUN_FILE, LOCK_FILE = "run.json", "run.lock"
TEMPORARY_PREFIXES = (".tmp-", ".old-")  # how names begin that only a killed process leaves


def check_run(folder: Path) -> None:
    """A new run, or one that can go on: anything else is refused before a byte is written."""
    check_writable(folder)
    if folder.is_dir() and not (folder / RUN_FILE).exists() and any(not is_leftover(path.name) for path in folder.iterdir()):
        raise BadInput(f"{folder} exists and is not a run; choose another folder with --out")
    check_unlocked(folder)


def check_unlocked(folder: Path) -> None:
    """No other process writes there now."""
    if (folder / LOCK_FILE).exists() and os.environ.get("RANK", "0") == "0":  # of many workers the first one writes, and may have begun
        with os_errors_as_sentences(folder), (folder / LOCK_FILE).open() as file:
            lock_file(file, fcntl.LOCK_SH, folder)


def is_leftover(name: str) -> bool:
    return name == LOCK_FILE or name.startswith(TEMPORARY_PREFIXES)


def check_writable(folder: Path) -> None:
    """A folder can be made there; what forbids it shows only when it is tried, since root may do what permissions forbid."""
    try:
        there = next(parent for parent in [folder, *folder.absolute().parents] if parent.exists())
        if not there.is_dir():
            below = f", so {folder} cannot be a folder" if there != folder else ""
            raise BadInput(f"{there} is a file{below}; choose another folder with --out")
        os.rmdir(tempfile.mkdtemp(prefix=TEMPORARY_PREFIXES[0], dir=there))
    except OSError as error:
        raise write_error(folder, error) from None


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """The one writer of a folder; the lock dies with the process, however it ends. If nothing comes of it, neither do the folders that it made."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with acquire_lock(folder) as file:
        with os_errors_as_sentences(folder):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
        try:
            yield
        except BaseException:
            with suppress(OSError):  # whoever failed may have taken the folder away already
                if [path.name for path in folder.iterdir()] == [LOCK_FILE]:
                    (folder / LOCK_FILE).unlink()
                    for path in made or [folder]:
                        path.rmdir()
            raise


def acquire_lock(folder: Path) -> TextIO:
    """The lock of a folder, taken; a file that its last owner took away while this process waited is none."""
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
