"""The steps of a climb beside one another: the staircase, and quality against cost.

A row is {"model", "score": {"value", "low", "high"}, "cpu_seconds", "ms_per_text", "parameters", "megabytes"}; a step without a score is left out.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, FONT_SIZE, GREY, GRID, ORANGE, chart_of, finish, line_break_pieces, pixels, text_width, wrap
from stairs.pictures.words import Box

WIDTH, HEIGHT = 640, 300
NARROWEST, DECADE = 32, 26  # pixels of a stair that costs nothing, and how many more for ten times the seconds
MOST_LINES = 4  # of a name
LINE = FONT_SIZE + 3  # pixels from one line of a name to the next
BELOW = 0.4  # how far the foot of the stairs is below the lowest, as a share of what the scores differ by
NEAR = 30  # pixels
SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (1, -2.4), (1, 2.4), (-1, -2.4), (-1, 2.4))  # where a name may stand beside its point
Row = dict[str, Any]


def staircase(rows: Sequence[Row], quality: str = "accuracy", best: Collection[str] = ()) -> Any:
    """One stair for each model: the higher the better, the deeper the dearer. `best` are those that are recommended."""
    rows = rows_with_score(rows)
    low, high = axis_limits(rows)
    depths = [NARROWEST + DECADE * math.log10(1 + row["cpu_seconds"]) for row in rows]
    needed = [max(map(text_width, line_break_pieces(row["model"])), default=0.0) + 8 for row in rows]
    wider = max([1.0, *(name / deep for name, deep in zip(needed, depths, strict=True))])  # all, since depth says what it costs
    stairs, x = [], 0.0
    for row, deep in zip(rows, (wider * deep for deep in depths), strict=True):
        stairs.append({
            **flatten_row(row), "name": wrap(row["model"], deep - 4, MOST_LINES),
            "x": x, "x2": x + deep, "middle": x + deep / 2, "foot": low, "written": f"{row['score']['value']:.3f}",
            "cost": format_seconds(row["cpu_seconds"]), "colour": ORANGE if row["model"] in best else BLUE,
        })  # fmt: skip
        x += deep
    across_all = alt.Scale(domain=[0, x or 1.0], nice=False)
    y = alt.Y("value:Q", title=quality, scale=alt.Scale(domain=[low, high], nice=False, zero=False), axis=alt.Axis(**GRID))
    middle = alt.X("middle:Q", axis=None, scale=across_all)
    tips = ["model:N", alt.Tooltip("value:Q", title=quality, format=".4f"), "cost:N", *(f"{name}:Q" for name in COSTS)]
    base = chart_of(stairs)
    blocks = base.mark_rect(fillOpacity=0.6, stroke="gray", strokeOpacity=0.4).encode(
        x=alt.X("x:Q", axis=None, scale=across_all), x2="x2:Q", y=y, y2="foot:Q", color=alt.Color("colour:N", scale=None), tooltip=tips
    )
    sure = base.mark_rule(opacity=0.7).encode(x=middle, y=alt.Y("low:Q"), y2="high:Q")
    names = [  # the lines of a name go down from where it is put
        chart_of([stair for stair in stairs if len(stair["name"]) == lines])
        .mark_text(dy=-24 - (lines - 1) * LINE, lineHeight=LINE, fontSize=FONT_SIZE, fontWeight="bold")
        .encode(x=middle, y=alt.Y("high:Q"), text="name:N")
        for lines in sorted({len(stair["name"]) for stair in stairs})
    ]
    number = base.mark_text(dy=-9, fontSize=FONT_SIZE).encode(x=middle, y=alt.Y("high:Q"), text="written:N")
    cost = base.mark_text(dy=-8, fontSize=FONT_SIZE - 2, opacity=0.85).encode(x=middle, y=alt.Y("foot:Q"), text="cost:N")
    return finish([blocks, sure, *names, number, cost], height=HEIGHT, width=max(x, 200))


def frontier(rows: Sequence[Row], quality: str = "accuracy", axis_title: str = "CPU seconds of training") -> Any:
    """Quality against CPU seconds of training. The line joins the models that nothing cheaper is better than."""
    rows = rows_with_score(rows)
    low, high = axis_limits(rows)
    seconds = [max(row["cpu_seconds"], 0.01) for row in rows]
    first, last = (math.log10(seconds_at) for seconds_at in (min(seconds, default=1), max(seconds, default=10)))
    first, last = first - 0.1 * (last - first) - 0.2, last + 0.1 * (last - first) + 0.2
    best = pareto_front(rows)
    points = [{**flatten_row(row), "seconds": own, "kind": "on" if row["model"] in best else "off"} for row, own in zip(rows, seconds, strict=True)]
    x = alt.X("seconds:Q", title=axis_title, scale=alt.Scale(type="log", domain=[10**first, 10**last], nice=False),
              axis=alt.Axis(labelOverlap=True, format="~g", **GRID))  # fmt: skip
    up = alt.Scale(domain=[low, high], nice=False, zero=False)
    y = alt.Y("value:Q", title=quality, scale=up, axis=alt.Axis(**GRID))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["on", "off"], range=[ORANGE, GREY]), legend=None)
    base = chart_of(points)
    line = chart_of([point for point in points if point["kind"] == "on"]).mark_line(interpolate="step-after", color=ORANGE, opacity=0.7)
    places = [
        (WIDTH * (math.log10(point["seconds"]) - first) / (last - first), HEIGHT * (high - point["value"]) / (high - low)) for point in points
    ]
    names = place_names(points, places)
    tips = ["model:N", alt.Tooltip("value:Q", title=quality, format=".4f"), alt.Tooltip("seconds:Q", format=".3g"), *(f"{name}:Q" for name in COSTS)]
    plot = alt.layer(
        line.encode(x=x, y=y),
        base.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("low:Q", scale=up), y2="high:Q", color=colour),
        base.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips),
    )
    beside = chart_of(names).mark_text(fontSize=FONT_SIZE).encode(**pixels(WIDTH, HEIGHT), text="model:N")
    return finish([plot, beside], height=HEIGHT, width=WIDTH).resolve_scale(x="independent", y="independent")


COSTS = ("ms_per_text", "training_mb", "answering_mb", "parameters", "megabytes")


def rows_with_score(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("score")]


def flatten_row(row: Row) -> Row:
    """Without the score's own dict."""
    return {"model": row["model"], **row["score"], "seconds": row["cpu_seconds"], **{name: row.get(name) for name in COSTS}}


def axis_limits(rows: Sequence[Row]) -> tuple[float, float]:
    """Of the axis, with room for names above; it does not begin at 0, or all steps would look alike."""
    low, high = min((row["score"]["low"] for row in rows), default=0.0), max((row["score"]["high"] for row in rows), default=1.0)
    spread = (high - low) or 0.1
    return max(low - BELOW * spread, min(low, 0.0)), high + 0.25 * spread


def pareto_front(rows: Sequence[Row]) -> set[str]:
    """The steps that are better than all cheaper ones."""
    found, best = set(), -math.inf
    for row in sorted(rows, key=lambda row: (row["cpu_seconds"], -row["score"]["value"])):
        if row["score"]["value"] > best:
            best = row["score"]["value"]
            found.add(row["model"])
    return found


def place_names(points: Sequence[Row], places: Sequence[tuple[float, float]]) -> list[Row]:
    """The middle of each name beside its point, where it covers no other name nor point, if there is such a place."""
    dots = [Box(x - 6, y - 6, 12, 12) for x, y in places]
    taken: list[Box] = []
    found = []
    for point, (x, y) in zip(points, places, strict=True):
        wide = text_width(point["model"]) + 4
        crowd = [(there - x, below - y) for there, below in places if (there, below) != (x, y) and abs(there - x) < wide and abs(below - y) < NEAR]
        tried = []
        for right, down in SIDES:
            box = Box(x + 8 if right > 0 else x - 8 - wide, y + down * 9 - FONT_SIZE / 2, wide, FONT_SIZE)
            outside = box.left < 0 or box.left + wide > WIDTH
            towards = any(aside * right >= -2 and away * down >= 0 for aside, away in crowd)  # it would be taken for the other's name
            tried.append((4 * outside + 3 * any(map(box.overlaps, taken)) + 2 * any(map(box.overlaps, dots)) + towards, box))
        _, box = min(tried, key=lambda one: one[0])
        taken.append(box)
        found.append({"model": point["model"], "x": box.left + wide / 2, "y": box.top + FONT_SIZE / 2})
    return found


def format_seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1g} s" if seconds < 1 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
