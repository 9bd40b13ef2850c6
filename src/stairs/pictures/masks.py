"""The attention mask of a run, and the patterns of sparse attention beside each other."""

import altair as alt

from stairs.inspection.masks import MaskData, PatternMask, PatternsData
from stairs.pictures.attention import matrix, matrix_size, weight_cells
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
    rows, columns = unique_names(tokens), unique_names(one["columns"])
    cell = min(CELL, PANEL_SIDE / len(rows))
    cells = [
        {"from": rows[i], "to": columns[j], "kind": kind, "colour": COLOURS[kind]}
        for i, line in enumerate(one["kinds"])
        for j, kind in enumerate(line)
        if kind
    ]
    grid: GridOptions = {"grid": True, "tickBand": "extent", **GRID}
    across = token_axis(cell, orient="top", labelAngle=-60, **grid)
    chart = (
        chart_of(cells)
        .mark_rect(aria=False)
        .encode(
            x=alt.X("to:N", sort=columns, title=None, scale=alt.Scale(domain=columns), axis=across),
            y=alt.Y("from:N", sort=rows, title=None, scale=alt.Scale(domain=rows), axis=token_axis(cell, **grid)),
            color=alt.Color("colour:N", scale=None),
            tooltip=["from:N", "to:N", "kind:N"],
        )
    )
    return panel([chart], f"{one['name']}: {one['scores']} scores", cell * len(rows), cell * len(columns))
