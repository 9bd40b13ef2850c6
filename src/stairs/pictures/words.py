"""Word vectors to look at: a map, colour strips, an analogy, and the paths words take while they are learnt.

Places come from `inspection.flatten_row`. Names are written in a font that has Chinese characters, where one is installed.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from stairs.pictures.style import FONT_SIZE, HEIGHT, WIDTH, finish, text_width

ROW = 24  # height of a strip
MARGIN = 0.08  # of the picture, on each side, for names that stand at the edge
DOT = 8  # room for a point, in pixels
AWAY = (0, 14, 28, 42)  # pixels a name may stand from its point; a line leads to those that are not beside it
AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))  # right, left, above, below, and between
PALE = 0.02  # share of a strip's numbers that may be beyond the darkest colour: a few large ones would make the others pale
Point = dict[str, Any]


def words_map(points: Sequence[Point], title: str = "") -> Any:
    """`points` are {"word", "x", "y"}, and {"group"} where words have a colour. A name without room is left out; its dot tells it when touched."""
    frame = Frame(points)
    return finish([*labelled_points(frame, points, group_colours(points))], title)


def strips(words: Sequence[str], matrix: Sequence[Sequence[float]], title: str = "") -> Any:
    """A row per word and a cell per number of its vector: blue below zero, orange above. Words used alike have like stripes."""
    cells: list[Point] = [{"word": word, "number": n, "value": float(v)} for word, row in zip(words, matrix, strict=True) for n, v in enumerate(row)]
    sizes = sorted(abs(cell["value"]) for cell in cells)
    most = sizes[int((1 - PALE) * (len(sizes) - 1))] if sizes else 1.0
    scale = alt.Scale(scheme="blueorange", domain=[-most, most], domainMid=0, clamp=True)
    chart = (
        alt.Chart(alt.Data(values=cells))
        .mark_rect()
        .encode(
            x=alt.X("number:O", axis=None),
            y=alt.Y("word:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, labelFontSize=FONT_SIZE)),
            color=alt.Color("value:Q", scale=scale, title=None),
            tooltip=["word:N", "number:O", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    return finish([chart], title, height=ROW * len(words))


def analogy(points: Sequence[Point], arrows: Sequence[tuple[str, str]], title: str = "") -> Any:
    """`points` are {"word", "x", "y"}, with {"group"} for what was given, computed and found; each arrow leads from one word to another.

    For king - man + woman, man -> king and woman -> the sum are two sides of a parallelogram.
    """
    frame = Frame(points)
    where = {point["word"]: point for point in points}
    lines: list[Point] = []
    along: list[tuple[float, float]] = []
    for tail, head in arrows:
        (x, y), (to_x, to_y) = frame.pixels(where[tail]), frame.pixels(where[head])
        length = math.hypot(to_x - x, to_y - y) or 1.0
        share = max(length - DOT, 0.0) / length  # the tip does not vanish under the dot
        along += [(x + (to_x - x) * part * DOT / length, y + (to_y - y) * part * DOT / length) for part in range(1, int(length / DOT))]
        tip = frame.units(x + (to_x - x) * share, y + (to_y - y) * share)
        lines.append({"x": where[tail]["x"], "y": where[tail]["y"], "x2": tip[0], "y2": tip[1], "turn": math.degrees(math.atan2(to_x - x, y - to_y))})
    base = alt.Chart(alt.Data(values=lines))
    shafts = base.mark_rule(color="gray", strokeDash=[5, 3]).encode(**frame.axes(), x2="x2:Q", y2="y2:Q")
    tips = base.mark_point(shape="triangle", filled=True, color="gray", size=80, opacity=1)
    tips = tips.encode(**frame.axes("x2", "y2"), angle=alt.Angle("turn:Q", scale=None))
    return finish([shafts, tips, *labelled_points(frame, points, group_colours(points), every=True, avoid=along)], title)


def snapshots(points: Sequence[Point], title: str = "") -> Any:
    """`points` are {"word", "x", "y", "epoch"}: the path of each word, thicker the later, with its name where it has arrived."""
    frame = Frame(points)
    ordered = sorted(points, key=lambda point: point["epoch"])
    last = {point["word"]: point for point in ordered}
    aged = [{**point, "age": (point["epoch"] + 1) / (last[point["word"]]["epoch"] + 1)} for point in ordered]
    colour = {"color": alt.Color("word:N", legend=None)}
    size = alt.Size("age:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.3, 4]))
    paths = alt.Chart(alt.Data(values=aged)).mark_trail(opacity=0.5).encode(**frame.axes(), order="epoch:Q", size=size, **colour)
    return finish([paths, *labelled_points(frame, list(last.values()), colour)], title)


class Box(NamedTuple):
    """In pixels."""

    left: float
    top: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.top < other.top + other.height
            and other.top < self.top + self.height
        )

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The place in it that is nearest to another."""
        return min(max(x, self.left), self.left + self.width), min(max(y, self.top), self.top + self.height)

    def inside(self) -> bool:
        return self.left >= 0 and self.top >= 0 and self.left + self.width <= WIDTH and self.top + self.height <= HEIGHT


class Frame:
    """From places to pixels and back, one unit as long upwards as it is across."""

    def __init__(self, points: Sequence[Point]) -> None:
        (left, right), (low, high) = (extent([point[axis] for point in points]) for axis in "xy")
        self.unit = max((right - left) / WIDTH, (high - low) / HEIGHT) * (1 + 2 * MARGIN) or 1.0  # per pixel
        self.left, self.low = (left + right - WIDTH * self.unit) / 2, (low + high - HEIGHT * self.unit) / 2

    def pixels(self, point: Point) -> tuple[float, float]:
        """From the upper left corner."""
        return (point["x"] - self.left) / self.unit, HEIGHT - (point["y"] - self.low) / self.unit

    def units(self, across: float, down: float) -> tuple[float, float]:
        return self.left + across * self.unit, self.low + (HEIGHT - down) * self.unit

    def axes(self, x: str = "x", y: str = "y") -> dict[str, Any]:
        """A place says nothing by itself, so there are no numbers at the edges."""
        across = alt.Scale(domain=[self.left, self.left + WIDTH * self.unit], nice=False, zero=False)
        up = alt.Scale(domain=[self.low, self.low + HEIGHT * self.unit], nice=False, zero=False)
        return {"x": alt.X(f"{x}:Q", scale=across, axis=None), "y": alt.Y(f"{y}:Q", scale=up, axis=None)}

    def names(self, points: Sequence[Point], every: bool, avoid: Sequence[tuple[float, float]]) -> list[Point]:
        """Where the middle of each name is, so that none covers another, nor a dot or what is to `avoid` if there is a choice.

        Those that find no room are left out, unless `every` name must be there.
        """
        dots = [Box(x - DOT / 2, y - DOT / 2, DOT, DOT) for x, y in [*map(self.pixels, points), *avoid]]
        taken: list[Box] = []
        found = []
        for point in points:
            x, y = self.pixels(point)
            wide = text_width(point["word"])
            tried = []
            for away in AWAY:
                for right, down in AROUND:
                    gap = away + (0 if right and down else DOT)  # at a corner, a name is near enough
                    middle = (x + right * (wide / 2 + gap), y + down * (FONT_SIZE / 2 + gap))
                    box = Box(middle[0] - wide / 2, middle[1] - FONT_SIZE / 2, wide, FONT_SIZE)
                    if box.inside() and not any(map(box.overlaps, taken)):
                        tried.append((any(map(box.overlaps, dots)), away, middle, box))
            if every and not tried:
                tried = [(True, 0, (x, y), Box(x, y, 0, 0))]
            if tried:
                _, away, middle, box = min(tried, key=lambda one: one[0])
                taken.append(box)
                name_x, name_y = self.units(*middle)
                edge_x, edge_y = self.units(*box.nearest(x, y))
                found.append({**point, "name_x": name_x, "name_y": name_y, "edge_x": edge_x, "edge_y": edge_y, "away": away})
        return found


def labelled_points(frame: Frame, points: Sequence[Point], colour: dict[str, Any], every: bool = False, avoid: Sequence[tuple[float,
    float]] = ()) -> list[Any]:
    """Dots, their names, and lines to the names that stand away from their dot."""
    names = frame.names(points, every, avoid)
    lines = alt.Chart(alt.Data(values=[name for name in names if name["away"]])).mark_rule(color="silver", strokeWidth=0.7)
    dots = alt.Chart(alt.Data(values=list(points))).mark_circle(size=4 * DOT, opacity=0.8)
    texts = alt.Chart(alt.Data(values=names)).mark_text(fontSize=FONT_SIZE)
    return [
        lines.encode(**frame.axes(), x2="edge_x:Q", y2="edge_y:Q"),
        dots.encode(**frame.axes(), tooltip="word:N", **colour),
        texts.encode(**frame.axes("name_x", "name_y"), text="word:N", tooltip="word:N"),
    ]


def group_colours(points: Sequence[Point]) -> dict[str, Any]:
    groups = [*dict.fromkeys(point["group"] for point in points if "group" in point)]
    return {"color": alt.Color("group:N", title=None, sort=groups)} if groups else {}


def extent(numbers: Sequence[float]) -> tuple[float, float]:
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

