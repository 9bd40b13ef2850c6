"""Word vectors: neighbours as bars, a map, colour strips, an analogy, and the paths of words in the course of training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import altair as alt

from stairs.pictures.charts import FONT_SIZE, HEIGHT, WIDTH, Axes, Chart, bars, chart_of, colour_limit, finish, text_width

if TYPE_CHECKING:  # a report draws names without overlap, too, and must not wait for torch
    from stairs.inspection.projection import Point
    from stairs.inspection.words import AnalogyData, MapData, NeighboursData, StripsData

ROW = 24  # height of a strip
MARGIN = 0.08  # of the picture, on each side, for names at the edge
DOT = 8  # pixels for a point
DISTANCES = (0, 14, 28, 42)  # pixels between a name and its point; a line leads to a name that is not beside its point
DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))  # right, left, above, below, and between


class PlacedName(TypedDict):
    word: str
    x: float
    y: float
    name_x: float  # the middle of the name
    name_y: float
    edge_x: float  # where a line from the point meets it
    edge_y: float
    distance: float


def neighbours(data: NeighboursData) -> Chart:
    """The nearest words of each query."""
    groups = [(answer["query"], answer["near"]) for answer in data["answers"]]
    return bars([(query, [{"word": near["word"], "value": near["cosine"]} for near in words]) for query, words in groups], "cosine", ".2f")


def words_map(data: MapData) -> Chart:
    """The words as points. A name for which there is no space is left out; pointing at its dot shows it."""
    frame = MapFrame(data["points"])
    return finish(labelled_points(frame, data["points"], group_colours(data["points"])))


def strips(data: StripsData) -> Chart:
    """A row for each word and a cell for each dimension of its vector: negative is blue, positive orange."""
    cells = [
        {"word": word, "dimension": dimension, "value": float(value)}
        for word, row in zip(data["words"], data["matrix"], strict=True)
        for dimension, value in enumerate(row)
    ]
    limit = colour_limit(data["matrix"])
    scale = alt.Scale(scheme="blueorange", domain=[-limit, limit], domainMid=0, clamp=True)
    chart = (
        chart_of(cells)
        .mark_rect()
        .encode(
            x=alt.X("dimension:O", axis=None),
            y=alt.Y("word:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, labelFontSize=FONT_SIZE)),
            color=alt.Color("value:Q", scale=scale, title=None),
            tooltip=["word:N", "dimension:O", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    return finish([chart], height=ROW * len(data["words"]))


def analogy(data: AnalogyData) -> Chart:
    """An arrow from word to word: for king - man + woman, man -> king and woman -> the sum are two sides of a parallelogram."""
    frame = MapFrame(data["points"])
    point_of = {point["word"]: point for point in data["points"]}
    arrows = []
    covered: list[tuple[float, float]] = []  # by the arrows
    for tail, head in data["arrows"]:
        (x, y), (to_x, to_y) = frame.pixels(point_of[tail]), frame.pixels(point_of[head])
        length = math.hypot(to_x - x, to_y - y) or 1.0
        share = max(length - DOT, 0.0) / length  # the tip ends before the dot
        covered += [(x + (to_x - x) * part * DOT / length, y + (to_y - y) * part * DOT / length) for part in range(1, int(length / DOT))]
        tip_x, tip_y = frame.units(x + (to_x - x) * share, y + (to_y - y) * share)
        angle = math.degrees(math.atan2(to_x - x, y - to_y))
        arrows.append({"x": point_of[tail]["x"], "y": point_of[tail]["y"], "x2": tip_x, "y2": tip_y, "angle": angle})
    base = chart_of(arrows)
    shafts = base.mark_rule(color="gray", strokeDash=[5, 3]).encode(**frame.axes(), x2="x2:Q", y2="y2:Q")
    tips = base.mark_point(shape="triangle", filled=True, color="gray", size=80, opacity=1)
    tips = tips.encode(**frame.axes("x2", "y2"), angle=alt.Angle("angle:Q", scale=None))
    names = labelled_points(frame, data["points"], group_colours(data["points"]), all_names=True, avoid=covered)
    return finish([shafts, tips, *names])


def snapshots(points: Sequence[Point]) -> Chart:
    """Points with an "epoch": the path of each word, the later the thicker, with its name at the end."""
    frame = MapFrame(points)
    ordered = sorted(points, key=lambda point: point["epoch"])
    last = {point["word"]: point for point in ordered}
    aged = [{**point, "age": (point["epoch"] + 1) / (last[point["word"]]["epoch"] + 1)} for point in ordered]
    colour = {"color": alt.Color("word:N", legend=None)}
    size = alt.Size("age:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.3, 4]))
    paths = chart_of(aged).mark_trail(opacity=0.5).encode(**frame.axes(), order="epoch:Q", size=size, **colour)
    return finish([paths, *labelled_points(frame, list(last.values()), colour)])


class Rectangle(NamedTuple):
    """In pixels."""

    left: float
    top: float
    width: float
    height: float

    def overlaps(self, other: Rectangle) -> bool:
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.top < other.top + other.height
            and other.top < self.top + self.height
        )

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The point in it that is nearest to another."""
        return min(max(x, self.left), self.left + self.width), min(max(y, self.top), self.top + self.height)

    def is_inside(self) -> bool:
        return self.left >= 0 and self.top >= 0 and self.left + self.width <= WIDTH and self.top + self.height <= HEIGHT


class MapFrame:
    """From coordinates to pixels and back, with the same scale in both directions."""

    def __init__(self, points: Sequence[Point]) -> None:
        left, right = extent([point["x"] for point in points])
        low, high = extent([point["y"] for point in points])
        self.unit = max((right - left) / WIDTH, (high - low) / HEIGHT) * (1 + 2 * MARGIN) or 1.0  # per pixel
        self.left, self.low = (left + right - WIDTH * self.unit) / 2, (low + high - HEIGHT * self.unit) / 2

    def pixels(self, point: Point) -> tuple[float, float]:
        """From the upper left corner."""
        return (point["x"] - self.left) / self.unit, HEIGHT - (point["y"] - self.low) / self.unit

    def units(self, across: float, down: float) -> tuple[float, float]:
        return self.left + across * self.unit, self.low + (HEIGHT - down) * self.unit

    def axes(self, x: str = "x", y: str = "y") -> Axes:
        """Without numbers: a coordinate by itself means nothing."""
        across = alt.Scale(domain=[self.left, self.left + WIDTH * self.unit], nice=False, zero=False)
        up = alt.Scale(domain=[self.low, self.low + HEIGHT * self.unit], nice=False, zero=False)
        return {"x": alt.X(f"{x}:Q", scale=across, axis=None), "y": alt.Y(f"{y}:Q", scale=up, axis=None)}

    def place_labels(self, points: Sequence[Point], all_names: bool, avoid: Sequence[tuple[float, float]]) -> list[PlacedName]:
        """The middle of each name: none covers another, and if possible none covers a dot or what is to `avoid`. A name for which there is no space
        is left out, unless `all_names` must be there."""
        dots = [Rectangle(x - DOT / 2, y - DOT / 2, DOT, DOT) for x, y in [*map(self.pixels, points), *avoid]]
        occupied: list[Rectangle] = []
        labels: list[PlacedName] = []
        for point in points:
            x, y = self.pixels(point)
            width = text_width(point["word"])
            candidates = []
            for distance in DISTANCES:
                for right, down in DIRECTIONS:
                    gap = distance + (0 if right and down else DOT)  # a name at a corner is close enough
                    middle = (x + right * (width / 2 + gap), y + down * (FONT_SIZE / 2 + gap))
                    box = Rectangle(middle[0] - width / 2, middle[1] - FONT_SIZE / 2, width, FONT_SIZE)
                    if box.is_inside() and not any(map(box.overlaps, occupied)):
                        candidates.append((any(map(box.overlaps, dots)), distance, middle, box))
            if all_names and not candidates:
                candidates = [(True, 0, (x, y), Rectangle(x, y, 0, 0))]
            if candidates:
                _, distance, middle, box = min(candidates, key=lambda candidate: candidate[0])
                occupied.append(box)
                name_x, name_y = self.units(*middle)
                edge_x, edge_y = self.units(*box.nearest(x, y))
                labels.append({
                    "word": point["word"], "x": point["x"], "y": point["y"],
                    "name_x": name_x, "name_y": name_y, "edge_x": edge_x, "edge_y": edge_y, "distance": distance,
                })  # fmt: skip
        return labels


def labelled_points(
    frame: MapFrame, points: Sequence[Point], colour: dict[str, alt.Color], all_names: bool = False, avoid: Sequence[tuple[float, float]] = ()
) -> list[Chart]:
    """Dots, their names, and lines to the names that are not beside their dot."""
    labels = frame.place_labels(points, all_names, avoid)
    lines = chart_of([label for label in labels if label["distance"]]).mark_rule(color="silver", strokeWidth=0.7)
    dots = chart_of(points).mark_circle(size=4 * DOT, opacity=0.8)
    texts = chart_of(labels).mark_text(fontSize=FONT_SIZE)
    return [
        lines.encode(**frame.axes(), x2="edge_x:Q", y2="edge_y:Q"),
        dots.encode(**frame.axes(), tooltip="word:N", **colour),
        texts.encode(**frame.axes("name_x", "name_y"), text="word:N", tooltip="word:N"),
    ]


def group_colours(points: Sequence[Point]) -> dict[str, alt.Color]:
    groups = [*dict.fromkeys(point["group"] for point in points if "group" in point)]
    return {"color": alt.Color("group:N", title=None, sort=groups)} if groups else {}


def extent(numbers: Sequence[float]) -> tuple[float, float]:
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
