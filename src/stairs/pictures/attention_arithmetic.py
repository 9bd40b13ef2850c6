"""The arithmetic of one head: four matrices (scores, masked scores, weights, result), and below them each step for one word, with its numbers."""

from collections.abc import Sequence

import altair as alt

from stairs.inspection.attention import Rows
from stairs.inspection.attention_arithmetic import ArithmeticData
from stairs.pictures.attention import signed_images
from stairs.pictures.charts import (
    BLUE,
    FONT_SIZE,
    GRID,
    MAX_OPACITY,
    NOTE_FONT_SIZE,
    ORANGE,
    Chart,
    GridOptions,
    chart_of,
    colour_limit,
    display_token,
    panel,
    pixels,
    side_by_side,
    stack,
    text_width,
    token_axis,
    unique_names,
)  # fmt: skip

MAX_WITH_NUMBERS = 12  # tokens of a text whose numbers are written in the cells
CELL, CELL_HEIGHT, SMALL_CELL = 33, 24, 13  # pixels
ROW, STRIP, NUMBER = 24, 110, 58  # of the steps: a row, a vector, and a column of numbers
STRIP_PIXELS = 10  # of an image, from top to bottom of a vector
GAP = 12
HIDDEN = "−∞"
Cell = dict[str, str | float]


def arithmetic(data: ArithmeticData) -> Chart:
    """Positive numbers are orange, negative ones blue; weights are blue."""
    names = unique_names(data["tokens"])
    root = f"√{data['width']}" if data["divisor"] != 1 else ""
    scaled = f"q k / {root}" if root else "q k"
    plus = " + position" if data["steps"]["added"] is not None else ""
    matrices = [
        number_matrix(names, data["scores"], f"scores: {scaled}{plus}"),
        number_matrix(names, data["masked"], "after the mask"),
        number_matrix(names, data["weights"], "after the softmax: each row sums to 1", is_weight=True),
        result_matrix(names, data),
    ]
    return stack([side_by_side(matrices), steps(data, root)])


def number_matrix(names: list[str], numbers: Sequence[Sequence[float | None]], title: str, *, is_weight: bool = False) -> Chart:
    """A row for each query, a column for each key; with the numbers if there are few."""
    writes_numbers = len(names) <= MAX_WITH_NUMBERS
    width, height = (CELL, CELL_HEIGHT) if writes_numbers else (SMALL_CELL, SMALL_CELL)
    limit = 1.0 if is_weight else colour_limit([[number for number in row if number is not None] for row in numbers])
    cells: list[Cell] = [
        {"from": names[i], "to": names[j], "number": HIDDEN if number is None else display_number(number),
         "colour": BLUE if is_weight or (number or 0) < 0 else ORANGE, "opacity": cell_opacity(number, limit)}
        for i, row in enumerate(numbers)
        for j, number in enumerate(row)
    ]  # fmt: skip
    grid: GridOptions = {"grid": True, "tickBand": "extent", **GRID}
    base = chart_of(cells).encode(
        x=alt.X("to:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=token_axis(height, orient="top", labelAngle=-60, **grid)),
        y=alt.Y("from:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=token_axis(height, **grid)),
        tooltip=["from:N", "to:N", "number:N"],
    )
    layers = [base.mark_rect(aria=False).encode(color=alt.Color("colour:N", scale=None), opacity=alt.Opacity("opacity:Q", scale=None))]
    if writes_numbers:
        layers.append(base.mark_text(fontSize=NOTE_FONT_SIZE + 1, aria=False).encode(text="number:N"))
    return panel(layers, title, height * len(names), width * len(names))


def result_matrix(names: list[str], data: ArithmeticData) -> Chart:
    """The weighted mean of the values: a row of colours for each query."""
    height = CELL_HEIGHT if len(names) <= MAX_WITH_NUMBERS else SMALL_CELL
    width, total = 2 * STRIP, height * len(names)
    images = chart_of([{"image": image} for image in strips(data["result"], colour_limit(data["result"]), gap=1)])
    drawn = images.mark_image(width=width, height=total, aspect=False, smooth=False, aria=False)
    drawn = drawn.encode(x=alt.value(width / 2), y=alt.value(total / 2), url="image:N")
    words = chart_of([{"from": name} for name in names]).mark_rect(opacity=0, aria=False)
    words = words.encode(y=alt.Y("from:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=token_axis(height)))
    return panel([words, drawn], f"result: weights × v, {data['width']} numbers for each", total, width)


def steps(data: ArithmeticData, root: str) -> Chart:
    """The query of one word against the key of each: a row for each word, the steps from left to right."""
    word, names = data["steps"], [display_token(token) for token in data["tokens"]]
    limit = colour_limit([word["query"], *word["keys"]])
    value_limit = colour_limit(word["values"])
    columns: list[tuple[str, list[str]]] = [("2 q k", [display_number(number) for number in word["products"]])]
    if root:
        columns.append((f"3 / {root} = {data['divisor']:.3g}", [display_number(number) for number in word["scaled"]]))
    if word["added"] is not None:
        columns.append(("+ position", [display_number(number) for number in word["added"]]))
    columns.append(("mask", [HIDDEN if number is None else display_number(number) for number in word["masked"]]))
    columns.append(("4 softmax", [display_number(number) for number in word["weights"]]))
    left = max(map(text_width, [*names, "q of " + names[word["position"]]])) + GAP
    height = ROW * (len(names) + 3)
    lines = [ROW * (number + 2.5) for number in range(len(names))]  # below the headings and the query
    headings: list[Cell] = []
    texts: list[Cell] = [{"x": left - GAP / 2, "y": y, "text": name} for y, name in zip(lines, names, strict=True)]
    cells: list[Cell] = []
    images: list[Cell] = []
    nothing = [0.0] * data["width"]

    def add_strips(x: float, title: str, rows: Rows, limit: float) -> None:
        """Below the heading, one for the query, one for each word and one for the sum."""
        headings.append({"x": x + STRIP / 2, "y": ROW / 2, "text": title})
        images.extend({"x": x + STRIP / 2, "y": ROW * (1 + len(rows) / 2), "image": image} for image in strips(rows, limit, gap=3))

    add_strips(left, "1 q and k", [word["query"], *word["keys"], nothing], limit)
    x = left + STRIP
    for title, column in columns:
        width = max(NUMBER, text_width(title) + GAP)
        middle, x = x + width / 2, x + width
        headings.append({"x": middle, "y": ROW / 2, "text": title})
        cells += [{"x": middle, "y": y, "text": text} for y, text in zip(lines, column, strict=True)]
    weight_boxes = [
        {"x": middle - NUMBER / 2, "x2": middle + NUMBER / 2, "y": y - ROW / 2 + 2, "y2": y + ROW / 2 - 2, "opacity": cell_opacity(weight, 1.0)}
        for y, weight in zip(lines, word["weights"], strict=True)
    ]
    add_strips(x + GAP, "v", [nothing, *word["values"], nothing], value_limit)
    add_strips(x + STRIP + 2 * GAP, "5 softmax × v", [nothing, *word["weighted"], word["result"]], value_limit)
    texts.append({"x": left - GAP / 2, "y": 1.5 * ROW, "text": f"q of {names[word['position']]}"})
    texts.append({"x": x + STRIP + 1.5 * GAP, "y": lines[-1] + ROW, "text": "6 the sum"})
    width = x + 2 * STRIP + 3 * GAP
    axes = pixels(width, height)
    layers = [
        chart_of(weight_boxes).mark_rect(color=BLUE, aria=False).encode(
            **axes, x2="x2:Q", y2="y2:Q", opacity=alt.Opacity("opacity:Q", scale=None)
        ),
        chart_of(images).mark_image(width=STRIP, height=height - ROW, aspect=False, smooth=False, aria=False).encode(**axes, url="image:N"),
        chart_of(texts).mark_text(align="right", fontSize=FONT_SIZE, aria=False).encode(**axes, text="text:N"),
        chart_of([*headings, *cells]).mark_text(fontSize=FONT_SIZE, aria=False).encode(**axes, text="text:N"),
    ]  # fmt: skip
    title = f"layer {data['layer']}, head {data['head']}: what {names[word['position']]} takes from each word"
    return panel(layers, title, height, width)


def strips(rows: Rows, limit: float, gap: int) -> list[str]:
    """Images with a strip of colours for each row, and so many pixels of nothing above and below it."""
    nothing = [0.0] * len(rows[0])
    spaced = [line for row in rows for line in (*[nothing] * gap, *[row] * STRIP_PIXELS, *[nothing] * gap)]
    return signed_images(spaced, limit)


def display_number(number: float) -> str:
    """Two decimals, fewer for large numbers, with a minus sign as wide as a digit."""
    digits = 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
    return f"{round(number, digits) + 0.0:.{digits}f}".replace("-", "−")  # plus zero, which has no minus sign


def cell_opacity(number: float | None, limit: float) -> float:
    """Up to what leaves a number on it readable."""
    return 0.0 if number is None else round(MAX_OPACITY * min(abs(number) / limit, 1.0), 3)
