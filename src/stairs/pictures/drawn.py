"""Stand-in: six of the pictures, until the whole of them is there."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from stairs.pictures.translation import alignment, beam_tree


def bars(rows: Sequence[dict[str, Any]], name: str, value: str) -> Any:
    return alt.Chart(alt.Data(values=list(rows))).mark_bar().encode(x=f"{value}:Q", y=alt.Y(f"{name}:N", sort=None))


def ribbon(rows: Sequence[dict[str, Any]]) -> Any:
    chart = alt.Chart(alt.Data(values=[{**row, "x": row["at"] % 12, "y": row["at"] // 12} for row in rows]))
    axes = {"x": alt.X("x:O", axis=None), "y": alt.Y("y:O", axis=None)}
    return (chart.mark_rect(opacity=0.4).encode(**axes, color="bits:Q") + chart.mark_text().encode(**axes, text="token:N")).properties(width=720)


PICTURES: dict[str, Callable[[Any], Any]] = {
    "tokens": ribbon,
    "surprise": ribbon,
    "next": lambda rows: bars(rows, "token", "probability"),
    "alignment": lambda data: alignment(**data),
    "tree": lambda data: beam_tree(data["steps"]),
    "neighbours": lambda data: bars(data["near"], "word", "cosine"),
}
