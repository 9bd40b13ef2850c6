"""Translations to look at: which token looked at which, and the beginnings that beam search tried."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, FONT, FONT_SIZE, GREY, ORANGE, display_token, token_axis, unique_names

CELL = 26  # pixels
APART = 92, 30  # pixels between the steps of a tree, and between its beginnings
LONGEST_NAME = 12  # letters of a token in a tree


def alignment(source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], title: str = "") -> Any:
    """A row for each token that was said, a column for each of the source; the darker, the more it was looked at."""
    across, down = unique_names(source), unique_names(target)
    cells = [
        {"source": across[j], "target": down[i], "weight": float(weight)} for i, row in enumerate(weights) for j, weight in enumerate(row)
    ]  # fmt: skip
    chart = (
        alt.Chart(alt.Data(values=cells))
        .mark_rect(color=BLUE, stroke="gray", strokeOpacity=0.2, aria=False)
        .encode(
            x=alt.X("source:N", sort=across, title=None, axis=token_axis(CELL, orient="top", labelAngle=-60, labelFont=FONT)),
            y=alt.Y("target:N", sort=down, title=None, axis=token_axis(CELL, labelFont=FONT)),
            fillOpacity=alt.FillOpacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
            tooltip=["source:N", "target:N", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    return chart.properties(width=CELL * len(across), height=CELL * len(down), title=title).configure_view(stroke=None)


def beam_tree(steps: Sequence[Sequence[dict[str, Any]]], title: str = "") -> Any:
    """The steps of a search, from the left: what was kept is joined to what it continues, ended sentences are orange, what was dropped is grey."""
    nodes: list[dict[str, Any]] = [{"x": 0, "y": 0, "token": "", "value": 0.0, "fate": "kept"}]
    lines: list[dict[str, Any]] = []
    before = {0: 0}  # the row of each beginning that goes on
    for number, step in enumerate(steps, 1):
        now = {}
        for row, node in enumerate(step):
            fate = "ended" if node["is_finished"] else "kept" if node["rank"] is not None else "dropped"
            nodes.append({"x": number, "y": row, "token": display_token(node["token"])[:LONGEST_NAME], "value": node["log_probability"],
                "fate": fate})
            lines.append({"x": number - 1, "y": before[node["parent"]], "x2": number, "y2": row, "fate": fate})
            if node["rank"] is not None:
                now[node["rank"]] = row
        before = now
    size = {"width": APART[0] * (len(steps) + 1), "height": APART[1] * (max((node["y"] for node in nodes), default=0) + 1)}
    colour = alt.Color("fate:N", scale=alt.Scale(domain=["kept", "ended", "dropped"], range=[BLUE, ORANGE, GREY]), title=None)
    x, y = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(steps) + 0.7])), alt.Y("y:Q", axis=None, scale=alt.Scale(reverse=True))
    joined = alt.Chart(alt.Data(values=lines)).mark_rule(opacity=0.45).encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour)
    base = alt.Chart(alt.Data(values=nodes)).encode(x=x, y=y, color=colour, tooltip=["token:N", alt.Tooltip("value:Q", format=".3f"), "fate:N"])
    names = base.mark_text(align="left", dx=6, dy=-7, font=FONT, fontSize=FONT_SIZE).encode(text="token:N")
    return (joined + base.mark_circle(size=40, opacity=1) + names).properties(**size, title=title).configure_view(stroke=None)


def against_length(points: Sequence[dict[str, Any]], quality: str, unit: str, title: str = "") -> Any:
    """How good each run is for sources of each length: `points` are {"run", "length", "quality", "low", "high"}."""
    base = alt.Chart(alt.Data(values=list(points))).encode(x=alt.X("length:Q", title=f"length of the source, {unit}", scale=alt.Scale(zero=False)))
    colour = alt.Color("run:N", title=None)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=quality), y2="high:Q", color=colour)
    line = base.mark_line(point=True).encode(y=alt.Y("quality:Q", title=quality), color=colour)
    return (band + line).properties(width=480, height=300, title=title)

