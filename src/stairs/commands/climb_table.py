"""How a climb goes, for a person: a line for each step that is done, or on a terminal a table that fills up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stairs import progress
from stairs.climb.ladder import Onlooker
from stairs.progress import say, short

COLUMNS = ("step", "bits/char", "score", "train s", "ms/text", "weights", "MB")
HEAD = f"{'step':12} {'bits/char':>10} {'score':>24} {'train s':>9} {'ms/text':>9} {'weights':>9} {'MB':>8}"


def cells(row: dict[str, Any]) -> list[str]:
    """Of a row that was climbed, as COLUMNS names them."""
    bits = f"{row['bits_per_character']['value']:.4f}" if "bits_per_character" in row else ""
    score = "{value:.4f} ({low:.4f}-{high:.4f})".format(**row["score"]) if "score" in row else ""
    speed = f"{row['ms_per_text']:.3f}" if "score" in row else ""
    return [row["step"], bits, score, f"{row['seconds']:.2f}", speed, short(row["parameters"]), f"{row['megabytes']:.1f}"]


def reason(row: dict[str, Any]) -> str:
    """Why there is nothing more to say of it."""
    return f"not tried: {row['not_tried']}" if "not_tried" in row else f"failed: {row['failed']}"


def line(row: dict[str, Any]) -> str:
    """One row in plain text."""
    if "run" not in row:
        return f"{row['step'][:12]:12} {reason(row)}"
    step, bits, score, seconds, speed, weights, megabytes = cells(row)
    return f"{step[:12]:12} {bits:>10} {score:>24} {seconds:>9} {speed:>9} {weights:>9} {megabytes:>8}"


def written(report: dict[str, Any]) -> str:
    """The report as lines of plain text."""
    lines = [HEAD, *map(line, report["rows"])]
    lines += [f"{row['step']}: {row['not_learnt']['en']}" for row in report["rows"] if "not_learnt" in row]
    if report["recommendation"]:
        lines += ["", f"Recommended: {report['recommendation']['step']}. {report['recommendation']['why']}."]
    elif any("not_learnt" in row for row in report["rows"]):
        lines += ["", "Nothing is recommended: no model that learnt something has a score."]
    return "\n".join(lines)


class Lines(Onlooker):
    """For a file, a pipe, or a terminal that shall stay quiet."""

    def begins(self, step: str) -> None:
        say(f"climbing {step}")

    def done(self, row: dict[str, Any]) -> None:
        say(line(row))


class Filling(Onlooker):
    """The whole table from the start; below it what the step at work says, and how much time is left."""

    def __init__(self, budget: float) -> None:
        self.budget, self.began = budget, time.monotonic()
        self.steps: list[str] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self.at: str | None = None
        self.heard = ""

    def sees(self, steps: list[str]) -> None:
        self.steps = steps

    def begins(self, step: str) -> None:
        self.at, self.heard = step, ""

    def done(self, row: dict[str, Any]) -> None:
        self.rows[row["step"]] = row

    def hear(self, sentence: str) -> None:
        self.heard = sentence

    def __rich__(self) -> Table:
        left = max(self.budget - (time.monotonic() - self.began), 0)
        below = f"{self.at}: {self.heard}" if self.heard else self.at or ""
        caption = Text(f"{below}\n{clock(left)} of {clock(self.budget)} left", overflow="ellipsis", no_wrap=True)  # not as markup
        table = Table(caption=caption, caption_justify="left")
        for number, name in enumerate(COLUMNS):
            table.add_column(name, justify="right" if number else "left", overflow="fold" if name == "step" else "ellipsis", no_wrap=bool(number))
        for step in self.steps:
            row = self.rows.get(step)
            if row is None:
                table.add_row(Text(step), "", "at work" if step == self.at else "waiting", style="bold" if step == self.at else "dim")
            elif "run" in row:
                table.add_row(*map(Text, cells(row)))
            else:
                table.add_row(Text(step), "", Text(reason(row)), style="red" if "failed" in row else "dim")
        return table


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@contextmanager
def watching(budget: float) -> Iterator[Onlooker]:
    """The onlooker that fits where the prose goes."""
    if not progress.shown:
        yield Lines()
        return
    filling = Filling(budget)
    progress.listener = filling.hear
    try:
        with Live(filling, console=Console(stderr=True), refresh_per_second=4, transient=True):
            yield filling
    finally:
        progress.listener = None
