"""The words that the vector of a word depends on: a recurrent network, a convolution and attention, one below the other, with the way from the first
word to the last."""

from itertools import pairwise

import altair as alt

from stairs.inspection.receptive_field import Node, Panel, ReceptiveFieldData
from stairs.pictures.charts import BLUE, FONT_SIZE, GREY, ORANGE, Chart, chart_of, display_token, panel, pixels, stack, text_width

LAYER, ONLY_LAYER = 30, 52  # height of a layer
MIN_COLUMN, UPRIGHT = 26, 34  # width of a column, and the widest word that is not turned
MARGIN = 8
NODE, SMALL_NODE = 60, 24  # areas


def receptive_field(data: ReceptiveFieldData) -> Chart:
    """Blue is what the vector of the word is computed from, orange a shortest path to the first word."""
    return stack([network(one, data) for one in data["panels"]])


def network(one: Panel, data: ReceptiveFieldData) -> Chart:
    names = [display_token(token) for token in data["tokens"]]
    widest = max(map(text_width, names))
    is_upright = widest <= UPRIGHT
    column = max(widest + MARGIN, MIN_COLUMN) if is_upright else MIN_COLUMN
    label_height = LAYER if is_upright else widest + MARGIN
    edges = [((start[0], start[1]), (end[0], end[1])) for start, end in one["edges"]]
    path = [(layer, position) for layer, position in one["path"]]
    depth = max(start[0] for start, _ in edges)
    layer_height = LAYER if depth > 1 else ONLY_LAYER
    width, bottom = column * len(names), layer_height * depth + LAYER / 2

    def place(node: Node) -> tuple[float, float]:
        return round(column * (node[1] + 0.5), 1), bottom - layer_height * node[0]

    dependent = {node for edge in edges for node in edge}
    on_path, steps = set(path), set(pairwise(path))
    nodes = [(layer, position) for layer in range(depth + 1) for position in range(len(names))]
    points = [
        {"x": place(node)[0], "y": place(node)[1], "word": names[node[1]], "layer": node[0],
         "colour": ORANGE if node in on_path else BLUE if node in dependent else GREY, "size": NODE if node in dependent else SMALL_NODE}
        for node in nodes
    ]  # fmt: skip
    lines = [
        {"x": place(start)[0], "y": place(start)[1], "x2": place(end)[0], "y2": place(end)[1], "colour": ORANGE if (start, end) in steps else BLUE,
         "width": 3 if (start, end) in steps else 1, "opacity": 1 if (start, end) in steps else 0.45}
        for start, end in edges
    ]  # fmt: skip
    labels = [
        {"x": round(column * (at + 0.5), 1), "y": bottom + 14, "word": name, "weight": "bold" if at in (0, data["word"]) else "normal"}
        for at, name in enumerate(names)
    ]
    axes = pixels(width, bottom + label_height)
    colour = alt.Color("colour:N", scale=None)
    turn = {"align": "center", "baseline": "middle"} if is_upright else {"align": "right", "baseline": "middle", "angle": 300}
    words = [
        chart_of([label for label in labels if label["weight"] == weight])
        .mark_text(fontSize=FONT_SIZE, fontWeight=weight, aria=False, **turn)
        .encode(**axes, text="word:N")
        for weight in ("normal", "bold")
    ]
    return panel(
        [
            chart_of(lines).mark_rule(aria=False).encode(
                **axes, x2="x2:Q", y2="y2:Q", color=colour,
                strokeWidth=alt.StrokeWidth("width:Q", scale=None), opacity=alt.Opacity("opacity:Q", scale=None),
            ),
            chart_of(points).mark_circle(opacity=1, aria=False).encode(
                **axes, color=colour, size=alt.Size("size:Q", scale=None), tooltip=["word:N", "layer:Q"]
            ),
            *words,
        ],
        heading(one, data, names), bottom + label_height, width,
    )  # fmt: skip


def heading(one: Panel, data: ReceptiveFieldData, names: list[str]) -> str:
    """What the network is, and how long the path is."""
    kinds = {
        "recurrent": ("recurrent network", "n − 1 = ", "step"),
        "convolution": (f"convolution of w = {data['window']} words", "ceil((n − 1) / (w − 1)) = ", "layer"),
        "attention": ("attention", "", "layer"),
    }
    kind, formula, unit = kinds[one["architecture"]]
    name = kind + (f" of this {one['model']}" if one["model"] else "")
    ends = f"from {names[0]} to {names[data['word']]}, n = {len(names)}"
    if one["path_length"] is None:
        return f"{name}: no path {ends}"
    title = f"{name}: {formula}{one['path_length']} {unit}{'' if one['path_length'] == 1 else 's'} {ends}"
    if one["own_layers"] is None:
        return title
    return f"{title}; its {one['own_layers']} layers reach {len(one['layers'][one['own_layers'] - 1])} of {len(names)} words"
