"""A Batch: ids, what is real in them, and what is asked. B batch, T positions, S source positions, C characters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

IGNORE_INDEX = -100  # a target that nobody asks for


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, T)
    real: Tensor  # (B, T) bool: a token, not padding
    targets: Tensor | None = None  # what the task's loss compares with, IGNORE elsewhere
    segments: Tensor | None = None  # (B, T)
    characters: Tensor | None = None  # (B, T, C)
    labels: Tensor | None = None  # (B,) what is asked of a row as a whole
    vectors: Tensor | None = None  # (B, D) or (B, T, D): what an encoder said of the rows before
    position_ids: Tensor | None = None  # (B, T) where each token stands, if not simply one after the other
    attention_mask: Tensor | None = None  # (B, T, T) who may look at whom, if not everyone at everyone
    source: "Batch | None" = None

    def to(self, device: torch.device) -> "Batch":
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {name: None if part is None else part.to(device) for name, part in held.items()}
        return Batch(**moved)


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray], pad_id: int) -> tuple[Tensor, Tensor]:
    """Rows of different lengths as one (B, T) tensor, and what is real in it."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    real = np.arange(max(lengths, default=0)) < lengths[:, None]
    ids = np.full(real.shape, pad_id, np.int64)
    if len(rows):
        ids[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(real)


def batches_by_length(lengths: Sequence[int], max_positions: int) -> Iterator[list[int]]:
    """The numbers of all rows, shortest first, cut where a batch would have more than so many positions: hardly any of them is padding."""
    waiting: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if waiting and (len(waiting) + 1) * lengths[number] > max_positions:
            yield waiting
            waiting = []
        waiting.append(number)
    if waiting:
        yield waiting


def next_token_batch(rows: Sequence[Sequence[int] | np.ndarray], begin: int, end: int | None, pad: int) -> Batch:
    """Each row asks, at every position, for what comes next, and after the last for `end` (for nothing if it is None)."""
    ids, real = pad_rows([np.concatenate([[begin], row]) for row in rows], pad)
    last = IGNORE_INDEX if end is None else end
    targets, _ = pad_rows([np.concatenate([row, [last]]) for row in rows], IGNORE_INDEX)
    return Batch(ids, real, targets)
