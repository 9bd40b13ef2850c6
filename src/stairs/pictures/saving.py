"""A chart as a file: SVG, PNG, or a page that needs no network."""

import os
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.files import flush, said_plainly

ENDINGS = (".svg", ".png", ".html")
SHARPNESS = 2.0  # pixels of a PNG per pixel of the picture, for screens that have so many


def save(chart: Any, path: str | Path) -> None:
    """Write the picture in the format its name ends with, whole or not at all."""
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise BadInput(f"{path} is no name of a picture; let it end in {', '.join(ENDINGS)}")
    if target.exists() and not target.is_file():
        raise BadInput(f"{path} is {'a folder' if target.is_dir() else 'a device or a pipe'}; give the name of a file")
    content = drawn(chart, target.suffix)
    aside = target.with_name(f".tmp-{os.getpid()}-{target.name}")
    with said_plainly(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_bytes(content)
            flush(aside)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)


def drawn(chart: Any, ending: str) -> bytes:
    if ending == ".html":
        return chart.to_html(inline=True).encode()
    import vl_convert

    if ending == ".svg":
        return vl_convert.vegalite_to_svg(chart.to_json()).encode()
    return vl_convert.vegalite_to_png(chart.to_json(), scale=SHARPNESS)
