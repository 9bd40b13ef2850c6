"""Translations: the attention to the source, the tree of beam search, and quality against length."""

from collections.abc import Sequence
from typing import TypedDict

import altair as alt

from stairs.inspection.translation import AlignmentData, TreeData
from stairs.pictures.charts import BLUE, FONT, FONT_SIZE, GREY, ORANGE, Chart, chart_of, display_token, token_axis, unique_names

CELL = 26  # pixels
STEP_WIDTH, ROW_HEIGHT = 92, 30  # pixels between the steps of a tree, and between its hypotheses
MAX_TOKEN_LENGTH = 12  # characters of a token in a tree


class LengthPoint(TypedDict):
    run: str
    length: float
    score: float
    low: float
    high: float


def alignment(data: AlignmentData) -> Chart:
    """A row for each output token, a column for each source token; the darker, the larger the weight."""
    columns, rows = unique_names(data["source"]), unique_names(data["target"])
    cells = [
        {"source": columns[j], "target": rows[i], "weight": float(weight)} for i, row in enumerate(data["weights"]) for j, weight in enumerate(row)
    ]
    chart = (
        chart_of(cells)
        .mark_rect(color=BLUE, stroke="gray", strokeOpacity=0.2, aria=False)
        .encode(
            x=alt.X("source:N", sort=columns, title=None, axis=token_axis(CELL, orient="top", labelAngle=-60, labelFont=FONT)),
            y=alt.Y("target:N", sort=rows, title=None, axis=token_axis(CELL, labelFont=FONT)),
            fillOpacity=alt.FillOpacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
            tooltip=["source:N", "target:N", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    return chart.properties(width=CELL * len(columns), height=CELL * len(rows)).configure_view(stroke=None)


def beam_tree(data: TreeData) -> Chart:
    """The steps of beam search from left to right: hypotheses that go on are blue, finished ones orange, pruned ones grey."""
    nodes = [{"x": 0, "y": 0, "token": "", "log_probability": 0.0, "state": "kept"}]
    lines = []
    rows = {0: 0}  # the row of each hypothesis that goes on, by its rank
    for number, step in enumerate(data["steps"], 1):
        next_rows = {}
        for row, node in enumerate(step):
            state = "finished" if node["is_finished"] else "kept" if node["rank"] is not None else "pruned"
            token = display_token(node["token"])[:MAX_TOKEN_LENGTH]
            nodes.append({"x": number, "y": row, "token": token, "log_probability": node["log_probability"], "state": state})
            lines.append({"x": number - 1, "y": rows[node["parent"]], "x2": number, "y2": row, "state": state})
            if node["rank"] is not None:
                next_rows[node["rank"]] = row
        rows = next_rows
    steps = len(data["steps"])
    size = {"width": STEP_WIDTH * (steps + 1), "height": ROW_HEIGHT * max(map(len, data["steps"]), default=1)}
    colour = alt.Color("state:N", scale=alt.Scale(domain=["kept", "finished", "pruned"], range=[BLUE, ORANGE, GREY]), title=None)
    x, y = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.5, steps + 0.7])), alt.Y("y:Q", axis=None, scale=alt.Scale(reverse=True))
    edges = chart_of(lines).mark_rule(opacity=0.45).encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour)
    base = chart_of(nodes).encode(x=x, y=y, color=colour, tooltip=["token:N", alt.Tooltip("log_probability:Q", format=".3f"), "state:N"])
    names = base.mark_text(align="left", dx=6, dy=-7, font=FONT, fontSize=FONT_SIZE).encode(text="token:N")
    return (edges + base.mark_circle(size=40, opacity=1) + names).properties(**size).configure_view(stroke=None)


def against_length(points: Sequence[LengthPoint], metric: str, unit: str) -> Chart:
    """The score of each run for sources of each length."""
    base = chart_of(points).encode(x=alt.X("length:Q", title=f"length of the source, {unit}", scale=alt.Scale(zero=False)))
    colour = alt.Color("run:N", title=None)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=metric), y2="high:Q", color=colour)
    line = base.mark_line(point=True).encode(y=alt.Y("score:Q", title=metric), color=colour)
    return (band + line).properties(width=480, height=300)
