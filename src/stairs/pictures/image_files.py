"""A chart as a file: SVG, PNG, or a page that needs no network."""

import json
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.files import write_atomically

ENDINGS = (".svg", ".png", ".html")
CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}  # each has a character that shows it
UNDRAWABLE = {**CONTROLS, **dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), 0xFFFD)}  # none may stand in an SVG: Vega's renderer would abort
PNG_SCALE = 2.0  # pixels of a PNG per pixel of the picture, for screens that have so many


def save(chart: Any, path: str | Path) -> None:
    """Write the picture in the format its name ends with, whole or not at all."""
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise BadInput(f"{path} is no name of a picture; let it end in {', '.join(ENDINGS)}")
    if target.exists() and not target.is_file():
        raise BadInput(f"{path} is {'a folder' if target.is_dir() else 'a device or a pipe'}; give the name of a file")
    write_atomically(target, render(chart, target.suffix))


def render(chart: Any, ending: str) -> bytes:
    """The content of the file. Nothing that a chart might name is fetched."""
    if ending == ".html":
        return chart.to_html(inline=True).encode()
    import vl_convert

    described = json.dumps(replace_undrawable(chart.to_dict()))
    if ending == ".svg":
        return vl_convert.vegalite_to_svg(described, allowed_base_urls=[]).encode()
    return vl_convert.vegalite_to_png(described, scale=PNG_SCALE, allowed_base_urls=[])


def replace_undrawable(data: Any) -> Any:
    """The same with every text made fit for an SVG."""
    if isinstance(data, str):
        return data.translate(UNDRAWABLE)
    if isinstance(data, dict):
        return {replace_undrawable(key): replace_undrawable(value) for key, value in data.items()}
    return [replace_undrawable(value) for value in data] if isinstance(data, list) else data
