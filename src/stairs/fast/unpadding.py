"""Rows of different lengths computed without their padding, so that a batch costs what its tokens cost.

Rows of about the same length form a group, and the groups follow one another in a single list of positions: whatever works position by position
(products, norms, activations) passes over the list once, and attention over one group after the other, each cut to its own longest row. The grouping
is optimal: the fewest positions, where one more group counts as a few of them.

It equals the padded computation at every real position: tests/fast/test_unpadding.py.
Warner et al. 2024 ("ModernBERT") and Portes et al. 2023 ("MosaicBERT") leave the padding out likewise; their attention has its own kernel for it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from stairs.layers.attention import FastInput

GROUP = 8  # positions that one more group is worth


class Group(NamedTuple):
    """Some rows, each cut or padded to one length."""

    rows: int
    length: int
    mask: Tensor | None  # (rows, 1 or length, length): None if every position may attend to every other

    @property
    def positions(self) -> int:
        return self.rows * self.length


class PaddedLayout:
    """The plain layout: rows as wide as the widest of them, and a mask over the rest."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def pack(self, values: Tensor) -> Tensor:
        return values

    def unpack(self, x: Tensor) -> Tensor:
        return x


class UnpaddedLayout(FastInput):
    """One list of positions, group after group."""

    def __init__(self, real: Tensor, mask: Tensor) -> None:
        """`real` (B, T); `mask` (B, 1 or T, T), in which padding is masked already."""
        lengths = real.sum(1).numpy()
        order = np.argsort(lengths, kind="stable")
        columns = np.argsort(~real.numpy(), 1, kind="stable")  # of each row first what is real
        self.shape = real.shape
        self.groups: list[Group] = []
        positions = []
        for start, stop in group_borders(lengths[order]):
            rows, length = order[start:stop], max(int(lengths[order[stop - 1]]), 1)
            own = columns[rows, :length]
            positions.append((rows[:, None] * real.shape[1] + own).ravel())
            needs_mask = mask.shape[1] > 1 or int(lengths[rows[0]]) < length
            self.groups.append(Group(len(rows), length, slice_mask(mask, torch.from_numpy(rows), torch.from_numpy(own)) if needs_mask else None))
        self.positions = torch.from_numpy(np.concatenate(positions))  # of the list, among all B times T
        self.sizes = [group.positions for group in self.groups]

    @property
    def mask(self) -> "UnpaddedLayout":
        return self

    def pack(self, values: Tensor) -> Tensor:
        """(B, T, ...) to the list (N, ...)."""
        return values.flatten(0, 1).index_select(0, self.positions)

    def unpack(self, x: Tensor) -> Tensor:
        """The list (N, D) to (B, T, D), zeros where nothing is real."""
        return x.new_zeros(self.shape.numel(), x.shape[-1]).index_copy(0, self.positions, x).unflatten(0, self.shape)

    def attend(self, attend: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor], projected: Sequence[Tensor]) -> Tensor:
        """`attend(query, key, value, mask)` for each group, its (N, D) shaped (rows, length, D), in one list again."""
        mixed = []
        for group, *three in zip(self.groups, *(part.split(self.sizes) for part in projected), strict=True):
            query, key, value = (one.unflatten(0, (group.rows, group.length)) for one in three)
            mixed.append(attend(query, key, value, group.mask).flatten(0, 1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


Layout = PaddedLayout | UnpaddedLayout


def choose_layout(real: Tensor, mask: Tensor) -> Layout:
    """The layout that costs least. The padded one on a GPU and in a compiled model, which would wait for the lengths, and where there is no padding
    but a mask is needed all the same."""
    if real.device.type != "cpu" or torch.compiler.is_compiling():
        return PaddedLayout(mask)
    return PaddedLayout(mask) if mask.shape[1] > 1 and bool(real.all()) else UnpaddedLayout(real, mask)


def slice_mask(mask: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Of a mask (B, 1 or T, T) the part of some rows and some of their positions."""
    if mask.shape[1] == 1:
        return mask[rows[:, None], 0, columns][:, None]
    return mask[rows[:, None, None], columns[:, :, None], columns[:, None, :]]


def group_borders(ascending: np.ndarray) -> list[tuple[int, int]]:
    """Where each group of rows, in order of length, starts and stops."""
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)) + 1  # rows of one length stay together
    starts = np.concatenate([[0], ends])
    costs, best = np.zeros(len(starts)), np.zeros(len(starts), np.int64)
    for number, end in enumerate(ends.tolist(), 1):
        totals = costs[:number] + (end - starts[:number]) * ascending[end - 1] + GROUP
        best[number] = totals.argmin()
        costs[number] = totals[best[number]]
    borders, number = [], len(ends)
    while number:
        borders.append((int(starts[best[number]]), int(starts[number])))
        number = int(best[number])
    return borders[::-1]
