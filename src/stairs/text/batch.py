"""A Batch: ids, which of them are tokens, and what the loss compares with. B rows, T positions, S source positions, C characters, D width.

torch is imported where a tensor is made, so that a model that needs arrays only can be asked without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stairs.text.trees import NO_DEPTH as NO_DEPTH
from stairs.text.trees import NO_DISTANCE as NO_DISTANCE

if TYPE_CHECKING:
    import torch
    from torch import Tensor

IGNORE_INDEX = -100  # the target of a position without one


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, T)
    real: Tensor  # (B, T) bool: a token, not padding
    targets: Tensor | None = None  # what the loss compares with, IGNORE_INDEX elsewhere
    segments: Tensor | None = None  # (B, T) token type ids
    characters: Tensor | None = None  # (B, T, C) character ids of each word
    labels: Tensor | None = None  # (B,) the label of each row, or (B, L) which labels it has
    vectors: Tensor | None = None  # (B, D) or (B, T, D): features of an encoder, computed before
    position_ids: Tensor | None = None  # (B, T), if not 0, 1, 2 and so on; negative ones are those of a memory before the row
    attention_mask: Tensor | None = None  # (B, T, T) bool: which position attends to which, if not each to all
    tree_distances: Tensor | None = None  # (B, T, T) signed distances in a dependency tree, NO_DISTANCE from and to what is no word
    tree_depths: Tensor | None = None  # (B, T) depths in it, NO_DEPTH for what is no word
    source: Batch | None = None  # (B, S) the source side of an encoder-decoder

    def to(self, device: torch.device) -> Batch:
        return replace(self, **{name: part.to(device) for name, part in vars(self).items() if part is not None})


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray], pad_id: int) -> tuple[Tensor, Tensor]:
    """Rows of different lengths as one (B, T) tensor, and which of its positions are real."""
    import torch

    ids, real = pad_arrays(rows, pad_id)
    return torch.from_numpy(ids), torch.from_numpy(real)


def pad_arrays(rows: Sequence[Sequence[int] | np.ndarray], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """The same as arrays."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    real = np.arange(max(lengths, default=0)) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int64)
    ids[real] = np.concatenate([np.zeros(0, np.int64), *rows])
    return ids, real


def batches_by_length(lengths: Sequence[int], max_positions: int) -> Iterator[list[int]]:
    """The numbers of all rows, shortest first, in batches of at most so many positions, so that little of a batch is padding."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > max_positions:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def batches_in_order(lengths: Sequence[int], max_positions: int) -> Iterator[range]:
    """The numbers of all rows in their order, in batches of at most so many positions; a longer row is a batch of its own."""
    start, longest = 0, 0
    for number, length in enumerate(lengths):
        longest = max(longest, length)
        if number > start and (number + 1 - start) * longest > max_positions:
            yield range(start, number)
            start, longest = number, length
    if start < len(lengths):
        yield range(start, len(lengths))


def next_token_batch(rows: Sequence[Sequence[int] | np.ndarray], begin: int, end: int | None, pad: int) -> Batch:
    """The target of each position is the next token, that of the last one `end` (none if it is None)."""
    import torch

    ids, real, targets = map(torch.from_numpy, next_token_arrays(rows, begin, end, pad))
    return Batch(ids, real, targets)


def next_token_arrays(rows: Sequence[Sequence[int] | np.ndarray], begin: int, end: int | None, pad: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, which of them are real, and targets of the same, as arrays."""
    ids, real = pad_arrays([np.concatenate([[begin], row]) for row in rows], pad)
    last = IGNORE_INDEX if end is None else end
    targets, _ = pad_arrays([np.concatenate([row, [last]]) for row in rows], IGNORE_INDEX)
    return ids, real, targets


def next_token_targets(batch: Batch) -> Batch:
    """The same rows with the next token as target of each position."""
    import torch

    following = torch.cat([batch.ids[:, 1:], batch.ids[:, :1]], 1)
    real = torch.cat([batch.real[:, 1:], torch.zeros_like(batch.real[:, :1])], 1)
    return replace(batch, targets=following.masked_fill(~real, IGNORE_INDEX))


class TrainingRows(Protocol):
    """What training goes through."""

    lengths: np.ndarray  # tokens of each row

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        """Some of the rows; the same ones for the same arguments."""
