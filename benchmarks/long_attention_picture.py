"""The picture of `long_attention.py`: time and memory against the length of the text, both axes logarithmic, so that a slope is a power."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import altair as alt

from stairs.pictures.charts import BLUE, FONT, GREY, GRID, ORANGE, chart_of, chart_title, save

PANEL = 270  # pixels
OURS = {"full": GREY, "window": BLUE, "sparse": ORANGE, "linformer": "#3f9c5a"}
PEERS = {"fused, band mask": GREY, "flex_attention": BLUE, "Longformer layer": "#8e5bb5", "BigBird layer": "#b5544d"}
COLOURS = OURS | PEERS


class CostPoint(TypedDict):
    panel: str
    series: str
    length: int
    value: float


def draw(points: Sequence[CostPoint], path: Path) -> None:
    """A panel for each measure, in the order of the points; what others have is dashed."""
    titles = dict.fromkeys(point["panel"] for point in points)
    panels = [draw_panel(title, [point for point in points if point["panel"] == title]) for title in titles]
    path.parent.mkdir(parents=True, exist_ok=True)
    save(alt.hconcat(*panels).configure(font=FONT).configure_view(stroke=None), path)


def draw_panel(title: str, points: Sequence[CostPoint]) -> alt.LayerChart:
    names, dashes = list(COLOURS), [[1, 0] if name in OURS else [5, 4] for name in COLOURS]
    lengths = sorted({point["length"] for point in points})
    scale = alt.Scale(type="log", nice=False)
    base = chart_of([point for point in points if point["series"] in COLOURS]).encode(
        x=alt.X("length:Q", title="tokens", scale=scale, axis=alt.Axis(values=lengths, format=",", labelFlush=False, **GRID)),
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format="~s", tickCount=5, **GRID)),
        color=alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=list(COLOURS.values())),
                        legend=alt.Legend(orient="bottom", columns=4, symbolType="stroke", labelLimit=200)),
        strokeDash=alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes)),
        tooltip=["series:N", "length:Q", alt.Tooltip("value:Q", format=",.1f")],
    )  # fmt: skip
    chart = alt.layer(base.mark_line(), base.mark_point(size=18, filled=True).encode(strokeDash=alt.value([1, 0])))
    return chart.properties(width=PANEL, height=PANEL, title=chart_title(title))
