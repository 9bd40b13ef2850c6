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
from stairs.files import plain, said_plainly, unwritable

RUN, LOCK = "run.json", "run.lock"
LEFT_BY_A_KILL = (".tmp-", ".old-")  # how names begin that only a killed process leaves


def check_run(folder: Path) -> None:
    """A new run, or one that can go on: anything else is refused before a byte is written."""
    check_writable(folder)
    if folder.is_dir() and not (folder / RUN).exists() and any(not passing(path.name) for path in folder.iterdir()):
        raise BadInput(f"{folder} exists and is not a run; choose another folder with --out")
    check_unlocked(folder)


def check_unlocked(folder: Path) -> None:
    """No other process writes there now."""
    if (folder / LOCK).exists() and os.environ.get("RANK", "0") == "0":  # of many workers the first one writes, and may have begun
        with said_plainly(folder), (folder / LOCK).open() as file:
            take(file, fcntl.LOCK_SH, folder)


def passing(name: str) -> bool:
    return name == LOCK or name.startswith(LEFT_BY_A_KILL)


def check_writable(folder: Path) -> None:
    """A folder can be made there; what forbids it shows only when it is tried, since root may do what permissions forbid."""
    try:
        there = next(parent for parent in [folder, *folder.absolute().parents] if parent.exists())
        if not there.is_dir():
            below = f", so {folder} cannot be a folder" if there != folder else ""
            raise BadInput(f"{there} is a file{below}; choose another folder with --out")
        os.rmdir(tempfile.mkdtemp(prefix=LEFT_BY_A_KILL[0], dir=there))
    except OSError as error:
        raise unwritable(folder, error) from None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The one writer of a folder; the lock dies with the process, however it ends. If nothing comes of it, neither do the folders that it made."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with take_lock(folder) as file:
        with said_plainly(folder):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
        try:
            yield
        except BaseException:
            with suppress(OSError):  # whoever failed may have taken the folder away already
                if [path.name for path in folder.iterdir()] == [LOCK]:
                    (folder / LOCK).unlink()
                    for path in made or [folder]:
                        path.rmdir()
            raise


def take_lock(folder: Path) -> TextIO:
    """The lock of a folder, taken; a file that its last owner took away while this process waited is none."""
    while True:
        with said_plainly(folder):
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK).open("a+")
        take(file, fcntl.LOCK_EX, folder)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def take(file: TextIO, kind: int, folder: Path) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read(200).strip() or "another process"
        raise Locked(f"{folder} is being written by {owner}; wait for it or choose another --out") from None
    except OSError as error:
        raise EnvironmentFault(f"cannot lock {folder}: {plain(error)}; choose a folder on another disk with --out") from None
