"""How many files one reads to follow a command, and how often one changes folder on the way.

python benchmarks/walks.py [--only "train bert" ask] [--show] [--json FILE]

Five walks, each made by running the command on a small text under a profiler:

    train bert   stairs train bert TEXT --steps 40, all the way down
    climb        stairs climb TEXT --labels FILE, of ngram and bert
    tune         stairs tune RUN FILE
    ask          stairs ask RUN TEXT, all the way down
    picture      POST /api/picture/attention of the explorer, whose model is loaded already

- A file belongs to a walk if functions of it are called; import time, module and class bodies and compiled code do not count. Files whose called
  functions have fewer than `GLANCE` lines together are left out: a glance at a helper is no stop.
- The files are in the order in which the walk meets them first. One comes to a file from the one that calls it: the path goes back to the caller,
  if one has left it meanwhile, and on to the new file. Each step of this path between two top-level folders is a change. Modules that lie
  directly in stairs/ are files but no folder: going to `files.py` and back is no change.
- Climb and tune do not repeat the walks of train and ask: `fit`, `load`, the warming-up of kernels, and whatever they call of text/, models/ and the
  folders below those, are doors: what is called counts, what lies behind it does not. For climb, tasks/ and training/ are such folders, too.
- Of a command, the main thread is followed; of the explorer, the thread that answers.

With --show, the walk itself: file and first function, indented by how deep one is.
"""

import argparse
import inspect
import json
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import stairs
from stairs import cli

HOUSE = str(Path(stairs.__file__).parent) + os.sep
GLANCE = 8  # lines of called functions, in all, below which a file is no stop
BELOW = ("text", "models", "fast", "search", "layers", "kernels")  # folders that climb and tune do not enter
GOALS = {"train bert": (30, 18), "climb": (25, 15), "tune": (18, 14), "ask": (14, 9), "picture": (14, 9)}


class Call(NamedTuple):
    file: str
    function: str
    lines: int
    caller: int  # its index in the list of calls; -1: none


class Walk:
    """Records the first call of every function of ours, and who called it."""

    def __init__(self, doors: tuple[CodeType, ...] = (), folders: tuple[str, ...] = (), every_thread: bool = False) -> None:
        self.doors, self.folders, self.every_thread = doors, folders, every_thread
        self.calls: list[Call] = []
        self.known: dict[CodeType, int] = {}
        self.stacks: dict[int, list[tuple[int, bool]]] = {}  # of each thread: place of the call, and whether it is a door or behind one
        self.importing: dict[int, int] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code, thread = frame.f_code, threading.get_ident()
        if event not in ("call", "return"):
            return
        if code.co_name == "<module>" or "importlib" in code.co_filename:
            self.importing[thread] = max(self.importing.get(thread, 0) + (1 if event == "call" else -1), 0)
            return
        if self.importing.get(thread) or not code.co_filename.startswith(HOUSE) or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        stack = self.stacks.setdefault(thread, [])
        if event == "return":
            if stack:
                stack.pop()
            return
        caller, closed = stack[-1] if stack else (-1, False)
        if closed:
            stack.append((caller, True))
            return
        file = code.co_filename[len(HOUSE) :]
        if code not in self.known:
            self.known[code] = len(self.calls)
            self.calls.append(Call(file, code.co_qualname, len({line for *_, line in code.co_lines() if line}), caller))
        stack.append((self.known[code], code in self.doors or file.split(os.sep)[0] in self.folders))

    @contextmanager
    def recording(self) -> Iterator[None]:
        if self.every_thread:
            threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def stops(self) -> list[tuple[str, str, int]]:
        """Each file with the first function called and its depth, in the order of the walk."""
        lines: dict[str, int] = {}
        for call in self.calls:
            lines[call.file] = lines.get(call.file, 0) + call.lines
        depth: dict[str, int] = {}
        stops = []
        for call in self.calls:
            if lines[call.file] >= GLANCE and call.file not in depth:
                caller = self.caller(call, lines)
                depth[call.file] = depth[caller] + 1 if caller in depth else 0
                stops.append((call.file, call.function, depth[call.file]))
        return stops

    def caller(self, call: Call, lines: dict[str, int]) -> str:
        """The file from which one comes to a call, past those that are no stops."""
        while call.caller >= 0:
            above = self.calls[call.caller]
            if above.file != call.file and lines[above.file] >= GLANCE:
                return above.file
            call = above
        return ""

    def path(self) -> list[str]:
        """The files of the path, including the returns to callers."""
        lines: dict[str, int] = {}
        for call in self.calls:
            lines[call.file] = lines.get(call.file, 0) + call.lines
        path: list[str] = []
        for call in self.calls:
            if lines[call.file] >= GLANCE and call.file not in path:
                caller = self.caller(call, lines)
                path += [caller, call.file] if caller and path[-1:] != [caller] else [call.file]
        return path

    def changes(self) -> int:
        folders = [file.split(os.sep)[0] for file in self.path() if os.sep in file]
        return sum(a != b for a, b in pairwise(folders))


def small_text() -> str:
    """Sentences by rule, English and Chinese."""
    dice = random.Random(0)
    things, cities = ("soup", "bread", "rain", "snow", "wind"), ("Rome", "Paris", "Kyoto")
    lines = []
    for number in range(600):
        a, b, place = dice.choice(things), dice.choice(things), dice.choice(cities)
        lines.append(f"今天在{place}有雨和雪。" if number % 7 == 6 else f"there is {a} and {b} in {place} today .")
        if number % 5 == 4:
            lines.append("")
    return "\n".join(lines) + "\n"


def small_labels() -> str:
    dice = random.Random(1)
    kinds = {"food": ("soup", "bread", "rice", "beans"), "weather": ("rain", "snow", "wind", "hail")}
    rows = [f"there is {dice.choice(kinds[kind])} and {dice.choice(kinds[kind])} today,{kind}" for kind in [*kinds] * 100]
    return "text,label\n" + "\n".join(rows) + "\n"


def command(*arguments: str) -> Callable[[], None]:
    def run() -> None:
        code = cli.main(list(arguments))
        if code:
            sys.exit(f"stairs {' '.join(arguments)} ended with {code}")

    return run


def picture() -> Callable[[], None]:
    from starlette.testclient import TestClient

    from stairs.web.app import application
    from stairs.web.shelf import Shelf

    shelf = Shelf([Path("runs/bert")])
    shelf["bert"].load()
    client = TestClient(application(shelf, 8642), base_url="http://127.0.0.1:8642")
    request = {"run": "bert", "text": "there is soup in Rome today .", "options": {"layer": 0}, "format": "svg"}
    client.post("/api/picture/attention", json={**request, "text": "once to import what is needed"})

    def run() -> None:
        answer = client.post("/api/picture/attention", json=request)
        assert answer.status_code == 200, answer.text

    return run


def walks(only: list[str]) -> Iterator[tuple[str, Walk]]:
    """The later commands use the run that the first trains."""
    from stairs.comparison.compilation import compile_kernels, warm_up
    from stairs.training.fit import fit
    from stairs.training.run import load

    doors = tuple(function.__code__ for function in (fit, load, warm_up, compile_kernels))
    Path("text.txt").write_text(small_text(), "utf-8")
    Path("labels.csv").write_text(small_labels(), "utf-8")
    training = ("--steps", "40", "--size", "nano", "--precision", "fp32", "--threads", "1")
    works: dict[str, tuple[Callable[[], Callable[[], None]], Walk]] = {
        "train bert": (lambda: command("train", "bert", "text.txt", *training, "--out", "runs/bert", "--quiet"), Walk()),
        "climb": (
            lambda: command("climb", "text.txt", "--labels", "labels.csv", "--models", "ngram,bert", "--budget", "90s", "--out", "runs/climb"),
            Walk(doors, (*BELOW, "tasks", "training")),
        ),
        "tune": (lambda: command("tune", "runs/bert", "labels.csv", "--epochs", "1", "--out", "runs/tuned", "--quiet"), Walk(doors, BELOW)),
        "ask": (lambda: command("ask", "runs/bert", "there is ___ in Rome today ."), Walk()),
        "picture": (picture, Walk(every_thread=True)),
    }
    for name, (prepare, walk) in works.items():
        if not only or name in only or name == "train bert":
            work = prepare()
            with walk.recording():
                work()
            if not only or name in only:
                yield name, walk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], choices=GOALS, help="only these walks")
    parser.add_argument("--show", action="store_true", help="also print the walks")
    parser.add_argument("--json", help="write the walks to this file")
    given = parser.parse_args()
    here, found = Path.cwd(), {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")  # an empty cache: a text that is already encoded makes a shorter walk
        for name, walk in walks(given.only):
            stops = walk.stops()
            found[name] = {"files": len(stops), "changes": walk.changes(), "walk": [[file, function] for file, function, _ in stops]}
            goal = "at most {} and {}".format(*GOALS[name])
            print(f"{name:12} {len(stops):3} files  {walk.changes():3} changes of folder   ({goal})", flush=True)
            if given.show:
                print("".join(f"    {'  ' * depth}{file}:{function}\n" for file, function, depth in stops), flush=True)
        os.chdir(here)
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
