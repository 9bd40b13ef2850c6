"""The clock of a run, and its log: what a training under --budget did when, so that a run that was killed does the same again.

clock.jsonl   a line for each turn, in order and written before the turn is taken: an update with its rate and its threads, a look at validation data
              with its number of positions, the start of the decay, the end. A run that goes on replays the lines behind its checkpoint without
              reading the clock; what is computed again does not count as time spent, or kills would eat the training.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from stairs.errors import EnvironmentFault
from stairs.files import os_errors_as_sentences
from stairs.progress import say

CLOCK_LOG = "clock.jsonl"
FREE_GAP = 10.0  # seconds that may pass between two turns in any case
GAP_RATIO = 10  # or so many times as long as such a turn usually takes; what is beyond, the process was asleep
now: Callable[[], float] = time.monotonic  # tests put their own in its place


class Action(NamedTuple):
    """What the loop does next."""

    kind: str  # "update", "evaluate", "time_evaluation" (of judging, for its cost), "decay" (it begins) or "end"
    step: int  # updates made before
    spent: float = 0.0  # seconds of the budget, before
    rate: float = 0.0  # of an update, or where a decay begins: share of the peak learning rate
    threads: int = 0  # of the CPU; 0 for as many as there are set
    positions: int = 0  # to judge; 0 for all
    sentences: int = 0  # to generate besides, for tasks that do

    def line(self) -> str:
        return json.dumps({name: value for name, value in self._asdict().items() if value or name in ("kind", "step")})


class Clock:
    """Seconds of a budget that are spent. A gap in which the process was asleep (a stopped process, a closed laptop) counts only in part."""

    def __init__(self) -> None:
        self.spent, self.last = 0.0, now()

    def start(self, spent: float) -> None:
        """Go on from what a log says."""
        self.spent, self.last = spent, now()

    def read(self, typical: float | None = None) -> float:
        """`training_defaults` is how long what lies between two readings usually takes; None if nobody knows yet."""
        moment = now()
        passed = max(moment - self.last, 0.0)
        self.spent += passed if typical is None else min(passed, max(FREE_GAP, GAP_RATIO * typical))
        self.last = moment
        return self.spent


class ClockLog:
    """The turns of a run, on the disk before they are taken."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder nothing is kept: the worker is not the one that writes."""
        self.path = folder / CLOCK_LOG if folder else None
        self.actions = read_log(self.path) if self.path else []
        self.complained = False
        if self.path and self.path.exists():
            self.truncate(len(self.actions))  # off comes a last line that was cut short

    def add(self, action: Action) -> None:
        self.actions.append(action)
        if self.path is None:
            return
        try:
            with os_errors_as_sentences(self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(action.line() + "\n")
        except EnvironmentFault as error:
            if not self.complained:
                say(f"{error}: if this run is killed now, it will not go on to the same bits")
            self.complained = True

    def truncate(self, length: int) -> None:
        """Forget the turns from this one on."""
        self.actions = self.actions[:length]
        if self.path is not None:
            aside = self.path.with_name(f".tmp-{os.getpid()}-{CLOCK_LOG}")
            with os_errors_as_sentences(self.path):
                aside.write_text("".join(turn.line() + "\n" for turn in self.actions), "utf-8")
                aside.replace(self.path)

    def sync(self) -> None:
        """On the disk for good: a checkpoint must not outlive the lines before it."""
        if self.path is not None and self.path.exists():
            with os_errors_as_sentences(self.path), self.path.open("rb") as file:
                os.fsync(file.fileno())


def read_log(path: Path) -> list[Action]:
    """The turns in a log, up to the first line that is no turn: a kill may have cut the last one short."""
    turns: list[Action] = []
    for line in path.read_text("utf-8", errors="replace").split("\n")[:-1] if path.exists() else []:
        try:
            found: dict[str, Any] = json.loads(line)
            turns.append(Action(**found))
        except (ValueError, TypeError):
            break
    return turns
