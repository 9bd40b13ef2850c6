"""The training of word vectors: the windows over a text, one below the other, and one update as a table of its numbers."""

from typing import TypedDict

import altair as alt

from stairs.inspection.word_training import Kind, UpdateData, Window, WindowsData
from stairs.pictures.charts import (
    BLUE,
    FONT,
    FONT_SIZE,
    MAX_OPACITY,
    MIN_OPACITY,
    ORANGE,
    PADDING,
    Chart,
    chart_of,
    display_token,
    finish,
    pixels,
    text_width,
)  # fmt: skip

LINE, BOX_HEIGHT = 24, 20  # of a window
TOKEN_GAP, EXAMPLE_GAP, EXAMPLE_WIDTH = 4, 18, 300
TITLES: dict[Kind, str] = {
    "pairs": "skip-gram: the orange word is predicted from each blue one; the paler a word, the more rarely a window reaches it",
    "mean": "CBOW: the orange word is predicted from the mean of the blue ones; the paler a word, the more rarely a window reaches it",
    "counts": "GloVe: each blue word is counted beside the orange one, as one part of its distance",
    "before": "the orange word is predicted from the blue ones before it",
}
NAME_WIDTH, COLUMN, BAR_WIDTH = 96, 66, 190  # of the table of an update
ROW = 24
HEADINGS = ("output word", "target", "x c", "sigmoid", "error", "sigmoid after")


class PlacedText(TypedDict):
    x: float
    y: float
    text: str


def windows(data: WindowsData) -> Chart:
    """A line for each window: its centre is orange, its context blue; beside it what the model is trained on."""
    names = [display_token(token) for token in data["tokens"]]
    edges = [0.0]
    for name in names:
        edges.append(edges[-1] + text_width(name) + 2 * PADDING + TOKEN_GAP)
    boxes, texts, examples = [], [], []
    for line, window in enumerate(data["windows"]):
        opacities = {word["position"]: MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * word["weight"] for word in window["context"]}
        top = line * LINE
        for position, name in enumerate(names):
            is_centre = position == window["centre"]
            if is_centre or position in opacities:
                opacity = MAX_OPACITY if is_centre else opacities[position]
                boxes.append({
                    "x": edges[position], "x2": edges[position + 1] - TOKEN_GAP, "y": top, "y2": top + BOX_HEIGHT, "word": name,
                    "colour": ORANGE if is_centre else BLUE, "opacity": round(opacity, 3),
                })  # fmt: skip
            middle = (edges[position] + edges[position + 1] - TOKEN_GAP) / 2
            texts.append({"x": middle, "y": top + BOX_HEIGHT / 2, "text": name, "opacity": 1 if is_centre or position in opacities else 0.35})
        examples.append({"x": edges[-1] + EXAMPLE_GAP, "y": top + BOX_HEIGHT / 2, "text": example_text(names, window, data["kind"])})
    width, height = edges[-1] + EXAMPLE_GAP + EXAMPLE_WIDTH, LINE * len(data["windows"])
    axes = pixels(width, height)
    fill = {"color": alt.Color("colour:N", scale=None), "fillOpacity": alt.FillOpacity("opacity:Q", scale=None)}
    return finish(
        [
            chart_of(boxes).mark_rect(cornerRadius=3, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q", tooltip=["word:N"], **fill),
            chart_of(texts).mark_text(fontSize=FONT_SIZE, font=FONT, aria=False).encode(
                **axes, text="text:N", opacity=alt.Opacity("opacity:Q", scale=None)
            ),
            chart_of(examples).mark_text(fontSize=FONT_SIZE, font=FONT, align="left", opacity=0.75, aria=False).encode(**axes, text="text:N"),
        ],
        TITLES[data["kind"]],
        height,
        width,
    )  # fmt: skip


def example_text(names: list[str], window: Window, kind: Kind) -> str:
    """What a window gives to train on, in one line."""
    context, centre = [names[word["position"]] for word in window["context"]], names[window["centre"]]
    joints: dict[Kind, str] = {"pairs": ", ", "mean": " + ", "counts": ", ", "before": " "}
    room = EXAMPLE_WIDTH - text_width(f" … → {centre}")
    while len(context) > 1 and text_width(joints[kind].join(context)) > room:
        context = [*context[:-2], "…"]
    return f"{joints[kind].join(context) or '–'} → {centre}"


def update(data: UpdateData) -> Chart:
    """A row for each output word: target, dot product, sigmoid, error, and how far its vector moves towards the input's or away from it."""
    outputs = data["outputs"]
    names = [display_token(output["word"]) for output in outputs]
    name_width = max(NAME_WIDTH, *(text_width(name) + 2 * PADDING for name in names))
    columns = [0.0, *(name_width + COLUMN * (number + 0.8) for number in range(len(HEADINGS) - 1))]
    columns[-1] += COLUMN / 2  # for a longer heading
    zero = columns[-1] + COLUMN / 2 + BAR_WIDTH / 2
    width, height = zero + BAR_WIDTH / 2, ROW * (len(outputs) + 1)
    headings: list[PlacedText] = [{"x": x, "y": ROW / 2, "text": text} for x, text in zip(columns, HEADINGS, strict=True)]
    headings += [{"x": zero - PADDING, "y": ROW / 2, "text": "c moves away"}, {"x": zero + BAR_WIDTH / 2, "y": ROW / 2, "text": "towards x"}]
    cells: list[PlacedText] = []
    bars = []
    largest = max(abs(output["step"]) for output in outputs) or 1.0
    for line, (name, output) in enumerate(zip(names, outputs, strict=True), 1):
        middle = ROW * (line + 0.5)
        numbers = [signed_number(output["dot"], 2), f"{output['sigmoid']:.3f}", signed_number(output["error"], 3), f"{output['sigmoid_after']:.3f}"]
        texts = [name, str(output["target"]), *numbers]
        cells += [{"x": x, "y": middle, "text": text} for x, text in zip(columns, texts, strict=True)]
        bars.append({
            "x": zero, "x2": zero + BAR_WIDTH / 2 * output["step"] / largest, "y": middle - ROW / 4, "y2": middle + ROW / 4,
            "colour": ORANGE if output["step"] > 0 else BLUE, "step": signed_number(output["step"], 4),
        })  # fmt: skip
    axes = pixels(width, height)
    title = (
        f"input {display_token(data['input'])}: loss {data['loss']:.3f}, after one step {data['loss_after']:.3f}; "
        f"learning rate {data['learning_rate']:g}; x moves by {data['input_step']:.4f}"
    )
    rules = chart_of([{"x": zero, "x2": zero, "y": ROW, "y2": height}, {"x": 0, "x2": width, "y": ROW, "y2": ROW}])
    return finish(
        [
            rules.mark_rule(color="gray", opacity=0.4, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q"),
            chart_of(bars).mark_rect(opacity=0.75, aria=False).encode(
                **axes, x2="x2:Q", y2="y2:Q", color=alt.Color("colour:N", scale=None), tooltip=["step:N"]
            ),
            *(
                chart_of([text for text in texts if (text["x"] == 0) is is_name]).mark_text(
                    fontSize=FONT_SIZE, font=FONT, align="left" if is_name else "right", opacity=opacity, aria=False
                ).encode(**axes, text="text:N")
                for texts, opacity in ((headings, 0.75), (cells, 1.0))
                for is_name in (True, False)
            ),
        ],
        title,
        height,
        width,
    )  # fmt: skip


def signed_number(number: float, digits: int) -> str:
    return f"{number:+.{digits}f}".replace("-", "−")
