"""From layer to layer: what becomes of each token, in which shares a task takes the layers, and where the senses of a word part."""

from typing import Any

import altair as alt

from stairs.pictures.style import BLUE, FONT, FONT_SIZE, GRID, ORANGE, chart_of, chart_title, finish, token_axis, unique_names

COLUMN, ROW = 26, 26
NARROW, MOST = 10, 900  # pixels of a column, and of all, beyond which columns become narrower
BAR = 22


def layers(data: dict[str, Any]) -> Any:
    """The more orange, the farther a token's vector has turned away from the one it had in the lowest layer."""
    names = unique_names(data["tokens"])
    cells = [
        {"token": names[place], "layer": layer, "turned": round(1 - cosine, 4), "cosine": cosine, "length": data["lengths"][layer][place]}
        for layer, row in enumerate(data["cosines"])
        for place, cosine in enumerate(row)
    ]
    column = max(min(COLUMN, MOST // max(len(names), 1)), NARROW)
    most = max((cell["turned"] for cell in cells), default=0.0) or 1.0
    depth = list(range(len(data["cosines"])))
    chart = (
        chart_of(cells)
        .mark_rect(color=ORANGE, aria=False)
        .encode(
            x=alt.X("token:N", sort=names, title=None, axis=token_axis(column, orient="bottom", labelAngle=-60)),
            y=alt.Y("layer:O", sort=depth[::-1], title="layer", axis=alt.Axis(domain=False, ticks=False)),
            opacity=alt.Opacity("turned:Q", title="1 − cosine", scale=alt.Scale(domain=[0, most], range=[0.03, 0.95])),
            tooltip=["token:N", "layer:O", alt.Tooltip("cosine:Q", format=".3f"), alt.Tooltip("length:Q", format=".2f")],
        )
    )
    return finish([chart], "how far each token has turned from its vector in layer 0", ROW * len(depth), column * len(names))


def mix(data: dict[str, Any]) -> Any:
    """A bar for each layer; gamma scales them all."""
    charts = []
    for number, one in enumerate(data["mixes"], 1):
        base = chart_of(one["shares"]).encode(
            x=alt.X("share:Q", axis=None, scale=alt.Scale(domain=[0, 1.1])),
            y=alt.Y("layer:O", sort="descending", title="layer", axis=alt.Axis(domain=False, ticks=False, labelFontSize=FONT_SIZE)),
            tooltip=["layer:O", alt.Tooltip("share:Q", format=".4f")],
        )
        bars = base.mark_bar(color=BLUE, fillOpacity=0.7, height=BAR - 6)
        numbers = base.mark_text(align="left", dx=4, fontSize=FONT_SIZE).encode(text=alt.Text("share:Q", format=".0%"))
        which = f" (mix {number})" if len(data["mixes"]) > 1 else ""
        title = f"share of each layer{'' if one['is_trained'] else ', not learnt'}, gamma {one['gamma']:.2f}{which}"
        charts.append((bars + numbers).properties(width=320, height=BAR * len(one["shares"]), title=chart_title(title)))
    return alt.vconcat(*charts).configure(font=FONT).configure_view(stroke=None)


def senses(data: dict[str, Any]) -> Any:
    """Mean cosines between occurrences of a word: of one sense, and of two. Where the lines part, the layer tells the senses apart."""
    kinds = ["same sense", "different senses"]
    points = [
        {"layer": "the only one" if row["layer"] is None else str(row["layer"]), "cosine": row[name], "kind": kind}
        for row in data["layers"]
        for name, kind in zip(("same", "different"), kinds, strict=True)
    ]
    order = [*dict.fromkeys(point["layer"] for point in points)]
    chart = (
        chart_of(points)
        .mark_line(point=alt.OverlayMarkDef(size=70, filled=True, opacity=1), strokeWidth=2)
        .encode(
            x=alt.X("layer:O", sort=order, title="layer", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("cosine:Q", title="mean cosine of two occurrences", scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(**GRID)),
            color=alt.Color("kind:N", sort=kinds, scale=alt.Scale(domain=kinds, range=[BLUE, ORANGE]), title=None),
            tooltip=["layer:O", "kind:N", alt.Tooltip("cosine:Q", format=".3f")],
        )
    )
    counted = ", ".join(f"{sense} {count}" for sense, count in data["senses"].items())
    return finish([chart], f"{data['word']}: {counted}", 260, max(60 * len(order), 220))
