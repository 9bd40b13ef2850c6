"""What a model that goes left to right keeps of what it has read, so that each new token costs one position and not all of them."""

from typing import NamedTuple

import torch
from torch import Tensor


class KeyValues:
    """Keys and values of one attention, (B, H, capacity, D/H), allocated once and filled from the left.

    On a CPU they are in float32 whatever the model is in: attention with one query is several times slower in bfloat16.
    """

    def __init__(self, batch: int, heads: int, capacity: int, width: int, like: Tensor) -> None:
        kind = torch.float32 if like.device.type == "cpu" else like.dtype
        self.keys = torch.empty(batch, heads, capacity, width, dtype=kind, device=like.device)
        self.values = torch.empty_like(self.keys)
        self.length = 0

    def extended(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Everything read so far, these included."""
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def spread(self, times: int) -> None:
        """What was read so far, so many times, each position beside itself."""
        for part in (self.keys, self.values):
            part[:, :, : self.length * times] = part[:, :, : self.length].repeat_interleave(times, 2)
        self.length *= times

    def choose(self, rows: Tensor) -> None:
        """Go on with these rows, in this order, as a beam does."""
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), *old.shape[1:])
            new[:, :, : self.length] = old[:, :, : self.length].index_select(0, rows)
            setattr(self, name, new)


class Memory(NamedTuple):
    """Keys and values of a text that is looked at again and again and does not change, (B, H, S, D/H) each."""

    keys: Tensor
    values: Tensor

    def chosen(self, rows: Tensor) -> "Memory":
        return Memory(self.keys.index_select(0, rows), self.values.index_select(0, rows))
