"""A picture as an object: a notebook shows it, `save` writes it. It is SVG and needs neither a script nor the network."""

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from stairs.pictures.charts import FONT, Chart, render, save
from stairs.session import python_verb


class Drawing:
    """A picture of a run. `data` is what it shows, as plain data; `chart` is the chart of Altair, to change it."""

    def __init__(self, name: str, data: Mapping[str, object], chart: Chart) -> None:
        self.name, self.data, self.chart = name, data, chart

    @cached_property
    def svg(self) -> str:
        return standalone_svg(render(self.chart, ".svg").decode())

    @python_verb
    def save(self, path: str | Path) -> None:
        """Write it as SVG, PNG or HTML, by the ending of the name."""
        save(self.chart, path)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="background:#fff;color:#000;overflow-x:auto">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"<Drawing {self.name}; save(path) writes it as SVG, PNG or HTML>"


def standalone_svg(svg: str) -> str:
    """With ids of its own: in a page, two pictures with the same ids would take each other's clip paths. The font is named once, for all texts."""
    font = f' font-family="{FONT}"'
    if font in svg:
        svg = svg.replace(font, "").replace("<svg", f"<svg{font}", 1)
    prefix = f"p{hashlib.sha256(svg.encode()).hexdigest()[:8]}"
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\1{prefix}", svg)
