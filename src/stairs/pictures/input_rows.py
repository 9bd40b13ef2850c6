"""What a Transformer reads: embeddings and their sum as colours, and a training row of BERT as boxes."""

from stairs.inspection.input_rows import EmbeddingsData, Masking, TrainingRowData, TrainingToken
from stairs.pictures.attention import signed_images
from stairs.pictures.charts import (
    FONT,
    FONT_SIZE,
    GREY,
    ORANGE,
    Chart,
    RibbonBox,
    chart_of,
    colour_limit,
    display_token,
    finish,
    pixels,
    ribbon,
    text_width,
)  # fmt: skip

LINE = 18  # height of a token
PANEL_WIDTH, SIGN_WIDTH = 150, 26  # of an embedding, and of the sign between two
TOP = 22
MASKINGS: dict[Masking, tuple[str, str]] = {  # its colour, and what it means
    "mask": (ORANGE, "becomes [MASK]"),
    "random": ("#c2409a", "becomes a random token"),
    "kept": ("#1fa187", "stays as it is"),
}


def embeddings(data: EmbeddingsData) -> Chart:
    """A row for each token, and from left to right what is added up: negative numbers are blue, positive ones orange."""
    tokens = [display_token(token) for token in data["tokens"]]
    left, height = max(map(text_width, tokens)) + 12, TOP + LINE * len(tokens)
    limit = colour_limit(data["parts"][-1]["rows"])
    images, signs, headings = [], [], []
    for number, part in enumerate(data["parts"]):
        start = left + number * (PANEL_WIDTH + SIGN_WIDTH)
        images += [{"x": start + PANEL_WIDTH / 2, "y": (TOP + height) / 2, "image": image} for image in signed_images(part["rows"], limit)]
        headings.append({"x": start, "y": TOP / 2, "text": f"{part['name']}, length {part['length']:.2f}"})
        if number:
            signs.append({"x": start - SIGN_WIDTH / 2, "y": (TOP + height) / 2, "text": "=" if number == len(data["parts"]) - 1 else "+"})
    width = left + len(data["parts"]) * (PANEL_WIDTH + SIGN_WIDTH) - SIGN_WIDTH
    axes = pixels(width, height)
    names = [{"x": left - 8, "y": TOP + LINE * (row + 0.5), "text": token} for row, token in enumerate(tokens)]
    pictures = chart_of(images).mark_image(width=PANEL_WIDTH, height=LINE * len(tokens), smooth=False, aspect=False, aria=False)
    shown = len(data["parts"][0]["rows"][0])
    return finish(
        [
            pictures.encode(**axes, url="image:N"),
            chart_of(names).mark_text(fontSize=FONT_SIZE, font=FONT, align="right", aria=False).encode(**axes, text="text:N"),
            chart_of(headings).mark_text(fontSize=FONT_SIZE, align="left", opacity=0.75, aria=False).encode(**axes, text="text:N"),
            chart_of(signs).mark_text(fontSize=2 * FONT_SIZE, aria=False).encode(**axes, text="text:N"),
        ],
        f"the first {shown} of {data['width']} dimensions of each token",
        height,
        width,
    )


def training_row(data: TrainingRowData) -> Chart:
    """The row in its segments; a target has a colour and, below it, the token that must be predicted there."""
    tokens = data["tokens"]
    segments = sorted({token["segment"] for token in tokens})
    label = f"; label {data['label']}" if data["label"] else ""
    ribbons = [
        (f"segment {segment}" + label * (segment == segments[-1]), [box_of(token) for token in tokens if token["segment"] == segment])
        for segment in segments
    ]
    legend: list[RibbonBox] = [
        {"name": meaning, "colour": colour, "strength": 0.6, "tooltip": kind} for kind, (colour, meaning) in MASKINGS.items()
    ]
    targets = sum(token["target"] is not None for token in tokens)
    objective = f"objective {data['objective']}; row {data['row'] + 1} of {data['rows']}"
    return ribbon(*ribbons, (f"{objective}; {targets} of {len(tokens)} tokens are targets, below each what it was", legend))


def box_of(token: TrainingToken) -> RibbonBox:
    name = display_token(token["token"])
    if token["masking"] is None or token["target"] is None:
        return {"name": name, "colour": GREY, "strength": 0.15, "tooltip": "no target"}
    colour, meaning = MASKINGS[token["masking"]]
    return {"name": name, "colour": colour, "strength": 0.6, "note": display_token(token["target"]), "tooltip": meaning}
