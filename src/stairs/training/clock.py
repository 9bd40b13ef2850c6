"""The clock of a run, and its log: what a training under --budget did and when, so that a killed run does the same again.

clock.jsonl   a line for each action, in order, written before the action is performed: an update with its learning rate and threads, an evaluation
              with its number of positions, the start of the decay, the end. A resumed run replays the lines after its checkpoint without reading
              the clock. Time spent on replaying does not count, or kills would eat up the training.
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
FREE_GAP = 10.0  # seconds that may pass between two actions in any case
GAP_RATIO = 10  # or this many times the typical time of such an action; beyond that the process was suspended
now: Callable[[], float] = time.monotonic  # tests replace it


class Action(NamedTuple):
    """What the loop does next."""

    kind: str  # "update", "evaluate", "time_evaluation" (only to see what it costs), "decay" (it starts) or "end"
    step: int  # updates made so far
    spent: float = 0.0  # seconds of the budget spent so far
    lr_factor: float = 0.0  # of an update, or where a decay starts: learning rate as a share of its peak
    threads: int = 0  # CPU threads; 0 leaves them as they are
    positions: int = 0  # to evaluate; 0 for all
    sentences: int = 0  # to generate besides, for tasks that do
    blocks: int = 0  # of an update: how many blocks of a Transformer it trains; 0 for all

    def line(self) -> str:
        return json.dumps({name: value for name, value in self._asdict().items() if value or name in ("kind", "step")})


class Clock:
    """Seconds of a budget that are spent. A gap in which the process was suspended (stopped, or a closed laptop) counts only in part."""

    def __init__(self) -> None:
        self.spent, self.last = 0.0, now()

    def start(self, spent: float) -> None:
        """Continue from the time that a log recorded."""
        self.spent, self.last = spent, now()

    def read(self, typical: float | None = None) -> float:
        """`typical` is how long what lies between two readings usually takes; None if that is not known yet."""
        moment = now()
        elapsed = max(moment - self.last, 0.0)
        self.spent += elapsed if typical is None else min(elapsed, max(FREE_GAP, GAP_RATIO * typical))
        self.last = moment
        return self.spent


class ClockLog:
    """The actions of a run, on the disk before they are performed."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder nothing is written: only rank 0 writes."""
        self.path = folder / CLOCK_LOG if folder else None
        self.actions = read_log(self.path) if self.path else []
        self.has_warned = False
        if self.path and self.path.exists():
            self.truncate(len(self.actions))  # removes a last line that was cut short

    def add(self, action: Action) -> None:
        self.actions.append(action)
        if self.path is None:
            return
        try:
            with os_errors_as_sentences(self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(action.line() + "\n")
        except EnvironmentFault as error:
            if not self.has_warned:
                say(f"{error}: if this run is killed now, resuming it will not give the same bits")
            self.has_warned = True

    def truncate(self, length: int) -> None:
        """Drop the actions from this one on."""
        self.actions = self.actions[:length]
        if self.path is not None:
            temporary = self.path.with_name(f".tmp-{os.getpid()}-{CLOCK_LOG}")
            with os_errors_as_sentences(self.path):
                temporary.write_text("".join(action.line() + "\n" for action in self.actions), "utf-8")
                temporary.replace(self.path)

    def sync(self) -> None:
        """Flush to the disk: a checkpoint must not outlive the lines before it."""
        if self.path is not None and self.path.exists():
            with os_errors_as_sentences(self.path), self.path.open("rb") as file:
                os.fsync(file.fileno())


def read_log(path: Path) -> list[Action]:
    """The actions in a log, up to the first line that is none: a kill may have cut the last one short."""
    actions: list[Action] = []
    for line in path.read_text("utf-8", errors="replace").split("\n")[:-1] if path.exists() else []:
        try:
            values: dict[str, Any] = json.loads(line)
            actions.append(Action(**values))
        except (ValueError, TypeError):
            break
    return actions
