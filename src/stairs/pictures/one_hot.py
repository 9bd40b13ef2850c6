"""One-hot vectors beside learned ones: the vectors as strips, and below them their cosines."""

from collections.abc import Sequence

import altair as alt

from stairs.inspection.attention import Rows
from stairs.inspection.one_hot import OneHotData
from stairs.pictures.attention import signed_images
from stairs.pictures.charts import (
    BLUE,
    FONT,
    FONT_SIZE,
    ORANGE,
    Chart,
    chart_of,
    chart_title,
    colour_limit,
    display_token,
    pixels,
    stack,
    text_width,
    token_axis,
    unique_names,
)  # fmt: skip

STRIP_HEIGHT, STRIP_GAP, STRIP_WIDTH = 14, 6, 230
CELL = 34
MIN_TICK = 2  # pixels of the 1 in a one-hot vector


def one_hot(data: OneHotData) -> Chart:
    """On the left every word is as far from each other word as from any; on the right similar words have similar strips and high cosines."""
    words, names = [display_token(word) for word in data["words"]], unique_names(data["words"])
    left = max(map(text_width, words)) + 12
    ticks = [
        {"x": left + index / data["vocab_size"] * (STRIP_WIDTH - MIN_TICK), "row": row, "index": index} for row, index in enumerate(data["indices"])
    ]
    drawn = len(data["vectors"][0])
    shown = str(drawn) if drawn == data["width"] else f"the first {drawn} of {data['width']}"
    strips = [
        one_hot_strips(words, ticks, left, f"one-hot: a 1 at its place among {data['vocab_size']:,}"),
        vector_strips(data["vectors"], f"learned: {shown} dimensions"),
    ]
    matrices = [
        cosine_matrix(names, data["one_hot_cosines"], "cosines of one-hot vectors"),
        cosine_matrix(names, data["cosines"], "cosines of learned vectors"),
    ]
    return stack([alt.hconcat(*strips, spacing=24), alt.hconcat(*matrices, spacing=24)])


def one_hot_strips(words: Sequence[str], ticks: list[dict[str, float]], left: float, title: str) -> Chart:
    height, pitch = len(words) * (STRIP_HEIGHT + STRIP_GAP), STRIP_HEIGHT + STRIP_GAP
    axes = pixels(left + STRIP_WIDTH, height)
    frames = [{"x": left, "x2": left + STRIP_WIDTH, "y": row * pitch, "y2": row * pitch + STRIP_HEIGHT} for row in range(len(words))]
    ones = [
        {"x": tick["x"], "x2": tick["x"] + MIN_TICK, "y": tick["row"] * pitch, "y2": tick["row"] * pitch + STRIP_HEIGHT, "index": tick["index"]}
        for tick in ticks
    ]
    texts = [{"x": left - 8, "y": row * pitch + STRIP_HEIGHT / 2, "text": word} for row, word in enumerate(words)]
    layers = [
        chart_of(frames).mark_rect(filled=False, stroke="gray", strokeOpacity=0.5, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q"),
        chart_of(ones).mark_rect(color=ORANGE, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q", tooltip=["index:Q"]),
        chart_of(texts).mark_text(fontSize=FONT_SIZE, font=FONT, align="right", aria=False).encode(**axes, text="text:N"),
    ]
    return alt.layer(*layers).properties(width=left + STRIP_WIDTH, height=height, title=chart_title(title))


def vector_strips(rows: Rows, title: str) -> Chart:
    """Negative numbers are blue, positive ones orange."""
    pitch, limit = STRIP_HEIGHT + STRIP_GAP, colour_limit(rows)
    height = len(rows) * pitch
    images = [
        {"x": STRIP_WIDTH / 2, "y": row * pitch + STRIP_HEIGHT / 2, "image": image}
        for row, numbers in enumerate(rows)
        for image in signed_images([numbers], limit)
    ]
    chart = chart_of(images).mark_image(width=STRIP_WIDTH, height=STRIP_HEIGHT, smooth=False, aspect=False, aria=False)
    return chart.encode(**pixels(STRIP_WIDTH, height), url="image:N").properties(width=STRIP_WIDTH, height=height, title=chart_title(title))


def cosine_matrix(names: list[str], cosines: Rows, title: str) -> Chart:
    cells = [
        {"row": names[i], "column": names[j], "cosine": cosine, "colour": ORANGE if cosine >= 0 else BLUE, "size": abs(cosine)}
        for i, row in enumerate(cosines)
        for j, cosine in enumerate(row)
    ]
    base = chart_of(cells).encode(
        x=alt.X("column:N", sort=names, title=None, axis=token_axis(CELL, orient="top", labelAngle=-60, labelFont=FONT)),
        y=alt.Y("row:N", sort=names, title=None, axis=token_axis(CELL, labelFont=FONT)),
        tooltip=["row:N", "column:N", alt.Tooltip("cosine:Q", format=".3f")],
    )
    squares = base.mark_rect(stroke="gray", strokeOpacity=0.2, aria=False).encode(
        color=alt.Color("colour:N", scale=None), fillOpacity=alt.FillOpacity("size:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.7]), legend=None)
    )
    numbers = base.mark_text(fontSize=10, aria=False).encode(text=alt.Text("cosine:Q", format=".2f"))
    return (squares + numbers).properties(width=CELL * len(names), height=CELL * len(names), title=chart_title(title))
