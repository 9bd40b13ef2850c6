"""From layer to layer: how the vector of each token turns, with which weights a task mixes the layers, and where the senses of a word separate."""

import altair as alt

from stairs.inspection.layers import LayersData, MixData, SensesData
from stairs.pictures.charts import BLUE, FONT_SIZE, GRID, ORANGE, Chart, chart_of, chart_title, finish, stack, token_axis, unique_names

COLUMN, ROW = 26, 26
MIN_COLUMN, MAX_WIDTH = 10, 900  # pixels of a column, and of the picture beyond which columns become narrower
BAR = 22


def layers(data: LayersData) -> Chart:
    """The more orange, the farther the vector of a token has turned away from its vector in the lowest layer."""
    names = unique_names(data["tokens"])
    cells = [
        {"token": names[position], "layer": layer, "turn": round(1 - cosine, 4), "cosine": cosine, "length": data["lengths"][layer][position]}
        for layer, row in enumerate(data["cosines"])
        for position, cosine in enumerate(row)
    ]
    column = max(min(COLUMN, MAX_WIDTH // max(len(names), 1)), MIN_COLUMN)
    largest = max((1 - cosine for row in data["cosines"] for cosine in row), default=0.0) or 1.0
    numbers = list(range(len(data["cosines"])))
    chart = (
        chart_of(cells)
        .mark_rect(color=ORANGE, aria=False)
        .encode(
            x=alt.X("token:N", sort=names, title=None, axis=token_axis(column, orient="bottom", labelAngle=-60)),
            y=alt.Y("layer:O", sort=numbers[::-1], title="layer", axis=alt.Axis(domain=False, ticks=False)),
            opacity=alt.Opacity("turn:Q", title="1 − cosine", scale=alt.Scale(domain=[0, largest], range=[0.03, 0.95])),
            tooltip=["token:N", "layer:O", alt.Tooltip("cosine:Q", format=".3f"), alt.Tooltip("length:Q", format=".2f")],
        )
    )
    return finish([chart], "1 − cosine with the vector in layer 0", ROW * len(numbers), column * len(names))


def mix(data: MixData) -> Chart:
    """A bar for the weight of each layer; gamma scales them all."""
    charts = []
    for number, weights in enumerate(data["mixes"], 1):
        base = chart_of(weights["shares"]).encode(
            x=alt.X("share:Q", axis=None, scale=alt.Scale(domain=[0, 1.1])),
            y=alt.Y("layer:O", sort="descending", title="layer", axis=alt.Axis(domain=False, ticks=False, labelFontSize=FONT_SIZE)),
            tooltip=["layer:O", alt.Tooltip("share:Q", format=".4f")],
        )
        bars = base.mark_bar(color=BLUE, fillOpacity=0.7, height=BAR - 6)
        numbers = base.mark_text(align="left", dx=4, fontSize=FONT_SIZE).encode(text=alt.Text("share:Q", format=".0%"))
        which = f" (mix {number})" if len(data["mixes"]) > 1 else ""
        title = f"weight of each layer{'' if weights['is_trained'] else ', not trained'}; gamma {weights['gamma']:.2f}{which}"
        charts.append((bars + numbers).properties(width=320, height=BAR * len(weights["shares"]), title=chart_title(title)))
    return stack(charts)


def senses(data: SensesData) -> Chart:
    """Mean cosines between occurrences of a word, within a sense and between senses. Where the lines separate, the layer tells the senses apart."""
    kinds = ["same sense", "different senses"]
    points = [
        {"layer": "the only one" if row["layer"] is None else str(row["layer"]), "cosine": cosine, "kind": kind}
        for row in data["layers"]
        for cosine, kind in zip((row["same"], row["different"]), kinds, strict=True)
    ]
    order = [*dict.fromkeys(str(point["layer"]) for point in points)]
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
    counts = ", ".join(f"{sense} {count}" for sense, count in data["senses"].items())
    return finish([chart], f"{data['word']}: {counts}", 260, max(60 * len(order), 220))
