"""The position encoding of a run: a row for each position, or for each distance where positions are relative, and a column for each dimension; and
chosen columns as curves.

Vaswani et al. 2017: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)): each pair of dimensions is a wave, longer than the one
before it. A learned encoding has whatever curves training gave it.
"""

import re
from typing import Literal, TypedDict

import torch
from torch import Tensor

from stairs.errors import BadInput, preview
from stairs.inspection.attention import Rows, rounded_rows
from stairs.inspection.views import Positions, has_positions, position_encoding, view
from stairs.layers.attention_positions import BUCKETS_REACH, BucketPositions, RelativePositions, TransformerXLPositions, distance_buckets
from stairs.tasks import Task

POSITIONS_SHOWN, DIMENSIONS_SHOWN = 64, 128  # in the table
CURVE_POSITIONS, DEFAULT_DIMENSIONS = 100, range(4, 8)  # of the best-known picture of sinusoids
MAX_CURVES = 16


class PositionsData(TypedDict):
    kind: str
    first: int  # position of the first row, or its distance
    positions: int
    width: int
    table: Rows  # a row for each position


class WavesData(TypedDict):
    kind: str
    axis: Literal["position", "distance"]
    first: int  # position or distance of the first number of a curve
    width: int  # dimensions in all
    dimensions: list[int]
    curves: Rows  # one for each of them


@view(has_positions)
def positions(task: Task, text: str = "") -> PositionsData:
    """The position encoding: a row for each position, a column for each dimension; for rotary positions, the cosines of the angles."""
    encoding = position_encoding(task.model)
    assert encoding is not None
    table, first = position_table(encoding)
    start = first_row(first, POSITIONS_SHOWN)
    shown = table[start : start + POSITIONS_SHOWN, :DIMENSIONS_SHOWN].numpy()
    return {"kind": encoding.kind, "first": first + start, "positions": len(table), "width": table.shape[1], "table": rounded_rows(shown)}


@view(has_positions)
def waves(task: Task, text: str = "", *, dimensions: str | None = None) -> WavesData:
    """Chosen dimensions of the position encoding, such as "4-7" or "0,2,8", over the positions."""
    encoding = position_encoding(task.model)
    assert encoding is not None
    table, first = position_table(encoding)
    chosen = choose_dimensions(dimensions, table.shape[1])
    start = first_row(first, CURVE_POSITIONS)
    curves = rounded_rows(table[start : start + CURVE_POSITIONS, chosen].T.numpy())
    return {
        "kind": encoding.kind, "axis": "distance" if first else "position", "first": first + start, "width": table.shape[1], "dimensions": chosen,
        "curves": curves,
    }  # fmt: skip


def position_table(encoding: Positions) -> tuple[Tensor, int]:
    """A row for each position from 0 on, or for each distance of a key from a query, and the position or distance of the first row. Relative
    positions have the vectors that are added to the keys, or in their place; buckets a number for each head, in the place of a dimension."""
    if isinstance(encoding, BucketPositions):
        distances = torch.arange(-BUCKETS_REACH, 1 if encoding.is_causal else BUCKETS_REACH + 1)
        return encoding.as_table()[distance_buckets(distances, encoding.is_causal)].detach().float(), -BUCKETS_REACH
    if isinstance(encoding, TransformerXLPositions):
        return encoding.as_table().detach().float(), -BUCKETS_REACH
    return encoding.as_table().detach().float(), -encoding.max_distance if isinstance(encoding, RelativePositions) else 0


def first_row(first: int, count: int) -> int:
    """Where to begin if so many rows are shown: at position 0, or with distances on both sides of zero."""
    return max(-first - count // 2, 0) if first else 0


def choose_dimensions(dimensions: str | None, width: int) -> list[int]:
    """The numbers that "4-7" or "0,2,8" stands for; if none are given, the ones of the first picture of sinusoids, or the first if there are few."""
    if dimensions is None:
        return list(DEFAULT_DIMENSIONS if width >= DEFAULT_DIMENSIONS.stop else range(min(width, len(DEFAULT_DIMENSIONS))))
    parts = [part.strip() for part in dimensions.split(",")]
    bounds = [re.fullmatch(r"(\d{1,9})(?:\s*-\s*(\d{1,9}))?", part, re.ASCII) for part in parts]
    chosen: dict[int, None] = {}
    for match in bounds:
        if match is None or int(match[1]) > int(match[2] or match[1]):
            raise BadInput(f"--dimensions {preview(dimensions)} is not a list of dimensions; write 4-7 or 0,2,8")
        if int(match[2] or match[1]) >= width:
            raise BadInput(f"there is no dimension {match[2] or match[1]}; this run has {width}, numbered from 0")
        chosen |= dict.fromkeys(range(int(match[1]), int(match[2] or match[1]) + 1))
    if len(chosen) > MAX_CURVES:
        raise BadInput(f"--dimensions {preview(dimensions)} are {len(chosen)} curves, more than a picture can show; choose at most {MAX_CURVES}")
    return list(chosen)
