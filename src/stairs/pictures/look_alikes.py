"""Words that look alike: their cosines, and the share of probability that the wrong one gets, from characters alone and with the correction."""

from typing import Literal

import altair as alt

from stairs.inspection.look_alikes import LookAlike, LookAlikesData
from stairs.pictures.charts import BLUE, FONT, FONT_SIZE, GREY, GRID, ORANGE, Chart, chart_of, chart_title, display_token, side_by_side, stack

ROW, PANEL = 24, 300
MARGIN = 0.04  # of the axis, so that no point covers a name
ALONE, CORRECTED = "from characters alone", "with the correction"
Quantity = Literal["cosine", "share"]


def look_alikes(data: LookAlikesData) -> Chart:
    """A line for each pair, from the characters alone (orange) to the corrected vectors (blue). Left: the farther left, the better the two words are
    told apart. Right: beyond the middle, the model takes the word for its look-alike."""
    pairs = data["pairs"]
    mistaken = sum(pair["share_from_characters"] > 0.5 for pair in pairs), sum(pair["share"] > 0.5 for pair in pairs)
    wrong = f"mistaken: {mistaken[0]} of {len(pairs)} {ALONE}"
    if data["correction_width"]:
        wrong += f", {mistaken[1]} {CORRECTED}"
    panels = [
        dumbbells(pairs, "cosine", "cosine of the two output vectors", (data["mean_cosine_from_characters"], data["mean_cosine"]), has_names=True),
        dumbbells(pairs, "share", wrong, (0.5, 0.5), has_names=False),
    ]
    return stack([side_by_side(panels)])


def dumbbells(pairs: list[LookAlike], quantity: Quantity, title: str, rules: tuple[float, float], has_names: bool) -> Chart:
    """Dashed lines: the mean of words that do not look alike, or where both words are equally probable."""
    names = [f"{display_token(pair['word'])} / {display_token(pair['look_alike'])}" for pair in pairs]
    alone = [pair["cosine_from_characters"] if quantity == "cosine" else pair["share_from_characters"] for pair in pairs]
    corrected = [pair[quantity] for pair in pairs]
    lines = [{"pair": name, "from": start, "to": end} for name, start, end in zip(names, alone, corrected, strict=True)]
    points = [
        {"pair": name, "value": value, "vectors": kind}
        for kind, values in ((ALONE, alone), (CORRECTED, corrected))
        for name, value in zip(names, values, strict=True)
    ]
    low = min(0.0, *alone, *corrected, *rules) - MARGIN
    scale = alt.Scale(domain=[low, 1.0 + MARGIN], nice=False)
    axis = alt.Axis(labelFont=FONT, labelFontSize=FONT_SIZE, labelLimit=300, labels=has_names, domain=False, ticks=False)
    y = alt.Y("pair:N", sort=None, title=None, axis=axis)
    colours = alt.Scale(domain=[ALONE, CORRECTED], range=[ORANGE, BLUE])
    marks = [
        chart_of([{"value": value, "vectors": kind} for value, kind in zip(rules, (ALONE, CORRECTED), strict=True)])
        .mark_rule(strokeDash=[4, 3], aria=False)
        .encode(x=alt.X("value:Q", scale=scale), color=alt.Color("vectors:N", scale=colours) if quantity == "cosine" else alt.value(GREY)),
        chart_of(lines).mark_rule(stroke=GREY, aria=False).encode(x=alt.X("from:Q", scale=scale), x2="to:Q", y=y),
        chart_of(points)
        .mark_circle(size=80, opacity=0.9, aria=False)
        .encode(
            x=alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(**GRID)),
            y=y,
            color=alt.Color("vectors:N", scale=colours, title=None, legend=alt.Legend(orient="bottom")),
            tooltip=["pair:N", "vectors:N", alt.Tooltip("value:Q", title=quantity, format=".3f")],
        ),
    ]
    return alt.layer(*marks).properties(width=PANEL, height=ROW * len(names), title=chart_title(title))
