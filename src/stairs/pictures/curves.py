"""Quality against time, one line per step: who learns what, and when."""

from collections.abc import Sequence
from typing import Any

import altair as alt

WIDTH, HEIGHT = 560, 320


def curves(
    points: Sequence[dict[str, Any]], levels: Sequence[dict[str, Any]] = (), quality: str = "bits per character", along: str = "minutes",
    title: str | None = None,
) -> Any:  # fmt: skip
    """`points` are {"series", "minutes", "value"}, or what `along` says instead of minutes; `levels` are {"series", "value"}, for steps that are
    trained in no time: a dashed line each. `title` is what stands below the axis, if it shall be other words."""
    colour = alt.Color("series:N", title=None, sort=None)
    scale = alt.Scale(zero=False)
    lines = (
        alt.Chart(alt.Data(values=list(points)))
        .mark_line(point=True)
        .encode(x=alt.X(f"{along}:Q", title=title or f"{along} of training"), y=alt.Y("value:Q", title=quality, scale=scale), color=colour)
    )
    rules = alt.Chart(alt.Data(values=list(levels))).mark_rule(strokeDash=[6, 4]).encode(y=alt.Y("value:Q", scale=scale), color=colour)
    return alt.layer(rules, lines).properties(width=WIDTH, height=HEIGHT)
