"""What all pictures share: the font, the colours, and how tokens are written.

Strength is shown by how opaque a colour is and never by mixing it with white, so a picture can stand on a white page or on a dark one. Writing
has the colour that the page gives it.
"""

import re
from collections.abc import Sequence
from typing import Any

import altair as alt

WIDTH, HEIGHT = 640, 480
FONT_SIZE = 12  # height of the writing
FONT = "Noto Sans CJK SC, Source Han Sans SC, PingFang SC, Microsoft YaHei, WenQuanYi Micro Hei, Noto Sans, DejaVu Sans, sans-serif"
BLUE, ORANGE, GREY = "#2f7ed8", "#e8762c", "#8a919c"
GRID: dict[str, Any] = {"gridColor": "gray", "gridOpacity": 0.2}
SPACES, SPACE, END_OF_WORD = (" ", "▁"), "␣", "</w>"  # how tokenizers write a space beside a word, and how it is shown
WHITESPACE_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "⏎"})
WIDE_SIGNS = "␣⏎⇥…"
MAX_NAME_LENGTH = 40  # letters of a name


def display_token(token: str) -> str:
    """A token as people read it."""
    if token.endswith(END_OF_WORD):
        token = token.removesuffix(END_OF_WORD) + SPACE
    token = (SPACE + token[1:] if token.startswith(SPACES) else token).translate(WHITESPACE_SIGNS)
    return token if len(token) <= MAX_NAME_LENGTH else token[: MAX_NAME_LENGTH - 1] + "…"


def text_width(text: str, font_size: float = FONT_SIZE) -> float:
    """About how many pixels it is wide: Chinese is as wide as it is high."""
    return sum(font_size if ord(letter) > 0x2E7F or letter in WIDE_SIGNS else 0.58 * font_size for letter in text)


def line_break_pieces(text: str) -> list[str]:
    """What stays together when lines are broken."""
    return re.findall(r"[\u2E80-\uFFFF]|[^\s\u2E80-\uFFFF-]*-+|[^\s\u2E80-\uFFFF-]+|\s+", text)


def wrap(text: str, width: float, max_lines: int) -> list[str]:
    """A text in at most so many lines, cut between words or behind a hyphen, or anywhere in a word that is longer than a line, as Chinese is."""
    lines = [""]
    for piece in line_break_pieces(text):
        if text_width(lines[-1] + piece) > width and lines[-1]:
            lines.append("")
        while text_width(piece) > width:
            fits = next(count for count in range(len(piece), 0, -1) if text_width(piece[:count]) <= width)
            lines[-1:] = [piece[:fits], ""]
            piece = piece[fits:]
        lines[-1] += piece if lines[-1] else piece.lstrip()
        if len(lines) > max_lines:
            last = lines[max_lines - 1].rstrip()
            while text_width(last + "…") > width:
                last = last[:-1]
            return [*lines[: max_lines - 1], last + "…"]
    return lines


def chart_of(rows: Sequence[dict[str, Any]]) -> Any:
    """A chart of these rows."""
    return alt.Chart(alt.Data(values=list(rows)))


def unique_names(tokens: Sequence[str]) -> list[str]:
    """Names that differ where tokens are equal; `WITHOUT_NUMBER` takes the numbers off again."""
    return [f"{number} {display_token(token)}" for number, token in enumerate(tokens)]


WITHOUT_NUMBER = "substring(datum.label, indexof(datum.label, ' ') + 1)"


def token_axis(cell: float = FONT_SIZE, **settings: Any) -> Any:
    """For names that are `unique_names`, with so many pixels for each."""
    size = max(min(FONT_SIZE, cell), 8)
    return alt.Axis(labelExpr=WITHOUT_NUMBER, labelFontSize=size, ticks=False, domain=False, labelOverlap=False, labelLimit=400, **settings)


def pixels(width: float, height: float, x: str = "x", y: str = "y") -> dict[str, Any]:
    """Places are pixels, from the upper left corner."""
    return {
        "x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False)),
        "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[0, height], nice=False, reverse=True)),
    }


def chart_title(title: str) -> Any:
    """With a space behind: Vega takes a title such as constructor for something of JavaScript's own, and draws nothing."""
    return alt.TitleParams(f"{title} ", anchor="start", fontSize=FONT_SIZE, fontWeight="normal")


def finish(layers: Sequence[Any], title: str = "", height: float = HEIGHT, width: float = WIDTH) -> Any:
    chart = alt.layer(*layers) if len(layers) > 1 else layers[0]
    named = {"title": chart_title(title)} if title else {}
    return chart.properties(width=width, height=height, **named).configure(font=FONT).configure_view(stroke=None)
