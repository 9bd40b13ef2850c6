"""The attention mask of a run, and the patterns of sparse attention beside each other."""

import altair as alt

from stairs.inspection.masks import MaskData, PatternMask, PatternsData
from stairs.pictures.attention import matrix, matrix_size, png_image, weight_cells
from stairs.pictures.charts import BLUE, GREY, GRID, ORANGE, Chart, GridOptions, chart_of, panel, side_by_side, stack, token_axis, unique_names

COLOURS = {"all": BLUE, "window": BLUE, "global": ORANGE, "random": GREY}
CELL, PANEL_SIDE = 16, 330  # pixels of a cell, and of a matrix beyond which its cells become smaller


def mask(data: MaskData) -> Chart:
    """A row for each token, and in it the tokens it may attend to; side by side if there are several masks."""
    if not data["parts"]:
        return matrix(data["tokens"], data["mask"], "rows may attend to columns", "may attend")
    parts = [
        panel([weight_cells(part["rows"], data["tokens"], part["mask"], "may attend")], part["name"], *matrix_size(part["rows"], data["tokens"]))
        for part in data["parts"]
    ]
    return stack([side_by_side(parts)])


def patterns(data: PatternsData) -> Chart:
    """Blue is the window, or all; orange global, grey random."""
    return stack([side_by_side([pattern_matrix(one, data["tokens"]) for one in data["patterns"]])])


def pattern_matrix(one: PatternMask, tokens: list[str]) -> Chart:
    """An image for each kind of cell: there may be thousands of them."""
    rows, columns = unique_names(tokens), unique_names(one["columns"])
    cell = min(CELL, PANEL_SIDE / len(rows))
    height, width = cell * len(rows), cell * len(columns)
    kinds = [kind for kind in COLOURS if any(kind in line for line in one["kinds"])]
    images = [{"image": png_image([[float(each == kind) for each in line] for line in one["kinds"]], COLOURS[kind])} for kind in kinds]
    cells = chart_of(images).mark_image(width=width, height=height, aspect=False, smooth=False, aria=False)
    grid: GridOptions = {"grid": True, "tickBand": "extent", **GRID}
    across = token_axis(cell, orient="top", labelAngle=-60, **grid)
    down = chart_of([{"from": name} for name in rows]).mark_rect(opacity=0, aria=False)
    side = chart_of([{"to": name} for name in columns]).mark_rect(opacity=0, aria=False)
    return panel(
        [
            down.encode(y=alt.Y("from:N", sort=rows, title=None, scale=alt.Scale(domain=rows), axis=token_axis(cell, **grid))),
            side.encode(x=alt.X("to:N", sort=columns, title=None, scale=alt.Scale(domain=columns), axis=across)),
            cells.encode(x=alt.value(width / 2), y=alt.value(height / 2), url="image:N"),
        ],
        f"{one['name']}: {one['scores']} scores", height, width,
    )  # fmt: skip
