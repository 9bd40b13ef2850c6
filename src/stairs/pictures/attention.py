"""Who looks at whom: a matrix, lines from word to word, all heads at a glance, the mask, and how positions are told."""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, FONT_SIZE, GRID, ORANGE, chart_of, display_token, finish, pixels, text_width, token_axis, unique_names
from stairs.pictures.words import PALE

LARGEST, SMALLEST, SIDE = 24, 9, 620  # pixels of a cell, and of a matrix about which the cells become smaller
LINE = 19  # height of a token beside the lines
APART = 190  # between the two columns of tokens
THUMBNAIL, BETWEEN = 72, 10
STRIPE, NARROWEST = 6, 320  # height of a place in a table of positions, and the width of all, at least
LEVEL = 5  # of 255 steps of opacity, those that are told apart: an image becomes half as large
Matrix = Sequence[Sequence[float]]


def attention(data: dict[str, Any]) -> Any:
    """A row for each token that looks, a column for each that is looked at."""
    return matrix(data["tokens"], data["weights"], f"layer {data['layer']}, head {data['head']}: who (left) looks at whom (above)", "weight")


def mask(data: dict[str, Any]) -> Any:
    """A row for each token, and in it whom it may look at."""
    return matrix(data["tokens"], data["mask"], "who (left) may look at whom (above)", "may look")


def matrix(tokens: Sequence[str], weights: Matrix, title: str, quantity: str) -> Any:
    names = unique_names(tokens)
    cell = max(min(LARGEST, SIDE // max(len(names), 1)), SMALLEST)
    cells = [{"from": names[i], "to": names[j], "weight": weight} for i, row in enumerate(weights) for j, weight in enumerate(row) if weight]
    grid: dict[str, Any] = {"grid": True, "tickBand": "extent", **GRID}
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


def lines(data: dict[str, Any]) -> Any:
    """The tokens twice: from the left they look to the right, the stronger the line, the more."""
    tokens, height = [display_token(token) for token in data["tokens"]], LINE * len(data["tokens"])
    side = max(map(text_width, tokens), default=0) + 12
    width = 2 * side + APART
    middle = [LINE * (number + 0.5) for number in range(len(tokens))]
    joined = [
        {"x": side, "y": middle[one["from"]], "x2": side + APART, "y2": middle[one["to"]], "weight": one["weight"],
         "from": tokens[one["from"]], "to": tokens[one["to"]]}
        for one in data["lines"]
    ]  # fmt: skip
    beside = [
        {"x": at, "y": middle[number], "token": token, "side": "chosen" if name == "left" and number in data["word"] else name}
        for name, at in (("left", side - 6), ("right", side + APART + 6))
        for number, token in enumerate(tokens)
    ]
    axes = pixels(width, height)
    rules = chart_of(joined).mark_rule(color=BLUE, aria=False).encode(
        **axes, x2="x2:Q", y2="y2:Q",
        opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None),
        strokeWidth=alt.StrokeWidth("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0.8, 5]), legend=None),
        tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", format=".3f")],
    )  # fmt: skip
    writing: dict[str, dict[str, Any]] = {
        "left": {"align": "right"}, "right": {"align": "left"}, "chosen": {"align": "right", "color": ORANGE, "fontWeight": "bold"},
    }  # fmt: skip
    words = [
        chart_of([one for one in beside if one["side"] == name]).mark_text(fontSize=FONT_SIZE, aria=False, **how).encode(**axes, text="token:N")
        for name, how in writing.items()
    ]
    return finish([rules, *words], f"layer {data['layer']}, head {data['head']}", height, width)


def heads(data: dict[str, Any]) -> Any:
    """All heads: a row for each layer, each head a small matrix."""
    layers = data["layers"]
    columns = max(map(len, layers), default=1)
    width, height, step = columns * (THUMBNAIL + BETWEEN), len(layers) * (THUMBNAIL + BETWEEN), THUMBNAIL + BETWEEN
    placed = [((head + 0.5) * step, (layer + 0.5) * step, layer, head) for layer, row in enumerate(layers) for head in range(len(row))]
    images = [
        {"x": x, "y": y, "layer": layer, "head": head, "image": image(layers[layer][head], BLUE, scaled=True)} for x, y, layer, head in placed
    ]  # fmt: skip
    half = THUMBNAIL / 2
    frames = [{"x": x - half, "y": y - half, "x2": x + half, "y2": y + half} for x, y, _, _ in placed]
    axes = pixels(width, height)
    side = [{"x": -8, "y": (layer + 0.5) * step, "name": f"layer {layer}"} for layer in range(len(layers))]
    above = [{"x": (head + 0.5) * step, "y": -8, "name": f"head {head}"} for head in range(columns)]
    drawn = chart_of(images).mark_image(width=THUMBNAIL, height=THUMBNAIL, smooth=False, aria=False)
    boxes = chart_of(frames).mark_rect(filled=False, stroke="gray", strokeOpacity=0.5, aria=False)
    return finish(
        [
            drawn.encode(**axes, url="image:N", tooltip=["layer:Q", "head:Q"]),
            boxes.encode(**axes, x2="x2:Q", y2="y2:Q"),
            chart_of(side).mark_text(align="right", fontSize=FONT_SIZE, clip=False).encode(**axes, text="name:N"),
            chart_of(above).mark_text(fontSize=FONT_SIZE, clip=False).encode(**axes, text="name:N"),
        ],
        height=height,
        width=width,
    )


def positions(data: dict[str, Any]) -> Any:
    """A row for each place: blue below zero, orange above."""
    rows = data["table"]
    sizes = sorted(abs(number) for row in rows for number in row)
    most = sizes[int((1 - PALE) * (len(sizes) - 1))] or 1.0
    wide, high = min(max(len(rows[0]) * STRIPE, NARROWEST), SIDE), len(rows) * STRIPE
    below, above = (image([[max(sign * number, 0) / most for number in row] for row in rows], colour) for sign, colour in ((-1, BLUE), (1, ORANGE)))
    drawn = chart_of([{"x": wide / 2, "y": high / 2, "image": one} for one in (below, above)])
    drawn = drawn.mark_image(width=wide, height=high, smooth=False, aspect=False, aria=False).encode(**pixels(wide, high), url="image:N")
    scale = alt.Scale(domain=[0, len(rows)], nice=False, reverse=True)
    ruler = chart_of([{"place": 0}]).mark_rule(opacity=0).encode(y=alt.Y("place:Q", scale=scale, title="position", axis=alt.Axis(grid=False)))
    numbers = alt.X("number:Q", scale=alt.Scale(domain=[0, len(rows[0])], nice=False), title="number of its vector", axis=alt.Axis(grid=False))
    under = chart_of([{"number": 0}]).mark_rule(opacity=0).encode(x=numbers)
    title = f"{data['kind']} positions: the first {len(rows)} of {data['positions']}, {len(rows[0])} of {data['width']} numbers"
    return finish([ruler + under, drawn], title, high, wide).resolve_scale(x="independent", y="independent")


def image(weights: Matrix, colour: str, scaled: bool = False) -> str:
    """Numbers from 0 to 1 as a PNG, the stronger the more opaque, a pixel each; a `scaled` one has its largest as 1."""
    most = (max((weight for row in weights for weight in row), default=1.0) or 1.0) if scaled else 1.0
    red_green_blue, levels = bytes.fromhex(colour[1:]), 255 // LEVEL
    opacities = [[LEVEL * min(round(levels * weight / most), levels) for weight in row] for row in weights]
    rows = b"".join(b"\0" + b"".join(red_green_blue + bytes([opacity]) for opacity in row) for row in opacities)
    header = struct.pack(">IIBBBBB", len(weights[0]), len(weights), 8, 6, 0, 0, 0)  # eight bits each of red, green, blue and opacity
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    written = b"".join(struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content)) for kind, content in parts)
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + written).decode()
