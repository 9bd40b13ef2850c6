"""stairs clean: what the cache holds, and how to free it."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stairs import questions
from stairs.cache import cache_folder
from stairs.commands.flags import CommonFlags, parse, show
from stairs.files import format_megabytes, is_used_elsewhere, os_errors_as_sentences
from stairs.training.options import parse_duration

ABOUT = """Show what the cache holds and free it. All of it is made again when it is needed; no run and no report is touched. At a terminal it asks
first; elsewhere it only shows, unless --yes is given. The cache is the folder stairs in XDG_CACHE_HOME, or in ~/.cache."""
KINDS = {  # by how their names begin
    "shards-": "corpora as token ids",
    "features-": "vectors of labelled texts",
    "docstrings-": "the prose of the Python installation",
    "run-files": "unpacked .stairs files",
    "jieba": "the dictionary of jieba",
    "checked": "marks of files that were verified",
}
KEPT = ("kernels-",)  # notes on what is compiled, of a few kB; without them everything would be looked at again


@dataclass(frozen=True)
class Clean(CommonFlags):
    yes: bool = False  # free it without asking
    older_than: str | None = None  # only what was made longer ago, such as 12h or 30d; everything if not given


@dataclass(frozen=True)
class Entry:
    path: Path
    kind: str
    bytes: int
    seconds_old: float


def main(arguments: list[str]) -> int:
    options = parse(Clean, arguments, "clean", ABOUT)
    least_age = parse_duration(options.older_than, "--older-than") if options.older_than else 0.0
    entries = [entry for entry in cache_entries(cache_folder()) if entry.seconds_old >= least_age]
    total = sum(entry.bytes for entry in entries)
    is_freed = bool(entries) and (options.yes or (not options.json and questions.is_interactive() and is_confirmed(entries)))
    if is_freed:
        free(entries)
    if options.json:
        by_kind = {kind: {"entries": len(own), "bytes": sum(entry.bytes for entry in own)} for kind, own in group(entries).items()}
        show({"cache": str(cache_folder()), "bytes": total, "kinds": by_kind, "is_freed": is_freed})
        return 0
    if is_freed or not entries:
        print(f"{cache_folder()}: {f'{format_megabytes(total)} freed' if entries else 'nothing to free'}")
        return 0
    print(table(entries))
    print(f"{cache_folder()}: {format_megabytes(total)}; free it with stairs clean --yes")
    return 0


def cache_entries(folder: Path) -> list[Entry]:
    """What can be freed; what a running process is just writing is not."""
    if not folder.is_dir():
        return []
    entries = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(KEPT) or is_used_elsewhere(path):
            continue
        kind = next((text for start, text in KINDS.items() if path.name.startswith(start)), "other files")
        files = [own.lstat() for own in (path, *path.rglob("*"))]
        newest = max(status.st_mtime for status in files)
        entries.append(Entry(path, kind, sum(status.st_blocks * 512 for status in files), max(time.time() - newest, 0.0)))
    return entries


def group(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    kinds = dict.fromkeys(entry.kind for entry in entries)
    return {kind: [entry for entry in entries if entry.kind == kind] for kind in kinds}


def table(entries: Sequence[Entry]) -> str:
    """A line for each kind."""
    lines = []
    for kind, own in group(entries).items():
        days = max(entry.seconds_old for entry in own) / 86400
        lines.append(f"{format_megabytes(sum(entry.bytes for entry in own)):>10}  {kind}, {len(own)}, the oldest of {days:.0f} days ago")
    return "\n".join(lines)


def is_confirmed(entries: Sequence[Entry]) -> bool:
    print(table(entries))
    answer = input(f"Free {format_megabytes(sum(entry.bytes for entry in entries))} in {cache_folder()}? yes or no: ")
    return answer.strip().casefold() in ("y", "yes", "是")


def free(entries: Sequence[Entry]) -> None:
    for entry in entries:
        with os_errors_as_sentences(entry.path):
            shutil.rmtree(entry.path) if entry.path.is_dir() and not entry.path.is_symlink() else entry.path.unlink(missing_ok=True)
