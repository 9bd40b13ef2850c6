"""Attention weights as a matrix, as lines from token to token and as thumbnails of all heads; the attention mask and the position encoding."""

import base64
import struct
import zlib
from collections.abc import Sequence

import altair as alt

from stairs.inspection.attention import AttentionData, HeadsData, LinesData, MaskData, PositionsData, Rows
from stairs.pictures.charts import (
    BLUE,
    FONT_SIZE,
    GRID,
    ORANGE,
    Chart,
    GridOptions,
    chart_of,
    colour_limit,
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
POSITION_HEIGHT, MIN_WIDTH = 6, 320  # of a row of the position encoding, and of the whole picture
OPACITY_STEP = 5  # of 255: fewer levels make an image half as large


def attention(data: AttentionData) -> Chart:
    """A row for each token that attends, a column for each it attends to."""
    return matrix(data["tokens"], data["weights"], f"layer {data['layer']}, head {data['head']}: rows attend to columns", "weight")


def mask(data: MaskData) -> Chart:
    """A row for each token, and in it the tokens it may attend to."""
    return matrix(data["tokens"], data["mask"], "rows may attend to columns", "may attend")


def matrix(tokens: Sequence[str], weights: Rows, title: str, quantity: str) -> Chart:
    names = unique_names(tokens)
    cell = max(min(MAX_CELL, MATRIX_SIDE // max(len(names), 1)), MIN_CELL)
    cells = [{"from": names[i], "to": names[j], "weight": weight} for i, row in enumerate(weights) for j, weight in enumerate(row) if weight]
    grid: GridOptions = {"grid": True, "tickBand": "extent", **GRID}
    chart = (
        chart_of(cells)
        .mark_rect(color=BLUE, aria=False)
        .encode(
            x=alt.X("to:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=token_axis(cell, orient="top", labelAngle=-60, **grid)),
            y=alt.Y("from:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=token_axis(cell, **grid)),
            opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
            tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", title=quantity, format=".3f")],
        )
    )
    return finish([chart], title, cell * len(names), cell * len(names))


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


def positions(data: PositionsData) -> Chart:
    """A row for each position: negative numbers are blue, positive ones orange."""
    rows = data["table"]
    limit = colour_limit(rows)
    width, height = min(max(len(rows[0]) * POSITION_HEIGHT, MIN_WIDTH), MATRIX_SIDE), len(rows) * POSITION_HEIGHT
    negative, positive = (
        png_image([[max(sign * number, 0) / limit for number in row] for row in rows], colour) for sign, colour in ((-1, BLUE), (1, ORANGE))
    )
    images = chart_of([{"x": width / 2, "y": height / 2, "image": image} for image in (negative, positive)])
    images = images.mark_image(width=width, height=height, smooth=False, aspect=False, aria=False).encode(**pixels(width, height), url="image:N")
    down = alt.Scale(domain=[0, len(rows)], nice=False, reverse=True)
    left_axis = chart_of([{"position": 0}]).mark_rule(opacity=0)
    left_axis = left_axis.encode(y=alt.Y("position:Q", scale=down, title="position", axis=alt.Axis(grid=False)))
    across = alt.X("dimension:Q", scale=alt.Scale(domain=[0, len(rows[0])], nice=False), title="dimension", axis=alt.Axis(grid=False))
    bottom_axis = chart_of([{"dimension": 0}]).mark_rule(opacity=0).encode(x=across)
    title = f"{data['kind']} positions: the first {len(rows)} of {data['positions']}, {len(rows[0])} of {data['width']} dimensions"
    return finish([left_axis + bottom_axis, images], title, height, width).resolve_scale(x="independent", y="independent")


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
