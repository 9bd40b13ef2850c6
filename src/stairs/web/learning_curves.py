"""The learning curves of a run: metrics.jsonl, thinned out to what a picture can show."""

from collections.abc import Sequence
from typing import Any, TypedDict

from stairs.tasks.metric_table import primary_metric
from stairs.web.opened_run import OpenedRun, metric_title
from stairs.web.requests import json_safe

MAX_POINTS = 150  # of a curve


class CurvePoint(TypedDict):
    step: int
    value: float


class CurvesData(TypedDict):
    run: str
    state: str
    step: int | None  # the last
    problem: str | None
    metric: str | None
    training: list[CurvePoint]  # the loss
    held_out: list[dict[str, Any]]  # the metric: CurvePoint with "low" and "high"


def learning_curves(run: OpenedRun) -> CurvesData:
    lines, problem = run.metrics()
    summary = run.summary()
    steps = [line for line in lines if is_number(line.get("step"))]
    losses: list[CurvePoint] = [{"step": line["step"], "value": line["loss"]} for line in steps if is_number(line.get("loss"))]
    evaluations = [line for line in steps if not is_number(line.get("loss")) and "trained_steps" not in line]
    metric = next((name for line in evaluations if (name := primary_metric(line, run.chosen_metric()))), None)
    measured = [(line["step"], line[metric]) for line in evaluations if metric and isinstance(line.get(metric), dict)]
    scores = [(step, score) for step, score in measured if is_number(score.get("value"))]
    points = [{"step": step, **{key: score.get(key) for key in ("value", "low", "high")}} for step, score in scores]
    return json_safe({
        "run": run.name,
        "state": summary["state"],
        "step": summary["step"],
        "problem": problem,
        "metric": metric,
        "training": thin_out(losses),
        "held_out": points[-MAX_POINTS:],
    })  # fmt: skip


def thin_out(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """At most MAX_POINTS, each the mean of its neighbours."""
    size = -(-len(points) // MAX_POINTS) or 1
    groups = (points[start : start + size] for start in range(0, len(points), size))
    return [{"step": group[-1]["step"], "value": sum(point["value"] for point in group) / len(group)} for group in groups]


def draw_curves(data: CurvesData) -> Any:
    """The training loss, and beside it the metric on held-out text."""
    import altair as alt

    from stairs.pictures.climb import SeriesPoint, curves

    sides = []
    for title, series, metric in (("training", data["training"], "loss"), ("held out", data["held_out"], data["metric"])):
        points: list[SeriesPoint] = [{"series": title, "steps": point["step"], "value": point["value"]} for point in series]
        if points:
            side = curves(points, metric=metric_title(str(metric))["en"], along="steps")
            sides.append(side.properties(width=360, height=250, title=title))
    return alt.hconcat(*sides).configure_legend(disable=True)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
