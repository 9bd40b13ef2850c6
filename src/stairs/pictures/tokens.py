"""A text with something said of each of its tokens, as ribbons of boxes; and words with their chances, as bars."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from stairs.pictures.style import (
    BLUE,
    FONT,
    FONT_SIZE,
    GREY,
    ORANGE,
    WIDTH,
    chart_of,
    chart_title,
    display_token,
    finish,
    pixels,
    text_width,
    token_axis,
    unique_names,
)

PADDING, BOX_GAP = 5, 2  # pixels within a box, beside its name, and between boxes
BOX, NOTE = 22, 13  # heights of a box and of the writing below
GAP = 8  # between lines
HEADING = 26  # height of a name above a ribbon
LONGEST = 80  # letters of a name above a ribbon
SMALL = 9  # height of the letters of a note
MIN_OPACITY, MAX_OPACITY = 0.1, 0.65  # how opaque: writing stays readable on both pages
BAR = 20
MIN_PROBABILITY_DROP = 0.02  # by leaving a word out, that much of a label's chance
ORDERS = (GREY, "#1fa187", BLUE, "#8a5cd6", "#c2409a", "#d43d51")  # from one word alone to long n-grams
Piece = dict[str, Any]


def tokens(data: dict[str, Any]) -> Any:
    """The text as tokenizers cut it, a ribbon for each; what none of the tokens fits is orange."""
    ribbons = [
        (f"{shorten_runs(cut['name'])}: {len(cut['tokens'])} tokens", [
            {"name": display_token(one["token"]), "colour": ORANGE if one["unknown"] else (BLUE, GREY)[number % 2], "strength": 0.3,
             "says": f"token {number}" + (", unknown" if one["unknown"] else "")}
            for number, one in enumerate(cut["tokens"])
        ])
        for cut in data["tokenizations"]
    ]  # fmt: skip
    return ribbon(*ribbons)


def shorten_runs(runs: str) -> str:
    """Of many runs that cut alike, as many as a line has room for."""
    return runs if len(runs) <= LONGEST else runs[: runs.rfind(", ", 0, LONGEST)] + ", …"


def surprise(data: dict[str, Any]) -> Any:
    """The more bits, the more orange; the number below."""
    most = max((one["bits"] for one in data["tokens"]), default=0.0) or 1.0
    named = [(display_token(one["token"]), one["bits"]) for one in data["tokens"]]
    pieces = [{"name": name, "colour": ORANGE, "strength": bits / most, "note": f"{bits:.1f}", "says": f"{bits:.2f} bits"} for name, bits in named]
    total = sum(one["bits"] for one in data["tokens"])
    unit = "bits, each word among all others" if "measure" in data else "bits"
    return ribbon((f"{total:.0f} {unit}, {total / max(len(pieces), 1):.1f} a token", pieces))


def backoff(data: dict[str, Any]) -> Any:
    """The colour is the length of the n-gram that each chance came from, which stands below with the chance."""
    pieces = [
        {
            "name": display_token(one["token"]),
            "colour": ORDERS[min(one["order"], len(ORDERS)) - 1],
            "strength": 0.6,
            "note": f"{one['order']} · {percent(one['probability'])}",
            "says": f"{one['order']}-gram, chance {one['probability']:.2g}",
        }
        for one in data["tokens"]
    ]
    return ribbon(("below each token: how many words the chance rests on, and the chance", pieces))


def reasons(data: dict[str, Any]) -> Any:
    """Orange words speak for the label, blue ones against it; below, by how much its chance falls or rises without them."""
    sure = max((abs(one["probability_drop"]) for one in data["words"]), default=0.0) < MIN_PROBABILITY_DROP
    brings = [one["log_odds_drop"] if sure else 100 * one["probability_drop"] for one in data["words"]]
    most = max([*map(abs, brings), 1.0])
    pieces = [
        {
            "name": display_token(one["word"]),
            "colour": ORANGE if value > 0 else BLUE,
            "strength": abs(value) / most,
            "note": (f"{value:+.1f}" if sure else f"{value:+.0f}").replace("-", "−") if abs(value) >= (0.05 if sure else 0.5) else "",
            "says": f"without it the chance falls by {one['probability_drop']:.4f}, its log-odds by {one['log_odds_drop']:.2f}",
        }
        for one, value in zip(data["words"], brings, strict=True)
    ]
    unit = "what each word brings to its log-odds, since no single one moves the chance" if sure else "points of it that each word brings"
    return ribbon((f"{data['label']}, chance {percent(data['probability'])}; {unit}", pieces))


def ribbon(*ribbons: tuple[str, list[Piece]]) -> Any:
    """Under each heading boxes one after the other, as text runs; a piece has a name, a colour, a strength from 0 to 1, and maybe a note below."""
    boxes: list[Piece] = []
    titles: list[Piece] = []
    down = 0.0
    for heading, pieces in ribbons:
        titles.append({"x": 0, "y": down + HEADING / 2, "text": heading})
        placed, down = place_boxes(pieces, down + HEADING)
        boxes += placed
        down += GAP
    base, axes = chart_of(boxes), pixels(WIDTH, down)
    fill = {"color": alt.Color("colour:N", scale=None), "fillOpacity": alt.FillOpacity("opacity:Q", scale=None)}
    parts = [
        base.mark_rect(cornerRadius=3, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q", tooltip=["name:N", "says:N"], **fill),
        base.mark_text(fontSize=FONT_SIZE, font=FONT, aria=False).encode(**pixels(WIDTH, down, "middle", "name_y"), text="name:N"),
    ]
    if any(piece["note"] for piece in boxes):
        small = base.mark_text(fontSize=SMALL, opacity=0.75, aria=False)
        parts.append(small.encode(**pixels(WIDTH, down, "middle", "note_y"), text="note:N"))
    names = chart_of(titles).mark_text(align="left", fontSize=FONT_SIZE, opacity=0.75).encode(**axes, text="text:N")
    return finish([alt.layer(*parts), names], height=down)  # in two layers, so that the boxes are written down once


def place_boxes(pieces: Sequence[Piece], top: float) -> tuple[list[Piece], float]:
    """Where each box is, and where the last line ends."""
    noted = any(piece.get("note") for piece in pieces)
    x, y, line, found = 0.0, top, BOX + (NOTE if noted else 0) + GAP, []
    for piece in pieces:
        wide = max(text_width(piece["name"]), text_width(piece.get("note", ""), SMALL)) + 2 * PADDING
        if x and x + wide > WIDTH:
            x, y = 0.0, y + line
        place = {"x": x, "x2": x + wide, "y": y, "y2": y + BOX, "middle": x + wide / 2, "name_y": y + BOX / 2, "note_y": y + BOX + NOTE / 2}
        strength = min(max(piece["strength"], 0.0), 1.0)
        opacity = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * strength
        kept = {name: piece[name] for name in ("name", "colour", "says")}
        found.append({**kept, "note": piece.get("note", ""), "opacity": round(opacity, 3), **{name: round(at, 1) for name, at in place.items()}})
        x += wide + BOX_GAP
    return found, y + line


def next_tokens(data: dict[str, Any]) -> Any:
    """The likeliest next tokens."""
    return bars([("what comes next", [{"word": display_token(one["token"]), "probability": one["probability"]} for one in data["next"]])],
        "probability")


def blanks(data: dict[str, Any]) -> Any:
    """The words for each blank, below one another."""
    return bars([(f"blank {number}", blank["words"]) for number, blank in enumerate(data["blanks"], 1)], "probability")


def neighbours(data: dict[str, Any]) -> Any:
    """The nearest words of each question, below one another."""
    found = [(answer["query"], [{"word": one["word"], "probability": one["cosine"]} for one in answer["near"]]) for answer in data["answers"]]
    return bars(found, "cosine", ".2f")


def bars(groups: Sequence[tuple[str, list[dict[str, Any]]]], quantity: str, number_format: str = ".1%") -> Any:
    """Words and how much of something each has."""
    charts = []
    most = max((row["probability"] for _, rows in groups for row in rows), default=1.0) or 1.0
    for name, rows in groups:
        names = unique_names([row["word"] for row in rows])
        named = [{**row, "name": name} for row, name in zip(rows, names, strict=True)]
        base = chart_of(named).encode(
            x=alt.X("probability:Q", axis=None, scale=alt.Scale(domain=[0, most * 1.12])),
            y=alt.Y("name:N", sort=names, title=None, axis=token_axis()),
            tooltip=["word:N", alt.Tooltip("probability:Q", title=quantity, format=".4f")],
        )
        numbers = base.mark_text(align="left", dx=4, fontSize=FONT_SIZE).encode(text=alt.Text("probability:Q", format=number_format))
        drawn = base.mark_bar(color=BLUE, fillOpacity=0.7, height=BAR - 6) + numbers
        charts.append(drawn.properties(width=WIDTH / 2, height=BAR * max(len(named), 1), title=chart_title(name)))
    return alt.vconcat(*charts).configure(font=FONT).configure_view(stroke=None)


def percent(probability: float) -> str:
    return f"{probability:.0%}" if probability >= 0.095 else f"{probability:.1%}" if probability >= 0.00095 else "<0.1%"
