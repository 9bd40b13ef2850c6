"""Labels: which words support one, which labelled examples are nearest, and which labels are confused."""

from functools import partial

import altair as alt

from stairs.inspection.labels import ConfusionData, NearestData, ReasonsData
from stairs.pictures.charts import (
    BLUE,
    FONT_SIZE,
    ORANGE,
    WHITESPACE_SIGNS,
    Chart,
    RibbonBox,
    chart_of,
    display_token,
    finish,
    percent,
    pixels,
    ribbon,
    text_width,
    wrap,
)  # fmt: skip

MIN_DROP = 0.02  # if no word changes the probability that much, the log-odds are drawn instead
CELL, MIN_CELL, MATRIX_SIDE = 62, 22, 680  # pixels of the confusion matrix
LABEL, BAR, NUMBER, TEXT = 100, 90, 40, 500  # widths of the columns of `nearest`, that of the labels at most
LINE, GAP = 17, 9  # heights of a line of text, and between two texts
MAX_LINES = 3  # of a text
MAX_TOOLTIP = 400  # characters


def reasons(data: ReasonsData) -> Chart:
    """Orange words support the label, blue ones contradict it; below, how much its probability drops without them."""
    is_certain = max((abs(word["probability_drop"]) for word in data["words"]), default=0.0) < MIN_DROP
    drops = [word["log_odds_drop"] if is_certain else 100 * word["probability_drop"] for word in data["words"]]
    largest = max([*map(abs, drops), 1.0])
    boxes: list[RibbonBox] = [
        {
            "name": display_token(word["word"]),
            "colour": ORANGE if drop > 0 else BLUE,
            "strength": abs(drop) / largest,
            "note": (f"{drop:+.1f}" if is_certain else f"{drop:+.0f}").replace("-", "−") if abs(drop) >= (0.05 if is_certain else 0.5) else "",
            "tooltip": f"without it the probability drops by {word['probability_drop']:.4f}, the log-odds by {word['log_odds_drop']:.2f}",
        }
        for word, drop in zip(data["words"], drops, strict=True)
    ]
    unit = "drop in log-odds without each word, since no word alone changes the probability" if is_certain else "drop in points without each word"
    return ribbon((f"{data['label']}, probability {percent(data['probability'])}; {unit}", boxes))


def nearest(data: NearestData) -> Chart:
    """The nearest texts with label, cosine and text. Blue has the predicted label, orange another."""
    names = [wrap(example["label"].translate(WHITESPACE_SIGNS), LABEL, 1)[0] for example in data["near"]]
    left = max(map(text_width, names), default=0.0) + 10
    bars, texts, top = [], [], float(GAP + LINE)
    for example, name in zip(data["near"], names, strict=True):
        lines, right = wrap(example["text"].translate(WHITESPACE_SIGNS), TEXT, MAX_LINES), left + BAR * max(example["cosine"], 0.0)
        middle = top + (LINE - 3) / 2
        bars.append({
            **example, "text": example["text"][:MAX_TOOLTIP], "name": name, "colour": BLUE if example["label"] == data["label"] else ORANGE,
            "x": left, "x2": right, "y": top, "y2": top + LINE - 3, "middle": middle, "left": left - 6, "right": right + 4,
        })  # fmt: skip
        texts += [{"text": line, "x": left + BAR + NUMBER, "y": middle + LINE * number} for number, line in enumerate(lines)]
        top += LINE * len(lines) + GAP
    width = left + BAR + NUMBER + TEXT
    agreeing = sum(example["label"] == data["label"] for example in data["near"])
    prediction = f"predicted {display_token(data['label'])}, probability {percent(data['probability'])}"
    heading = f"{prediction}; {agreeing} of the {len(bars)} nearest texts agree"
    base, axes = chart_of(bars), pixels(width, top)
    tooltip = ["text:N", "label:N", alt.Tooltip("cosine:Q", format=".3f"), "where:N"]
    parts = [
        base.mark_rect(fillOpacity=0.7).encode(**axes, x2="x2:Q", y2="y2:Q", color=alt.Color("colour:N", scale=None), tooltip=tooltip),
        base.mark_text(align="right", fontSize=FONT_SIZE, aria=False).encode(**pixels(width, top, "left", "middle"), text="name:N"),
        base.mark_text(align="left", fontSize=FONT_SIZE - 1, aria=False).encode(
            **pixels(width, top, "right", "middle"), text=alt.Text("cosine:Q", format=".2f")
        ),
    ]
    written = chart_of(texts).mark_text(align="left", fontSize=FONT_SIZE).encode(**axes, text="text:N")
    title = chart_of([{"x": 0, "y": LINE / 2, "text": heading}]).mark_text(align="left", fontSize=FONT_SIZE, opacity=0.75)
    return finish([alt.layer(*parts), written, title.encode(**axes, text="text:N")], height=top, width=width)


def confusion(data: ConfusionData) -> Chart:
    """A row for each gold label, a column for each predicted one; the darker, the larger its share of the row."""
    labels = data["labels"]
    cells = [
        {"gold": labels[i], "predicted": labels[j], "texts": count, "share": count / max(sum(row), 1)}
        for i, row in enumerate(data["counts"])
        for j, count in enumerate(row)
    ]
    cell = max(min(CELL, MATRIX_SIDE // max(len(labels), 1)), MIN_CELL)
    axis = partial(alt.Axis, labelFontSize=FONT_SIZE, ticks=False, domain=False, labelOverlap=False, labelLimit=160)
    base = chart_of(cells).encode(
        x=alt.X("predicted:N", sort=None, title="predicted", axis=axis(orient="top", labelAngle=-40 if len(labels) > 2 else 0)),
        y=alt.Y("gold:N", sort=None, title="gold", axis=axis()),
        tooltip=["gold:N", "predicted:N", "texts:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.85]), legend=None)
    squares = base.mark_rect(color=BLUE, aria=False).encode(opacity=opacity)
    numbers = base.mark_text(fontSize=min(FONT_SIZE, cell // 2), aria=False).encode(text="texts:Q")
    split = {"dev": "validation"}.get(data["split"], data["split"])
    return finish([squares, numbers], f"texts of the {split} split", cell * len(labels), cell * len(labels))
