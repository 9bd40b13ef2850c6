"""How a training went, or goes: what metrics.jsonl says so far, thinned out to what a picture can show."""

from collections.abc import Sequence
from typing import Any

from stairs.web.opened_run import OpenedRun
from stairs.web.requests import json_safe

MAX_POINTS = 150  # points of a curve
NAMES = ("bits_per_character", "loss", "error", "accuracy", "macro_f1", "f1", "bleu", "perplexity")  # the first that was measured is drawn


def learning_curves(run: OpenedRun) -> dict[str, Any]:
    """{"run", "state", "at", "training": [{"step", "value"}], "held_out": [{"step", "value", "low", "high"}], "quality", "problem"}."""
    lines, damaged = run.metrics()
    summary = run.summary()
    steps = [line for line in lines if is_number(line.get("step"))]
    losses = [{"step": line["step"], "value": line["loss"]} for line in steps if is_number(line.get("loss"))]
    judged = [line for line in steps if not is_number(line.get("loss")) and "trained_steps" not in line]
    quality = next((name for name in NAMES for line in judged if isinstance(line.get(name), dict)), None)
    measured = [(line["step"], line[quality]) for line in judged if quality and isinstance(line.get(quality), dict)]
    whole = [(step, value) for step, value in measured if is_number(value.get("value"))]
    return json_safe({
        "run": run.name,
        "state": summary["state"],
        "at": summary["at"],
        "problem": damaged,
        "quality": quality,
        "training": thin_out(losses),
        "held_out": [{"step": step, **{key: value.get(key) for key in ("value", "low", "high")}} for step, value in whole[-MAX_POINTS:]],
    })  # fmt: skip


def thin_out(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many as can be told apart, each the mean of those it stands for."""
    size = -(-len(points) // MAX_POINTS) or 1
    groups = (points[start : start + size] for start in range(0, len(points), size))
    return [{"step": group[-1]["step"], "value": sum(point["value"] for point in group) / len(group)} for group in groups]


def chart(found: dict[str, Any]) -> Any:
    """The loss on what is learnt from, and beside it the quality on what is not."""
    import altair as alt

    from stairs.pictures.curves import curves as drawn

    sides = []
    for series, quality in (("training", "loss"), ("held_out", found["quality"])):
        points = [{"series": series.replace("_", " "), "steps": point["step"], "value": point["value"]} for point in found[series]]
        if points:
            side = drawn(points, quality=str(quality).replace("_", " "), along="steps")
            sides.append(side.properties(width=360, height=250, title=series.replace("_", " ")))
    return alt.hconcat(*sides).configure_legend(disable=True)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
