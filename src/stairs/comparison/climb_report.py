"""What `stairs.climb` gives: the staircase, the table and the recommendation as one object, which a notebook shows."""

import json
import webbrowser
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from stairs.comparison.schema import Report, Row
from stairs.comparison.table import COLUMNS, missing_reason, report_text, row_cells
from stairs.errors import BadInput
from stairs.pictures.climb import staircase
from stairs.pictures.drawing import Drawing
from stairs.tasks.metric_table import METRICS

if TYPE_CHECKING:
    import pandas

    from stairs.tasks import Task

PADDING = {"left": 5, "top": 5, "right": 30, "bottom": 5}  # names of models are wider in some fonts


class ClimbReport:
    """The report of a climb. `data` is the whole of it, as report.json has it."""

    def __init__(self, report: Report) -> None:
        self.data = report
        self.folder = Path(report["folder"])

    @property
    def rows(self) -> list[Row]:
        """One for each model, as report.json has them."""
        return self.data["rows"]

    @cached_property
    def table(self) -> "pandas.DataFrame | list[dict[str, object]]":
        """The figures of each model: a DataFrame if pandas is installed, or else a list of dicts."""
        figures = [flat_row(row) for row in self.rows]
        try:
            import pandas
        except ImportError:
            return figures
        return pandas.DataFrame(figures)

    @property
    def recommendation(self) -> str:
        """Which model is recommended and why, in a sentence or two."""
        found = self.data["recommendation"]
        return f"{found['names']['en']}. {found['why']['en']}" if found else "Nothing is recommended: no model that learnt something has a score."

    @cached_property
    def recommended(self) -> "Task":
        """The recommended model, loaded."""
        found = self.data["recommendation"]
        if found is None:
            raise BadInput("no model is recommended in this climb; give labelled rows or a longer budget")
        return self.load(found["model"])

    def load(self, model: str) -> "Task":
        """One of the models that were trained."""
        from stairs.training.run import load

        runs = {row["model"]: row["run"] for row in self.rows if "run" in row}
        if model not in runs:
            raise BadInput(f"this climb has no trained {model!r}; it has {', '.join(runs)}")
        folder = self.folder / runs[model]
        task = load(folder)
        task.folder = folder
        return task

    def staircase(self) -> Drawing | None:
        """The picture of the scores, model by model; None where nothing has a score."""
        scored = [row for row in self.rows if "score" in row]
        if not scored:
            return None
        chosen = self.data["recommendation"]["models"] if self.data["recommendation"] else []
        metric = scored[0]["metric"]
        name = METRICS[metric].english if metric in METRICS else metric
        return Drawing("staircase", {"rows": scored}, staircase(scored, name, chosen).properties(padding=PADDING))

    def open(self) -> None:
        """Show report.html in a browser."""
        webbrowser.open((self.folder / "report.html").resolve().as_uri())

    def __repr__(self) -> str:
        return f"{report_text(self.data)}\n\nreport: {self.folder}/report.html"

    def _repr_html_(self) -> str:
        picture = self.staircase()
        chosen = self.data["recommendation"]["models"] if self.data["recommendation"] else []
        head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
        body = "".join(html_row(row, row["model"] in chosen) for row in self.rows)
        sentence = f"<p><b>Recommended:</b> {escape(self.recommendation)}</p>" if chosen else f"<p>{escape(self.recommendation)}</p>"
        drawn = picture._repr_html_() if picture else ""
        return f"{drawn}{sentence}<table><tr>{head}</tr>{body}</table><p>{escape(str(self.folder))}/report.html</p>"

    def to_json(self) -> str:
        """The whole report, as report.json has it."""
        return json.dumps({name: value for name, value in self.data.items() if name != "folder"}, ensure_ascii=False)


def html_row(row: Row, is_recommended: bool) -> str:
    cells = row_cells(row) if "run" in row else [row["model"], missing_reason(row)]
    span = "" if "run" in row else f' colspan="{len(COLUMNS) - 1}"'
    name, *others = map(escape, cells)
    return f"<tr><th>{'★ ' if is_recommended else ''}{name}</th>{''.join(f'<td{span}>{cell}</td>' for cell in others)}</tr>"


def flat_row(row: Row) -> dict[str, object]:
    """The numbers of a row, without its details; an interval becomes a value with `_low` and `_high`."""
    flat: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, dict) and "value" in value:
            flat |= {name: value["value"], **{f"{name}_{bound}": value[bound] for bound in ("low", "high") if bound in value}}
        elif isinstance(value, str | int | float | bool) and name != "outcomes":
            flat[name] = value
    return flat
