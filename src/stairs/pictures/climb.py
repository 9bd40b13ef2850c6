"""The models of a climb: the staircase, score against cost, learning curves, and how far probabilities can be trusted."""

import math
from collections.abc import Collection, Sequence
from functools import partial
from typing import Literal, NotRequired, TypedDict

import altair as alt

from stairs.pictures.charts import BLUE, FONT_SIZE, GREY, GRID, ORANGE, Chart, chart_of, finish, line_break_pieces, pixels, text_width, wrap
from stairs.pictures.words import Rectangle
from stairs.tasks.measurements import CalibrationBin, Interval

WIDTH, HEIGHT = 640, 300
CURVE_WIDTH, CURVE_HEIGHT = 560, 320
RELIABILITY_SIDE = 180
LABEL_CURVE_HEIGHT = 220
MIN_DEPTH, DECADE = 32, 26  # pixels of a stair that costs nothing, and how many more for ten times the seconds
MAX_NAME_LINES = 4
BESIDE_WORDS = "+ words"  # below the name of an encoder that is read beside the words of a text
LINE = FONT_SIZE + 3  # pixels from one line of a name to the next
FOOT_SHARE = 0.4  # how far the foot of the stairs is below the lowest score, as a share of the range of the scores
CROWD = 30  # pixels within which points crowd one another
SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1), (1, -2.4), (1, 2.4), (-1, -2.4), (-1, 2.4))  # where a name may stand beside its point
Cost = Literal["ms_per_text", "training_mb", "answering_mb", "parameters", "megabytes"]
COSTS: tuple[Cost, ...] = ("ms_per_text", "training_mb", "answering_mb", "parameters", "megabytes")


class ScoredRow(TypedDict, total=False):
    """A model of a climb; without a score it is not drawn."""

    model: str
    insert: str  # "beside", if an encoder is read beside words
    score: Interval
    cpu_seconds: float
    ms_per_text: float
    training_mb: float | None
    answering_mb: float | None
    parameters: int
    megabytes: float


class SeriesPoint(TypedDict):
    series: str
    value: float
    minutes: NotRequired[float]  # one of the two
    steps: NotRequired[float]


class SeriesLevel(TypedDict):
    """Of a model that is trained in no time."""

    series: str
    value: float


class LabelScore(TypedDict):
    labels: int
    score: Interval


class LabelScores(TypedDict):
    """Of a model with a part of the labels, and with more."""

    model: str
    metric: str
    points: list[LabelScore]
    forecasts: list[LabelScore]


def staircase(rows: Sequence[ScoredRow], metric: str = "accuracy", recommended: Collection[str] = ()) -> Chart:
    """A stair for each model: the higher, the better; the deeper, the more expensive. Recommended models are orange."""
    rows = rows_with_score(rows)
    low, high = axis_limits(rows)
    depths = [MIN_DEPTH + DECADE * math.log10(1 + row["cpu_seconds"]) for row in rows]
    remarks = [[BESIDE_WORDS] * (row.get("insert") == "beside") for row in rows]
    pieces = [[*line_break_pieces(row["model"]), *remark] for row, remark in zip(rows, remarks, strict=True)]
    name_widths = [max(map(text_width, own), default=0.0) + 8 for own in pieces]
    scale = max([1.0, *(width / depth for width, depth in zip(name_widths, depths, strict=True))])  # the same for all, since depth shows the cost
    stairs, name_lines, x = [], [], 0.0
    for row, remark, depth in zip(rows, remarks, (scale * depth for depth in depths), strict=True):
        name_lines.append([*wrap(row["model"], depth - 4, MAX_NAME_LINES), *remark])
        stairs.append({
            **flatten_row(row), "name": name_lines[-1],
            "x": x, "x2": x + depth, "middle": x + depth / 2, "foot": low, "number": f"{row['score']['value']:.3f}",
            "cost": format_seconds(row["cpu_seconds"]), "colour": ORANGE if row["model"] in recommended else BLUE,
        })  # fmt: skip
        x += depth
    across = alt.Scale(domain=[0, x or 1.0], nice=False)
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(domain=[low, high], nice=False, zero=False), axis=alt.Axis(**GRID))
    middle = alt.X("middle:Q", axis=None, scale=across)
    tooltip = ["model:N", alt.Tooltip("value:Q", title=metric, format=".4f"), "cost:N", *(f"{name}:Q" for name in COSTS)]
    base = chart_of(stairs)
    blocks = base.mark_rect(fillOpacity=0.6, stroke="gray", strokeOpacity=0.4).encode(
        x=alt.X("x:Q", axis=None, scale=across), x2="x2:Q", y=y, y2="foot:Q", color=alt.Color("colour:N", scale=None), tooltip=tooltip
    )
    intervals = base.mark_rule(opacity=0.7).encode(x=middle, y=alt.Y("low:Q"), y2="high:Q")
    names = [  # the lines of a name extend downwards from its position
        chart_of([stair for stair, name in zip(stairs, name_lines, strict=True) if len(name) == lines])
        .mark_text(dy=-24 - (lines - 1) * LINE, lineHeight=LINE, fontSize=FONT_SIZE, fontWeight="bold")
        .encode(x=middle, y=alt.Y("high:Q"), text="name:N")
        for lines in sorted(set(map(len, name_lines)))
    ]
    numbers = base.mark_text(dy=-9, fontSize=FONT_SIZE).encode(x=middle, y=alt.Y("high:Q"), text="number:N")
    costs = base.mark_text(dy=-8, fontSize=FONT_SIZE - 2, opacity=0.85).encode(x=middle, y=alt.Y("foot:Q"), text="cost:N")
    return finish([blocks, intervals, *names, numbers, costs], height=HEIGHT, width=max(x, 200))


def frontier(rows: Sequence[ScoredRow], metric: str = "accuracy", axis_title: str = "CPU seconds of training") -> Chart:
    """Score against CPU seconds of training. The line is the Pareto front: no cheaper model scores higher."""
    rows = rows_with_score(rows)
    low, high = axis_limits(rows)
    seconds = [max(row["cpu_seconds"], 0.01) for row in rows]
    first, last = math.log10(min(seconds, default=1)), math.log10(max(seconds, default=10))
    first, last = first - 0.1 * (last - first) - 0.2, last + 0.1 * (last - first) + 0.2
    front = pareto_front(rows)
    points = [{**flatten_row(row), "seconds": own, "kind": "on" if row["model"] in front else "off"} for row, own in zip(rows, seconds, strict=True)]
    x = alt.X("seconds:Q", title=axis_title, scale=alt.Scale(type="log", domain=[10**first, 10**last], nice=False),
              axis=alt.Axis(labelOverlap=True, format="~g", **GRID))  # fmt: skip
    up = alt.Scale(domain=[low, high], nice=False, zero=False)
    y = alt.Y("value:Q", title=metric, scale=up, axis=alt.Axis(**GRID))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["on", "off"], range=[ORANGE, GREY]), legend=None)
    base = chart_of(points)
    line = chart_of([point for point in points if point["kind"] == "on"]).mark_line(interpolate="step-after", color=ORANGE, opacity=0.7)
    coordinates = [
        (WIDTH * (math.log10(own) - first) / (last - first), HEIGHT * (high - row["score"]["value"]) / (high - low))
        for row, own in zip(rows, seconds, strict=True)
    ]
    tooltip = [
        "model:N", alt.Tooltip("value:Q", title=metric, format=".4f"), alt.Tooltip("seconds:Q", format=".3g"), *(f"{name}:Q" for name in COSTS),
    ]  # fmt: skip
    plot = alt.layer(
        line.encode(x=x, y=y),
        base.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("low:Q", scale=up), y2="high:Q", color=colour),
        base.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    )
    names = chart_of(place_names([row["model"] for row in rows], coordinates)).mark_text(fontSize=FONT_SIZE)
    names = names.encode(**pixels(WIDTH, HEIGHT), text="model:N")
    return finish([plot, names], height=HEIGHT, width=WIDTH).resolve_scale(x="independent", y="independent")


def curves(
    points: Sequence[SeriesPoint], levels: Sequence[SeriesLevel] = (), metric: str = "bits per character", along: str = "minutes",
    axis_title: str | None = None,
) -> Chart:  # fmt: skip
    """A metric against time, a line for each series: `points` have the time under the name that `along` gives. A level is a dashed line."""
    colour = alt.Color("series:N", title=None, sort=None)
    scale = alt.Scale(zero=False)
    x = alt.X(f"{along}:Q", title=axis_title or f"{along} of training")
    lines = chart_of(points).mark_line(point=True).encode(x=x, y=alt.Y("value:Q", title=metric, scale=scale), color=colour)
    rules = chart_of(levels).mark_rule(strokeDash=[6, 4]).encode(y=alt.Y("value:Q", scale=scale), color=colour)
    return alt.layer(rules, lines).properties(width=CURVE_WIDTH, height=CURVE_HEIGHT)


def reliability(bins: Sequence[CalibrationBin], confidence: str = "mean probability", accuracy: str = "share correct") -> Chart:
    """The share of correct predictions against their probability: where it is on the diagonal, the two agree. The larger a dot, the more texts."""
    axis = partial(alt.Axis, values=[0, 0.25, 0.5, 0.75, 1], format="~g", **GRID)
    scale = alt.Scale(domain=[0, 1], nice=False)
    x, y = alt.X("confidence:Q", title=confidence, scale=scale, axis=axis()), alt.Y("accuracy:Q", title=accuracy, scale=scale, axis=axis())
    corners = [{"confidence": end, "accuracy": end} for end in (0.0, 1.0)]
    diagonal = chart_of(corners).mark_line(strokeDash=[4, 4], color=GREY, strokeWidth=1).encode(x=x, y=y)
    base = chart_of(list(bins)).encode(x=x, y=y)
    size = alt.Size("texts:Q", scale=alt.Scale(range=[20, 200]), legend=None)
    dots = base.mark_circle(color=BLUE, opacity=1).encode(size=size, tooltip=["texts:Q"])
    return finish([diagonal, base.mark_line(color=BLUE, strokeWidth=1), dots], height=RELIABILITY_SIDE, width=RELIABILITY_SIDE)


def label_curves(found: Sequence[LabelScores], metric: str = "accuracy", axis_title: str = "labels") -> Chart:
    """Dots are measured; the dashed line is the forecast, within the band of its interval."""
    measured = [{"series": own["model"], "labels": point["labels"], **point["score"]} for own in found for point in own["points"]]
    ahead = [{"series": own["model"], "labels": point["labels"], **point["score"]} for own in found for point in own["forecasts"]]
    x = alt.X("labels:Q", title=axis_title, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~s", tickCount=5, **GRID))
    colour = alt.Color("series:N", title=None, sort=None, scale=alt.Scale(range=[BLUE, ORANGE]))
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False), axis=alt.Axis(**GRID))
    band = chart_of(ahead).mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=metric, scale=alt.Scale(zero=False)), y2="high:Q", color=colour)
    forecast = chart_of(ahead).mark_line(strokeDash=[5, 4], point=alt.OverlayMarkDef(filled=False, fill="white")).encode(x=x, y=y, color=colour)
    dots = chart_of(measured).mark_line(point=True).encode(x=x, y=y, color=colour)
    return alt.layer(band, forecast, dots).properties(width=CURVE_WIDTH, height=LABEL_CURVE_HEIGHT)


def rows_with_score(rows: Sequence[ScoredRow]) -> list[ScoredRow]:
    return [row for row in rows if row.get("score")]


def flatten_row(row: ScoredRow) -> dict[str, object]:
    """The score's numbers beside the costs."""
    return {"model": row["model"], **row["score"], "seconds": row["cpu_seconds"], **{name: row.get(name) for name in COSTS}}


def axis_limits(rows: Sequence[ScoredRow]) -> tuple[float, float]:
    """With space for names at the top; the axis does not start at 0, or all models would look alike."""
    low, high = min((row["score"]["low"] for row in rows), default=0.0), max((row["score"]["high"] for row in rows), default=1.0)
    spread = (high - low) or 0.1
    return max(low - FOOT_SHARE * spread, min(low, 0.0)), high + 0.25 * spread


def pareto_front(rows: Sequence[ScoredRow]) -> set[str]:
    """The models that score higher than all cheaper ones."""
    front, best = set(), -math.inf
    for row in sorted(rows, key=lambda row: (row["cpu_seconds"], -row["score"]["value"])):
        if row["score"]["value"] > best:
            best = row["score"]["value"]
            front.add(row["model"])
    return front


def place_names(names: Sequence[str], coordinates: Sequence[tuple[float, float]]) -> list[dict[str, str | float]]:
    """The middle of each name, beside its point, where it covers neither another name nor a point if possible."""
    dots = [Rectangle(x - 6, y - 6, 12, 12) for x, y in coordinates]
    occupied: list[Rectangle] = []
    placed: list[dict[str, str | float]] = []
    for name, (x, y) in zip(names, coordinates, strict=True):
        width = text_width(name) + 4
        crowd = [(other_x - x, other_y - y) for other_x, other_y in coordinates
                 if (other_x, other_y) != (x, y) and abs(other_x - x) < width and abs(other_y - y) < CROWD]  # fmt: skip
        candidates = []
        for right, down in SIDES:
            box = Rectangle(x + 8 if right > 0 else x - 8 - width, y + down * 9 - FONT_SIZE / 2, width, FONT_SIZE)
            is_outside = box.left < 0 or box.left + width > WIDTH
            is_ambiguous = any(aside * right >= -2 and below * down >= 0 for aside, below in crowd)  # it would be taken for the other's name
            candidates.append((4 * is_outside + 3 * any(map(box.overlaps, occupied)) + 2 * any(map(box.overlaps, dots)) + is_ambiguous, box))
        _, box = min(candidates, key=lambda candidate: candidate[0])
        occupied.append(box)
        placed.append({"model": name, "x": box.left + width / 2, "y": box.top + FONT_SIZE / 2})
    return placed


def format_seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1g} s" if seconds < 1 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
