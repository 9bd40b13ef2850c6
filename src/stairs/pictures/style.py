"""What all pictures share: the font, the colours, and how tokens are written.

Strength is shown by how opaque a colour is and never by mixing it with white, so a picture can stand on a white page or on a dark one. Writing
has the colour that the page gives it.
"""

import re
from collections.abc import Sequence
from typing import Any

import altair as alt

WIDTH, HEIGHT = 640, 480
LETTERS = 12  # height of the writing
FONT = "Noto Sans CJK SC, Source Han Sans SC, PingFang SC, Microsoft YaHei, WenQuanYi Micro Hei, Noto Sans, DejaVu Sans, sans-serif"
BLUE, ORANGE, GREY = "#2f7ed8", "#e8762c", "#8a919c"
GRID: dict[str, Any] = {"gridColor": "gray", "gridOpacity": 0.2}
SPACES, SPACE, END_OF_WORD = (" ", "▁"), "␣", "</w>"  # how tokenizers write a space beside a word, and how it is shown
LINES = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "⏎"})
WIDE = "␣⏎⇥…"
LONGEST = 40  # letters of a name


def shown(token: str) -> str:
    """A token as people read it."""
    if token.endswith(END_OF_WORD):
        token = token.removesuffix(END_OF_WORD) + SPACE
    token = (SPACE + token[1:] if token.startswith(SPACES) else token).translate(LINES)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


def across(text: str, letters: float = LETTERS) -> float:
    """About how many pixels it is wide: Chinese is as wide as it is high."""
    return sum(letters if ord(letter) > 0x2E7F or letter in WIDE else 0.58 * letters for letter in text)


def pieces(text: str) -> list[str]:
    """What stays together when lines are broken."""
    return re.findall(r"[\u2E80-\uFFFF]|[^\s\u2E80-\uFFFF-]*-+|[^\s\u2E80-\uFFFF-]+|\s+", text)


def wrapped(text: str, wide: float, most: int) -> list[str]:
    """A text in at most so many lines, cut between words or behind a hyphen, or anywhere in a word that is longer than a line, as Chinese is."""
    lines = [""]
    for piece in pieces(text):
        if across(lines[-1] + piece) > wide and lines[-1]:
            lines.append("")
        while across(piece) > wide:
            fits = next(count for count in range(len(piece), 0, -1) if across(piece[:count]) <= wide)
            lines[-1:] = [piece[:fits], ""]
            piece = piece[fits:]
        lines[-1] += piece if lines[-1] else piece.lstrip()
        if len(lines) > most:
            last = lines[most - 1].rstrip()
            while across(last + "…") > wide:
                last = last[:-1]
            return [*lines[: most - 1], last + "…"]
    return lines


def table(rows: Sequence[dict[str, Any]]) -> Any:
    """A chart of these rows."""
    return alt.Chart(alt.Data(values=list(rows)))


def numbered(tokens: Sequence[str]) -> list[str]:
    """Names that differ where tokens are equal; `PLAIN` takes the numbers off again."""
    return [f"{number} {shown(token)}" for number, token in enumerate(tokens)]


PLAIN = "substring(datum.label, indexof(datum.label, ' ') + 1)"


def token_axis(room: float = LETTERS, **settings: Any) -> Any:
    """For names that are `numbered`, with so many pixels for each."""
    size = max(min(LETTERS, room), 8)
    return alt.Axis(labelExpr=PLAIN, labelFontSize=size, ticks=False, domain=False, labelOverlap=False, labelLimit=400, **settings)


def pixels(width: float, height: float, x: str = "x", y: str = "y") -> dict[str, Any]:
    """Places are pixels, from the upper left corner."""
    return {
        "x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False)),
        "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[0, height], nice=False, reverse=True)),
    }


def titled(title: str) -> Any:
    """With a space behind: Vega takes a title such as constructor for something of JavaScript's own, and draws nothing."""
    return alt.TitleParams(f"{title} ", anchor="start", fontSize=LETTERS, fontWeight="normal")


def finished(layers: Sequence[Any], title: str = "", height: float = HEIGHT, width: float = WIDTH) -> Any:
    chart = alt.layer(*layers) if len(layers) > 1 else layers[0]
    named = {"title": titled(title)} if title else {}
    return chart.properties(width=width, height=height, **named).configure(font=FONT).configure_view(stroke=None)
