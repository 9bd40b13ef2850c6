"""How a climb goes, for a person: a line for each model that is done, or on a terminal a table that fills up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stairs import progress
from stairs.comparison.messages import MESSAGES, curve_sentence, describe_below_tfidf, describe_resolution
from stairs.comparison.runner import Observer
from stairs.comparison.schema import Report, Row
from stairs.progress import format_count, say

COLUMNS = ("model", "bits/char", "score", "CPU s", "train s", "ms/text", "train MB", "ask MB", "params", "disk MB")
WIDTHS = (19, 10, 24, 9, 9, 9, 9, 8, 9, 8)
HEAD = f"{COLUMNS[0]:{WIDTHS[0]}} " + " ".join(f"{name:>{width}}" for name, width in zip(COLUMNS[1:], WIDTHS[1:], strict=True))


def row_cells(row: Row) -> list[str]:
    """Of a model that was trained, as COLUMNS names them."""
    bits = f"{row['bits_per_character']['value']:.4f}" if "bits_per_character" in row else ""
    validated = f"{row['validation']['value']:.4f} (validation)" if "validation" in row else ""
    score = "{value:.4f} ({low:.4f}-{high:.4f})".format(**row["score"]) if "score" in row else validated
    speed = f"{row['ms_per_text']:.3f}" if "score" in row else ""
    memory = [f"{peak:.0f}" if peak is not None else "" for peak in (row.get("training_mb"), row.get("answering_mb"))]
    times = [f"{row['cpu_seconds']:.2f}{'+' if row.get('is_adopted') else ''}", f"{row['seconds']:.2f}"]
    return [row["model"], bits, score, *times, speed, *memory, format_count(row["parameters"]), f"{row['megabytes']:.1f}"]


def missing_reason(row: Row) -> str:
    """Why a row has no numbers."""
    return f"not tried: {row['not_tried']}" if "not_tried" in row else f"failed: {row['failed']}"


def row_line(row: Row) -> str:
    """One row in plain text."""
    if "run" not in row:
        return f"{row['model'][: WIDTHS[0]]:{WIDTHS[0]}} {missing_reason(row)}"
    model, *others = row_cells(row)
    return f"{model[: WIDTHS[0]]:{WIDTHS[0]}} " + " ".join(f"{text:>{width}}" for text, width in zip(others, WIDTHS[1:], strict=True))


def report_text(report: Report) -> str:
    """The report as lines of plain text."""
    lines = [HEAD, *map(row_line, report["rows"])]
    if baseline := report.get("baseline"):
        score = "{value:.4f} ({low:.4f}-{high:.4f})".format(**baseline["score"])
        lines.append(f"{'baseline':{WIDTHS[0]}} {'':{WIDTHS[1]}} {score:>{WIDTHS[2]}}  {MESSAGES['baseline_' + baseline['name']][0]}")
    lines += [f"{row['model']}: {row['not_learnt']['en']}" for row in report["rows"] if "not_learnt" in row]
    lines += [f"{row['model']}: {row['beside_words']['en']}" for row in report["rows"] if "beside_words" in row]
    adopted = [row for row in report["rows"] if row.get("is_adopted") and "run" in row]
    lines += [f"{row['model']}: {row['cpu_seconds']:.1f} CPU s {MESSAGES['elsewhere'][0]}" for row in adopted]
    found = report["recommendation"]
    if found:
        resolution = describe_resolution(found["detectable_difference"], report["examples"]["test"])["en"]
        notes = [note["en"] for note in (describe_below_tfidf(found), found.get("encoder_note")) if note]
        lines += ["", f"Recommended: {found['names']['en']}. {found['why']['en']}", *notes, resolution, found["rule"]["en"]]
        lines += [curve_sentence(curve)["en"] for curve in report.get("label_curves", ())]
    elif any("not_learnt" in row for row in report["rows"]):
        lines += ["", "Nothing is recommended: no model that learnt something has a score."]
    return "\n".join(lines)


class LineObserver(Observer):
    """For a file, a pipe, or a terminal that is to stay quiet."""

    def on_model_begin(self, model: str) -> None:
        say(f"climbing {model}")

    def on_model_end(self, row: Row) -> None:
        say(row_line(row))

    def on_first_recommendation(self, sentence: str) -> None:
        say(sentence)


class TableObserver(Observer):
    """The whole table from the start; below it the last message of the model in training, and how much time is left."""

    def __init__(self, budget: float, console: Console) -> None:
        self.budget, self.console, self.began = budget, console, time.monotonic()
        self.models: list[str] = []
        self.rows: dict[str, Row] = {}
        self.current: str | None = None
        self.last_line = ""

    def on_start(self, models: list[str]) -> None:
        self.models = models

    def on_model_begin(self, model: str) -> None:
        self.current, self.last_line = model, ""

    def on_model_end(self, row: Row) -> None:
        self.rows[row["model"]] = row

    def on_evaluation(self, row: Row) -> None:
        self.rows[row["model"]], self.current = row, None

    def on_first_recommendation(self, sentence: str) -> None:
        self.console.print(Text(sentence))  # above the table, where it stays

    def show_line(self, sentence: str) -> None:
        self.last_line = sentence

    def __rich__(self) -> Table:
        left = max(self.budget - (time.monotonic() - self.began), 0)
        below = f"{self.current}: {self.last_line}" if self.last_line else self.current or ""
        caption = Text(f"{below}\n{clock(left)} of {clock(self.budget)} left", overflow="ellipsis", no_wrap=True)  # not as markup
        table = Table(caption=caption, caption_justify="left")
        for number, name in enumerate(COLUMNS):
            table.add_column(name, justify="right" if number else "left", overflow="ellipsis" if number else "fold", no_wrap=bool(number))
        for model in self.models:
            row = self.rows.get(model)
            if row is None:
                table.add_row(Text(model), "", "training" if model == self.current else "waiting", style="bold" if model == self.current else "dim")
            elif "run" in row:
                table.add_row(*map(Text, row_cells(row)))
            else:
                table.add_row(Text(model), "", Text(missing_reason(row)), style="red" if "failed" in row else "dim")
        return table


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@contextmanager
def observe(budget: float) -> Iterator[Observer]:
    """The observer that fits where messages go."""
    if not progress.bars_enabled or progress.is_notebook():  # a table that is drawn again and again needs a terminal
        yield LineObserver()
        return
    console = Console(stderr=True)
    table = TableObserver(budget, console)
    progress.listener = table.show_line
    try:
        with Live(table, console=console, refresh_per_second=4, transient=True):
            yield table
    finally:
        progress.listener = None
