"""Rows of different lengths computed without their padding, so that a batch costs what its tokens cost.

Rows of about the same length stand together in a group, and groups one behind the other in a single list of positions: whatever looks at one
position at a time (products, norms, activations) goes over the list once, and attention over one group after the other, each cut to its own
longest row. How the rows are grouped is found exactly: the fewest positions, where a group more costs as much as a few of them.

Warner et al. 2024 ("ModernBERT") and Portes et al. 2023 ("MosaicBERT") leave the padding out likewise; there a kernel of its own attends.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

GROUP = 8  # positions that one more group is worth


class Group(NamedTuple):
    """Some rows, each cut or filled up to one length."""

    rows: int
    length: int
    mask: Tensor | None  # (rows, 1 or length, length): who may look at whom; None if everyone may

    @property
    def positions(self) -> int:
        return self.rows * self.length


class PaddedLayout:
    """The plain layout: rows as wide as the widest of them, and a mask that hides the rest."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def pack(self, values: Tensor) -> Tensor:
        return values

    def unpack(self, x: Tensor) -> Tensor:
        return x


class UnpaddedLayout:
    """One list of positions, group after group."""

    def __init__(self, real: Tensor, mask: Tensor) -> None:
        """`real` (B, T); `mask` (B, 1 or T, T), in which padding is hidden already."""
        lengths = real.sum(1).numpy()
        order = np.argsort(lengths, kind="stable")
        columns = np.argsort(~real.numpy(), 1, kind="stable")  # of each row first what is real
        self.shape = real.shape
        self.groups: list[Group] = []
        taken = []
        for start, stop in group_borders(lengths[order]):
            rows, length = order[start:stop], max(int(lengths[order[stop - 1]]), 1)
            places = columns[rows, :length]
            taken.append((rows[:, None] * real.shape[1] + places).ravel())
            whole = mask.shape[1] == 1 and int(lengths[rows[0]]) == length
            self.groups.append(Group(len(rows), length, None if whole else slice_mask(mask, torch.from_numpy(rows), torch.from_numpy(places))))
        self.positions = torch.from_numpy(np.concatenate(taken))  # the places, among all B times T, of the positions in the list
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

    def attend(self, mix: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor], parts: Sequence[Tensor]) -> Tensor:
        """`attend_row(query, key, value, mask)` of each group, its (N, D) shaped (rows, length, D), in one list again."""
        mixed = []
        for group, *three in zip(self.groups, *(part.split(self.sizes) for part in parts), strict=True):
            query, key, value = (one.unflatten(0, (group.rows, group.length)) for one in three)
            mixed.append(mix(query, key, value, group.mask).flatten(0, 1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


def choose_layout(model: nn.Module, real: Tensor, mask: Tensor) -> PaddedLayout | UnpaddedLayout:
    """The layout that costs least; the plain one where somebody looks into the model, since what they see is in rows, on a GPU or in a compiled
    model, which would wait for the lengths, and where there is no padding and a mask is needed all the same."""
    if real.device.type != "cpu" or torch.compiler.is_compiling() or looked_at(model):
        return PaddedLayout(mask)
    return PaddedLayout(mask) if mask.shape[1] > 1 and bool(real.all()) else UnpaddedLayout(real, mask)


def looked_at(model: nn.Module) -> bool:
    """Whether somebody looks into the model, by hooks on its parts."""
    return any(part._forward_hooks for part in model.modules())


def slice_mask(mask: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """Of (B, 1 or T, T) the part of some rows and some of their places."""
    if mask.shape[1] == 1:
        return mask[rows[:, None], 0, places][:, None]
    return mask[rows[:, None, None], places[:, :, None], places[:, None, :]]


def group_borders(ascending: np.ndarray) -> list[tuple[int, int]]:
    """Where each group of rows, in order of length, starts and stops."""
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)) + 1  # rows of one length stay together
    starts = np.concatenate([[0], ends])
    costs, best = np.zeros(len(starts)), np.zeros(len(starts), np.int64)
    for number, end in enumerate(ends.tolist(), 1):
        found = costs[:number] + (end - starts[:number]) * ascending[end - 1] + GROUP
        best[number] = found.argmin()
        costs[number] = found[best[number]]
    borders, number = [], len(ends)
    while number:
        borders.append((int(starts[best[number]]), int(starts[number])))
        number = int(best[number])
    return borders[::-1]
