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
from stairs.climb.messages import MESSAGES, describe_resolution
from stairs.climb.runner import Observer
from stairs.progress import format_count, say

COLUMNS = ("model", "bits/char", "score", "CPU s", "train s", "ms/text", "train MB", "ask MB", "weights", "disk MB")
WIDTHS = (12, 10, 24, 9, 9, 9, 9, 8, 9, 8)
HEAD = f"{COLUMNS[0]:{WIDTHS[0]}} " + " ".join(f"{name:>{width}}" for name, width in zip(COLUMNS[1:], WIDTHS[1:], strict=True))


def cells(row: dict[str, Any]) -> list[str]:
    """Of a row that was climbed, as COLUMNS names them."""
    bits = f"{row['bits_per_character']['value']:.4f}" if "bits_per_character" in row else ""
    score = "{value:.4f} ({low:.4f}-{high:.4f})".format(**row["score"]) if "score" in row else ""
    speed = f"{row['ms_per_text']:.3f}" if "score" in row else ""
    memory = [f"{row[name]:.0f}" if row.get(name) is not None else "" for name in ("training_mb", "answering_mb")]
    times = [f"{row['cpu_seconds']:.2f}{'+' if row.get('adopted') else ''}", f"{row['seconds']:.2f}"]
    return [row["model"], bits, score, *times, speed, *memory, format_count(row["parameters"]), f"{row['megabytes']:.1f}"]


def reason(row: dict[str, Any]) -> str:
    """Why there is nothing more to say of it."""
    return f"not tried: {row['not_tried']}" if "not_tried" in row else f"failed: {row['failed']}"


def line(row: dict[str, Any]) -> str:
    """One row in plain text."""
    if "run" not in row:
        return f"{row['step'][:12]:12} {reason(row)}"
    model, *others = cells(row)
    return f"{model[: WIDTHS[0]]:{WIDTHS[0]}} " + " ".join(f"{text:>{width}}" for text, width in zip(others, WIDTHS[1:], strict=True))


def written(report: dict[str, Any]) -> str:
    """The report as lines of plain text."""
    lines = [HEAD, *map(line, report["rows"])]
    lines += [f"{row['step']}: {row['not_learnt']['en']}" for row in report["rows"] if "not_learnt" in row]
    others = [row for row in report["rows"] if row.get("adopted") and "run" in row]
    lines += [f"{row['step']}: {row['cpu_seconds']:.1f} CPU s {MESSAGES['elsewhere'][0]}" for row in others]
    told = report["recommendation"]
    if told:
        sentences = (describe_resolution(told, report["examples"]["test"])["en"], told["rule"]["en"])
        lines += ["", f"Recommended: {told['names']['en']}. {told['why']['en']}", *sentences]
    elif any("not_learnt" in row for row in report["rows"]):
        lines += ["", "Nothing is recommended: no model that learnt something has a score."]
    return "\n".join(lines)


class Lines(Observer):
    """For a file, a pipe, or a terminal that shall stay quiet."""

    def on_model_begin(self, model: str) -> None:
        say(f"climbing {model}")

    def on_model_end(self, row: dict[str, Any]) -> None:
        say(line(row))


class Filling(Observer):
    """The whole table from the start; below it what the step at work says, and how much time is left."""

    def __init__(self, budget: float) -> None:
        self.budget, self.began = budget, time.monotonic()
        self.models: list[str] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self.at: str | None = None
        self.last_line = ""

    def on_start(self, models: list[str]) -> None:
        self.models = models

    def on_model_begin(self, model: str) -> None:
        self.at, self.last_line = model, ""

    def on_model_end(self, row: dict[str, Any]) -> None:
        self.rows[row["model"]] = row

    def show_line(self, sentence: str) -> None:
        self.last_line = sentence

    def __rich__(self) -> Table:
        left = max(self.budget - (time.monotonic() - self.began), 0)
        below = f"{self.at}: {self.last_line}" if self.last_line else self.at or ""
        caption = Text(f"{below}\n{clock(left)} of {clock(self.budget)} left", overflow="ellipsis", no_wrap=True)  # not as markup
        table = Table(caption=caption, caption_justify="left")
        for number, name in enumerate(COLUMNS):
            table.add_column(name, justify="right" if number else "left", overflow="ellipsis" if number else "fold", no_wrap=bool(number))
        for model in self.models:
            row = self.rows.get(model)
            if row is None:
                table.add_row(Text(model), "", "at work" if model == self.at else "waiting", style="bold" if model == self.at else "dim")
            elif "run" in row:
                table.add_row(*map(Text, cells(row)))
            else:
                table.add_row(Text(model), "", Text(reason(row)), style="red" if "failed" in row else "dim")
        return table


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@contextmanager
def watching(budget: float) -> Iterator[Observer]:
    """The onlooker that fits where the prose goes."""
    if not progress.bars_enabled:
        yield Lines()
        return
    filling = Filling(budget)
    progress.listener = filling.show_line
    try:
        with Live(filling, console=Console(stderr=True), refresh_per_second=4, transient=True):
            yield filling
    finally:
        progress.listener = None
