"""What all pictures share: font and colours, the display of tokens, ribbons of boxes, bars, and a chart as an SVG, PNG or HTML file.

Strength is shown by opacity and never by mixing a colour with white, so that a picture fits a white page and a dark one. Text has the colour that
the page gives it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, Unpack

import altair as alt

from stairs.errors import BadInput
from stairs.files import write_atomically

WIDTH, HEIGHT = 640, 480
FONT_SIZE = 12
FONT = "Noto Sans CJK SC, Source Han Sans SC, PingFang SC, Microsoft YaHei, WenQuanYi Micro Hei, Noto Sans, DejaVu Sans, sans-serif"
BLUE, ORANGE, GREY = "#2f7ed8", "#e8762c", "#8a919c"
LEADING_SPACES, SPACE_SIGN, END_OF_WORD = (" ", "▁"), "␣", "</w>"  # how tokenizers write a space beside a word, and how it is shown
WHITESPACE_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "⏎"})
WIDE_SIGNS = "␣⏎⇥…"
MAX_NAME_LENGTH = 40  # characters
PADDING, BOX_GAP = 5, 2  # pixels of a ribbon: within a box, beside its name, and between boxes
BOX, NOTE = 22, 13  # heights of a box and of the note below
LINE_GAP, HEADING = 8, 26  # between the lines of a ribbon, and the height of its heading
NOTE_FONT_SIZE = 9
MIN_OPACITY, MAX_OPACITY = 0.1, 0.65  # text stays readable on both pages
BAR = 20
PANEL_GAP = 24
ENDINGS = (".svg", ".png", ".html")
CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}  # each has a character that shows it
UNDRAWABLE = {**CONTROLS, **dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), 0xFFFD)}  # not allowed in an SVG: Vega's renderer would abort
CLIPPED_SHARE = 0.02  # of the numbers of a vector that may be beyond the darkest colour: a few large ones would make the others pale
PNG_SCALE = 2.0  # pixels of a PNG per pixel of the picture, for high-resolution screens
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart


class RibbonBox(TypedDict):
    name: str
    colour: str
    strength: float  # from 0 to 1
    tooltip: str
    note: NotRequired[str]  # below the box


class Axes(TypedDict):
    x: alt.X
    y: alt.Y


class GridOptions(TypedDict, total=False):
    """Of an axis of Vega."""

    grid: bool
    gridColor: str
    gridOpacity: float
    tickBand: Literal["center", "extent"]


class AxisOptions(GridOptions, total=False):
    orient: Literal["top", "bottom", "left", "right"]
    labelAngle: float
    labelFont: str


GRID: GridOptions = {"gridColor": "gray", "gridOpacity": 0.2}
PlacedBox = dict[str, str | float]  # its texts, colours and coordinates


class Bar(TypedDict):
    word: str
    value: float


# Text


def display_token(token: str) -> str:
    """A token with its spaces and line ends made visible, and not too long."""
    if token.endswith(END_OF_WORD):
        token = token.removesuffix(END_OF_WORD) + SPACE_SIGN
    token = (SPACE_SIGN + token[1:] if token.startswith(LEADING_SPACES) else token).translate(WHITESPACE_SIGNS)
    return token if len(token) <= MAX_NAME_LENGTH else token[: MAX_NAME_LENGTH - 1] + "…"


def text_width(text: str, font_size: float = FONT_SIZE) -> float:
    """About how many pixels wide it is: a Chinese character is as wide as it is high."""
    return sum(font_size if ord(character) > 0x2E7F or character in WIDE_SIGNS else 0.58 * font_size for character in text)


def line_break_pieces(text: str) -> list[str]:
    """What stays together when lines are broken."""
    return re.findall(r"[\u2E80-\uFFFF]|[^\s\u2E80-\uFFFF-]*-+|[^\s\u2E80-\uFFFF-]+|\s+", text)


def wrap(text: str, width: float, max_lines: int) -> list[str]:
    """At most so many lines, broken between words or after a hyphen, and anywhere in Chinese and in a word longer than a line."""
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


def percent(probability: float) -> str:
    return f"{probability:.0%}" if probability >= 0.095 else f"{probability:.1%}" if probability >= 0.00095 else "<0.1%"


# Parts of charts


def chart_of(rows: Sequence[Mapping[str, object]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def unique_names(tokens: Sequence[str]) -> list[str]:
    """Names that differ where tokens are equal; `WITHOUT_NUMBER` takes the numbers off again."""
    return [f"{number} {display_token(token)}" for number, token in enumerate(tokens)]


WITHOUT_NUMBER = "substring(datum.label, indexof(datum.label, ' ') + 1)"


def token_axis(cell: float = FONT_SIZE, **settings: Unpack[AxisOptions]) -> alt.Axis:
    """For `unique_names`, with so many pixels for each."""
    size = max(min(FONT_SIZE, cell), 8)
    return alt.Axis(labelExpr=WITHOUT_NUMBER, labelFontSize=size, ticks=False, domain=False, labelOverlap=False, labelLimit=400, **settings)


def pixels(width: float, height: float, x: str = "x", y: str = "y") -> Axes:
    """Axes in pixels, from the upper left corner."""
    return {
        "x": alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False)),
        "y": alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[0, height], nice=False, reverse=True)),
    }


def chart_title(title: str) -> alt.TitleParams:
    """With a trailing space: Vega takes a title such as constructor for a property of JavaScript's own, and draws nothing."""
    return alt.TitleParams(f"{title} ", anchor="start", fontSize=FONT_SIZE, fontWeight="normal")


def panel(layers: Sequence[Chart], title: str = "", height: float = HEIGHT, width: float = WIDTH) -> Chart:
    """A part of a picture, for `stack`, or for `finish` if it is the only one."""
    chart = alt.layer(*layers) if len(layers) > 1 else layers[0]
    heading = {"title": chart_title(title)} if title else {}
    return chart.properties(width=width, height=height, **heading)


def finish(layers: Sequence[Chart], title: str = "", height: float = HEIGHT, width: float = WIDTH) -> Chart:
    return panel(layers, title, height, width).configure(font=FONT).configure_view(stroke=None)


def stack(charts: Sequence[Chart]) -> Chart:
    """One below the other."""
    return alt.vconcat(*charts).configure(font=FONT).configure_view(stroke=None)


def side_by_side(charts: Sequence[Chart], columns: int = 2) -> Chart:
    """In rows of so many, for `stack`."""
    rows = [alt.hconcat(*charts[start : start + columns], spacing=PANEL_GAP) for start in range(0, len(charts), columns)]
    return alt.vconcat(*rows, spacing=PANEL_GAP) if len(rows) > 1 else rows[0]


def colour_limit(rows: Sequence[Sequence[float]]) -> float:
    """The number that gets the darkest colour."""
    sizes = sorted(abs(number) for row in rows for number in row)
    return (sizes[int((1 - CLIPPED_SHARE) * (len(sizes) - 1))] if sizes else 0.0) or 1.0


def ribbon(*ribbons: tuple[str, list[RibbonBox]]) -> Chart:
    """Under each heading boxes one after the other, as text runs."""
    boxes: list[PlacedBox] = []
    headings: list[dict[str, str | float]] = []
    bottom = 0.0
    for heading, content in ribbons:
        headings.append({"x": 0, "y": bottom + HEADING / 2, "text": heading})
        row, bottom = place_boxes(content, bottom + HEADING)
        boxes += row
        bottom += LINE_GAP
    base, axes = chart_of(boxes), pixels(WIDTH, bottom)
    fill = {"color": alt.Color("colour:N", scale=None), "fillOpacity": alt.FillOpacity("opacity:Q", scale=None)}
    parts = [
        base.mark_rect(cornerRadius=3, aria=False).encode(**axes, x2="x2:Q", y2="y2:Q", tooltip=["name:N", "tooltip:N"], **fill),
        base.mark_text(fontSize=FONT_SIZE, font=FONT, aria=False).encode(**pixels(WIDTH, bottom, "middle", "name_y"), text="name:N"),
    ]
    if any(box["note"] for box in boxes):
        notes = base.mark_text(fontSize=NOTE_FONT_SIZE, opacity=0.75, aria=False)
        parts.append(notes.encode(**pixels(WIDTH, bottom, "middle", "note_y"), text="note:N"))
    names = chart_of(headings).mark_text(align="left", fontSize=FONT_SIZE, opacity=0.75).encode(**axes, text="text:N")
    return finish([alt.layer(*parts), names], height=bottom)  # in two layers, so that the data of the boxes is written once


def place_boxes(boxes: Sequence[RibbonBox], top: float) -> tuple[list[PlacedBox], float]:
    """The coordinates of each box, and the bottom of the last line."""
    has_notes = any(box.get("note") for box in boxes)
    x, y, line_height = 0.0, top, BOX + (NOTE if has_notes else 0) + LINE_GAP
    rows: list[PlacedBox] = []
    for box in boxes:
        width = max(text_width(box["name"]), text_width(box.get("note", ""), NOTE_FONT_SIZE)) + 2 * PADDING
        if x and x + width > WIDTH:
            x, y = 0.0, y + line_height
        coordinates = {
            "x": x, "x2": x + width, "y": y, "y2": y + BOX, "middle": x + width / 2, "name_y": y + BOX / 2, "note_y": y + BOX + NOTE / 2,
        }  # fmt: skip
        opacity = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * min(max(box["strength"], 0.0), 1.0)
        content: PlacedBox = {
            "name": box["name"], "colour": box["colour"], "tooltip": box["tooltip"], "note": box.get("note", ""), "opacity": round(opacity, 3),
        }  # fmt: skip
        rows.append({**content, **{name: round(value, 1) for name, value in coordinates.items()}})
        x += width + BOX_GAP
    return rows, y + line_height


def bars(groups: Sequence[tuple[str, list[Bar]]], quantity: str, number_format: str = ".1%") -> Chart:
    """Words and a number for each, one group below the other."""
    charts = []
    largest = max((bar["value"] for _, rows in groups for bar in rows), default=1.0) or 1.0
    for title, rows in groups:
        names = unique_names([bar["word"] for bar in rows])
        base = chart_of([{**bar, "name": name} for bar, name in zip(rows, names, strict=True)]).encode(
            x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, largest * 1.12])),
            y=alt.Y("name:N", sort=names, title=None, axis=token_axis()),
            tooltip=["word:N", alt.Tooltip("value:Q", title=quantity, format=".4f")],
        )
        numbers = base.mark_text(align="left", dx=4, fontSize=FONT_SIZE).encode(text=alt.Text("value:Q", format=number_format))
        drawn = base.mark_bar(color=BLUE, fillOpacity=0.7, height=BAR - 6) + numbers
        charts.append(drawn.properties(width=WIDTH / 2, height=BAR * max(len(rows), 1), title=chart_title(title)))
    return stack(charts)


# Files


def save(chart: Chart, path: str | Path) -> None:
    """Write the picture in the format of its file name, completely or not at all."""
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise BadInput(f"{path} is not the name of a picture; let it end in {', '.join(ENDINGS)}")
    if target.exists() and not target.is_file():
        raise BadInput(f"{path} is {'a folder' if target.is_dir() else 'a device or a pipe'}; give the name of a file")
    write_atomically(target, render(chart, target.suffix))


def render(chart: Chart, ending: str) -> bytes:
    """The content of the file. Nothing that a chart might refer to is fetched."""
    if ending == ".html":
        return chart.to_html(inline=True).encode()
    import vl_convert

    specification = json.dumps(replace_undrawable(chart.to_dict()))
    if ending == ".svg":
        return vl_convert.vegalite_to_svg(specification, allowed_base_urls=[]).encode()
    return vl_convert.vegalite_to_png(specification, scale=PNG_SCALE, allowed_base_urls=[])


def replace_undrawable(data: object) -> object:
    """The same data with every text made fit for an SVG."""
    if isinstance(data, str):
        return data.translate(UNDRAWABLE)
    if isinstance(data, dict):
        return {replace_undrawable(key): replace_undrawable(value) for key, value in data.items()}
    return [replace_undrawable(value) for value in data] if isinstance(data, list) else data
