"""Target and output distributions as bars: the target, the untrained model and the trained one beside each other."""

import altair as alt

from stairs.inspection.distribution import DistributionData, OutputPosition
from stairs.pictures.charts import (
    BAR,
    BLUE,
    FONT_SIZE,
    GREY,
    ORANGE,
    Chart,
    chart_of,
    chart_title,
    display_token,
    percent,
    stack,
    token_axis,
    unique_names,
)  # fmt: skip

PANEL = 150  # pixels


def distribution(data: DistributionData) -> Chart:
    """A row of panels for each position of the output."""
    target = "the run's own translation" if data["has_own_target"] else "target"
    return stack([alt.hconcat(*panels(position, target), spacing=14) for position in data["positions"]])


def panels(position: OutputPosition, target: str) -> list[Chart]:
    names = unique_names([display_token(token["token"]) for token in position["tokens"]])
    read = f" after {display_token(position['read'])}" if position["read"] else ""
    titles = {
        "target": (f"{target}{read}", GREY),
        "before": (f"before training, {position['bits_before']:.2f} bits", BLUE),
        "after": (f"after training, {position['bits_after']:.2f} bits", ORANGE),
    }
    tokens = position["tokens"]
    values = {
        "target": [token["target"] for token in tokens],
        "before": [token["before"] for token in tokens],
        "after": [token["after"] for token in tokens],
    }
    charts: list[Chart] = []
    for key, (title, colour) in titles.items():
        rows = [{"name": name, "value": value, "text": percent(value) if value else "0"} for name, value in zip(names, values[key], strict=True)]
        axis = token_axis() if key == "target" else None
        base = chart_of(rows).encode(
            x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, 1.3])),
            y=alt.Y("name:N", sort=names, title=None, axis=axis),
            tooltip=["name:N", alt.Tooltip("value:Q", title="probability", format=".4f")],
        )
        numbers = base.mark_text(align="left", dx=4, fontSize=FONT_SIZE).encode(text="text:N")
        bars = base.mark_bar(color=colour, fillOpacity=0.7, height=BAR - 6) + numbers
        charts.append(bars.properties(width=PANEL, height=BAR * len(rows), title=chart_title(title)))
    return charts
