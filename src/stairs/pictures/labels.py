"""Labels: who is taken for whom. Why a text has its label is in `text.py`."""

from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, LETTERS, finished, table

CELL, SMALLEST, MOST = 62, 22, 680  # pixels


def confusion(data: dict[str, Any]) -> Any:
    """A row for each true label, a column for each that was said; the darker, the larger its share of the row."""
    labels = data["labels"]
    cells = [
        {"true": labels[i], "said": labels[j], "texts": count, "share": count / max(sum(row), 1)}
        for i, row in enumerate(data["counts"])
        for j, count in enumerate(row)
    ]
    cell = max(min(CELL, MOST // max(len(labels), 1)), SMALLEST)
    axis: dict[str, Any] = {"labelFontSize": LETTERS, "ticks": False, "domain": False, "labelOverlap": False, "labelLimit": 160}
    base = table(cells).encode(
        x=alt.X("said:N", sort=None, title="said", axis=alt.Axis(orient="top", labelAngle=-40 if len(labels) > 2 else 0, **axis)),
        y=alt.Y("true:N", sort=None, title="true", axis=alt.Axis(**axis)),
        tooltip=["true:N", "said:N", "texts:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.85]), legend=None)
    squares = base.mark_rect(color=BLUE, aria=False).encode(opacity=opacity)
    numbers = base.mark_text(fontSize=min(LETTERS, cell // 2), aria=False).encode(text="texts:Q")
    return finished([squares, numbers], f"texts of the {data['split']} part", cell * len(labels), cell * len(labels))
