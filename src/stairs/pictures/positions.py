"""The position encoding as a table of colours, and chosen dimensions of it as curves."""

import altair as alt

from stairs.inspection.positions import PositionsData, WavesData
from stairs.pictures.attention import MATRIX_SIDE, signed_images
from stairs.pictures.charts import GRID, WIDTH, Chart, chart_of, colour_limit, finish, pixels

POSITION_HEIGHT, MIN_WIDTH = 6, 320  # of a row of the table, and of the whole picture
CURVES_HEIGHT = 240


def positions(data: PositionsData) -> Chart:
    """A row for each position: negative numbers are blue, positive ones orange."""
    rows = data["table"]
    width, height = min(max(len(rows[0]) * POSITION_HEIGHT, MIN_WIDTH), MATRIX_SIDE), len(rows) * POSITION_HEIGHT
    images = chart_of([{"x": width / 2, "y": height / 2, "image": image} for image in signed_images(rows, colour_limit(rows))])
    images = images.mark_image(width=width, height=height, smooth=False, aspect=False, aria=False).encode(**pixels(width, height), url="image:N")
    down = alt.Scale(domain=[data["first"], data["first"] + len(rows)], nice=False, reverse=True)
    left_axis = chart_of([{"position": data["first"]}]).mark_rule(opacity=0)
    left_title = "distance of the key from the query" if data["first"] else "position"
    left_axis = left_axis.encode(y=alt.Y("position:Q", scale=down, title=left_title, axis=alt.Axis(grid=False)))
    column = column_name(data["kind"])
    across = alt.X("dimension:Q", scale=alt.Scale(domain=[0, len(rows[0])], nice=False), title=column, axis=alt.Axis(grid=False))
    bottom_axis = chart_of([{"dimension": 0}]).mark_rule(opacity=0).encode(x=across)
    which = "" if data["first"] else "the first "
    title = f"{kind_name(data['kind'])} positions: {which}{len(rows)} of {data['positions']}, {len(rows[0])} of {data['width']} {column}s"
    return finish([left_axis + bottom_axis, images], title, height, width).resolve_scale(x="independent", y="independent")


def waves(data: WavesData) -> Chart:
    """A curve for each dimension."""
    names = [f"{column_name(data['kind'])} {number}" for number in data["dimensions"]]
    points = [
        {"at": data["first"] + number, "value": value, "dimension": name}
        for name, curve in zip(names, data["curves"], strict=True)
        for number, value in enumerate(curve)
    ]
    last = data["first"] + len(data["curves"][0]) - 1
    lines = (
        chart_of(points)
        .mark_line(strokeWidth=2, aria=False)
        .encode(
            x=alt.X("at:Q", title=data["axis"], scale=alt.Scale(domain=[data["first"], last], nice=False), axis=alt.Axis(**GRID)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(**GRID)),
            color=alt.Color("dimension:N", sort=names, scale=alt.Scale(domain=names, scheme="category10"), title=None),
            tooltip=[alt.Tooltip("at:Q", title=data["axis"]), "dimension:N", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    chosen = f"{len(names)} of {data['width']} {column_name(data['kind'])}s"
    title = f"{kind_name(data['kind'])} positions: {chosen}, {data['axis']}s {data['first']} to {last}"
    return finish([lines], title, CURVES_HEIGHT, WIDTH)


def column_name(kind: str) -> str:
    """Buckets have a number for each head."""
    return "head" if kind == "buckets" else "dimension"


def kind_name(kind: str) -> str:
    return "bucketed" if kind == "buckets" else kind
