"""Labels: who is taken for whom, and which labelled texts are near. Which words speak for a label is in `text.py`."""

from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, FONT_SIZE, ORANGE, WHITESPACE_SIGNS, chart_of, display_token, finish, pixels, text_width, wrap
from stairs.pictures.tokens import percent

CELL, SMALLEST, MOST = 62, 22, 680  # pixels
LABEL, BAR, NUMBER, TEXT = 100, 90, 40, 500  # widths of the columns of `nearest_words`, that of the labels at most
LINE, GAP = 17, 9  # heights of a line of text, and between two texts
FEW = 3  # lines of a text; what is beyond is left out
TIP = 400  # letters that are told when a bar is pointed at


def confusion(data: dict[str, Any]) -> Any:
    """A row for each true label, a column for each that was said; the darker, the larger its share of the row."""
    labels = data["labels"]
    cells = [
        {"true": labels[i], "said": labels[j], "texts": count, "share": count / max(sum(row), 1)}
        for i, row in enumerate(data["counts"])
        for j, count in enumerate(row)
    ]
    cell = max(min(CELL, MOST // max(len(labels), 1)), SMALLEST)
    axis: dict[str, Any] = {"labelFontSize": FONT_SIZE, "ticks": False, "domain": False, "labelOverlap": False, "labelLimit": 160}
    base = chart_of(cells).encode(
        x=alt.X("said:N", sort=None, title="said", axis=alt.Axis(orient="top", labelAngle=-40 if len(labels) > 2 else 0, **axis)),
        y=alt.Y("true:N", sort=None, title="true", axis=alt.Axis(**axis)),
        tooltip=["true:N", "said:N", "texts:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.85]), legend=None)
    squares = base.mark_rect(color=BLUE, aria=False).encode(opacity=opacity)
    numbers = base.mark_text(fontSize=min(FONT_SIZE, cell // 2), aria=False).encode(text="texts:Q")
    return finish([squares, numbers], f"texts of the {data['split']} part", cell * len(labels), cell * len(labels))


def nearest(data: dict[str, Any]) -> Any:
    """Below one another the nearest texts: label, cosine and text. Blue is the label that was given, orange is another."""
    names = [wrap(one["label"].translate(WHITESPACE_SIGNS), LABEL, 1)[0] for one in data["near"]]
    begin = max(map(text_width, names), default=0.0) + 10
    bars, texts, down = [], [], float(GAP + LINE)
    for one, name in zip(data["near"], names, strict=True):
        lines, end = wrap(one["text"].translate(WHITESPACE_SIGNS), TEXT, FEW), begin + BAR * max(one["cosine"], 0.0)
        place = {"x": begin, "x2": end, "y": down, "y2": down + LINE - 3, "middle": down + (LINE - 3) / 2, "left": begin - 6, "right": end + 4}
        colour = BLUE if one["label"] == data["label"] else ORANGE
        bars.append({**one, "text": one["text"][:TIP], "name": name, "colour": colour, **place})
        texts += [{"text": line, "x": begin + BAR + NUMBER, "y": place["middle"] + LINE * number} for number, line in enumerate(lines)]
        down += LINE * len(lines) + GAP
    width = begin + BAR + NUMBER + TEXT
    alike = sum(one["label"] == data["label"] for one in data["near"])
    heading = f"label {display_token(data['label'])}, chance {percent(data['probability'])}; of the {len(bars)} nearest texts {alike} have that label"
    base, axes = chart_of(bars), pixels(width, down)
    tips = ["text:N", "label:N", alt.Tooltip("cosine:Q", format=".3f"), "where:N"]
    parts = [
        base.mark_rect(fillOpacity=0.7).encode(**axes, x2="x2:Q", y2="y2:Q", color=alt.Color("colour:N", scale=None), tooltip=tips),
        base.mark_text(align="right", fontSize=FONT_SIZE, aria=False).encode(**pixels(width, down, "left", "middle"), text="name:N"),
        base.mark_text(align="left", fontSize=FONT_SIZE - 1, aria=False).encode(
            **pixels(width, down, "right", "middle"), text=alt.Text("cosine:Q", format=".2f")
        ),
    ]
    written = chart_of(texts).mark_text(align="left", fontSize=FONT_SIZE).encode(**axes, text="text:N")
    said = chart_of([{"x": 0, "y": LINE / 2, "text": heading}]).mark_text(align="left", fontSize=FONT_SIZE, opacity=0.75).encode(**axes,
        text="text:N")
    return finish([alt.layer(*parts), written, said], height=down, width=width)
