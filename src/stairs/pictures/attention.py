"""Attention weights as a matrix, as lines from token to token and as thumbnails of all heads."""

import base64
import struct
import zlib
from collections.abc import Sequence

import altair as alt

from stairs.inspection.attention import AttentionData, HeadsData, LinesData, Rows
from stairs.pictures.charts import (
    BLUE,
    FONT_SIZE,
    GRID,
    ORANGE,
    Chart,
    GridOptions,
    chart_of,
    display_token,
    finish,
    pixels,
    text_width,
    token_axis,
    unique_names,
)  # fmt: skip

MAX_CELL, MIN_CELL, MATRIX_SIDE = 24, 9, 620  # pixels of a cell, and of a matrix beyond which its cells become smaller
LINE = 19  # height of a token beside the lines
COLUMN_GAP = 190  # between the two columns of tokens
THUMBNAIL, THUMBNAIL_GAP = 72, 10
OPACITY_STEP = 5  # of 255: fewer levels make an image half as large


def attention(data: AttentionData) -> Chart:
    """A row for each token that attends, a column for each it attends to."""
    return matrix(data["tokens"], data["weights"], f"layer {data['layer']}, head {data['head']}: rows attend to columns", "weight")


def matrix(tokens: Sequence[str], weights: Rows, title: str, quantity: str) -> Chart:
    return finish([weight_cells(tokens, tokens, weights, quantity)], title, *matrix_size(tokens, tokens))


def matrix_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Height and width in pixels."""
    cell = max(min(MAX_CELL, MATRIX_SIDE // max(len(rows), len(columns), 1)), MIN_CELL)
    return cell * len(rows), cell * len(columns)


def weight_cells(rows: Sequence[str], columns: Sequence[str], weights: Rows, quantity: str) -> Chart:
    """The darker, the larger the weight, from 0 to 1."""
    row_names, column_names = unique_names(rows), unique_names(columns)
    cell = matrix_size(rows, columns)[0] / max(len(rows), 1)
    cells = [
        {"from": row_names[i], "to": column_names[j], "weight": weight} for i, row in enumerate(weights) for j, weight in enumerate(row) if weight
    ]
    grid: GridOptions = {"grid": True, "tickBand": "extent", **GRID}
    across = token_axis(cell, orient="top", labelAngle=-60, **grid)
    return (
        chart_of(cells)
        .mark_rect(color=BLUE, aria=False)
        .encode(
            x=alt.X("to:N", sort=column_names, title=None, scale=alt.Scale(domain=column_names), axis=across),
            y=alt.Y("from:N", sort=row_names, title=None, scale=alt.Scale(domain=row_names), axis=token_axis(cell, **grid)),
            opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
            tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", title=quantity, format=".3f")],
        )
    )


def lines(data: LinesData) -> Chart:
    """The tokens in two columns: the left ones attend to the right ones; the thicker the line, the larger the weight."""
    tokens, height = [display_token(token) for token in data["tokens"]], LINE * len(data["tokens"])
    side = max(map(text_width, tokens), default=0) + 12
    width = 2 * side + COLUMN_GAP
    middles = [LINE * (number + 0.5) for number in range(len(tokens))]
    rows = [
        {"x": side, "y": middles[line["from"]], "x2": side + COLUMN_GAP, "y2": middles[line["to"]], "weight": line["weight"],
         "from": tokens[line["from"]], "to": tokens[line["to"]]}
        for line in data["lines"]
    ]  # fmt: skip
    axes = pixels(width, height)
    rules = chart_of(rows).mark_rule(color=BLUE, aria=False).encode(
        **axes, x2="x2:Q", y2="y2:Q",
        opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None),
        strokeWidth=alt.StrokeWidth("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0.8, 5]), legend=None),
        tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", format=".3f")],
    )  # fmt: skip
    names = [
        {"x": x, "y": middles[number], "token": token, "column": "word" if column == "left" and number in data["word"] else column}
        for column, x in (("left", side - 6), ("right", side + COLUMN_GAP + 6))
        for number, token in enumerate(tokens)
    ]
    texts = {column: chart_of([name for name in names if name["column"] == column]) for column in ("left", "right", "word")}
    columns = [
        texts["left"].mark_text(fontSize=FONT_SIZE, aria=False, align="right").encode(**axes, text="token:N"),
        texts["right"].mark_text(fontSize=FONT_SIZE, aria=False, align="left").encode(**axes, text="token:N"),
        texts["word"].mark_text(fontSize=FONT_SIZE, aria=False, align="right", color=ORANGE, fontWeight="bold").encode(**axes, text="token:N"),
    ]
    return finish([rules, *columns], f"layer {data['layer']}, head {data['head']}", height, width)


def heads(data: HeadsData) -> Chart:
    """A row for each layer, a small matrix for each head."""
    layers = data["layers"]
    columns, pitch = max(map(len, layers), default=1), THUMBNAIL + THUMBNAIL_GAP
    width, height, half = columns * pitch, len(layers) * pitch, THUMBNAIL / 2
    centres = [((head + 0.5) * pitch, (layer + 0.5) * pitch, layer, head) for layer, row in enumerate(layers) for head in range(len(row))]
    images = [
        {"x": x, "y": y, "layer": layer, "head": head, "image": png_image(layers[layer][head], BLUE, scaled=True)} for x, y, layer, head in centres
    ]
    frames = [{"x": x - half, "y": y - half, "x2": x + half, "y2": y + half} for x, y, _, _ in centres]
    axes = pixels(width, height)
    layer_names = [{"x": -8, "y": (layer + 0.5) * pitch, "name": f"layer {layer}"} for layer in range(len(layers))]
    head_names = [{"x": (head + 0.5) * pitch, "y": -8, "name": f"head {head}"} for head in range(columns)]
    thumbnails = chart_of(images).mark_image(width=THUMBNAIL, height=THUMBNAIL, smooth=False, aria=False)
    borders = chart_of(frames).mark_rect(filled=False, stroke="gray", strokeOpacity=0.5, aria=False)
    return finish(
        [
            thumbnails.encode(**axes, url="image:N", tooltip=["layer:Q", "head:Q"]),
            borders.encode(**axes, x2="x2:Q", y2="y2:Q"),
            chart_of(layer_names).mark_text(align="right", fontSize=FONT_SIZE, clip=False).encode(**axes, text="name:N"),
            chart_of(head_names).mark_text(fontSize=FONT_SIZE, clip=False).encode(**axes, text="name:N"),
        ],
        height=height,
        width=width,
    )


def signed_images(rows: Rows, limit: float) -> list[str]:
    """Two images, to be drawn one on the other: negative numbers are blue, positive ones orange, both darkest from `limit` on."""
    signs = ((-1, BLUE), (1, ORANGE))
    return [png_image([[max(sign * number, 0) / limit for number in row] for row in rows], colour) for sign, colour in signs]


def png_image(weights: Rows, colour: str, scaled: bool = False) -> str:
    """Numbers from 0 to 1 as a PNG with a pixel each, the larger the more opaque; `scaled` makes the largest 1."""
    largest = (max((weight for row in weights for weight in row), default=1.0) or 1.0) if scaled else 1.0
    red_green_blue, levels = bytes.fromhex(colour[1:]), 255 // OPACITY_STEP
    opacities = [[OPACITY_STEP * min(round(levels * weight / largest), levels) for weight in row] for row in weights]
    rows = b"".join(b"\0" + b"".join(red_green_blue + bytes([opacity]) for opacity in row) for row in opacities)
    header = struct.pack(">IIBBBBB", len(weights[0]), len(weights), 8, 6, 0, 0, 0)  # eight bits each of red, green, blue and opacity
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    png = b"".join(struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content)) for kind, content in chunks)
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + png).decode()
