"""What a model that goes left to right keeps of what it has read, so that each new token costs one position and not all of them."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stairs.kernels.looking import look_across, look_back


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

    def choose(self, rows: Tensor) -> None:
        """Go on with these rows, in this order, as a beam does."""
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), *old.shape[1:])
            new[:, :, : self.length] = old[:, :, : self.length].index_select(0, rows)
            setattr(self, name, new)


class Ways:
    """Keys and values of sentences that are said in several ways at once, (B, T K, D): at each step those of all K ways are added, and never moved.
    `past` (B, K, T) tells which way each had taken at each step, so that it looks at its own past alone."""

    past: Tensor

    def __init__(self, batch: int, capacity: int, width: int, heads: int, like: Tensor) -> None:
        kind = torch.float32 if like.device.type == "cpu" else like.dtype
        self.keys = torch.empty(batch, capacity, width, dtype=kind, device=like.device)
        self.values = torch.empty_like(self.keys)
        self.heads, self.length = heads, 0

    def look(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What each way takes from its past, these keys and values included, (B, K, D)."""
        start, self.length = self.length, self.length + keys.shape[1]
        self.keys[:, start : self.length], self.values[:, start : self.length] = keys, values
        if query.device.type != "cpu":
            return self.looked(query)
        mixed = torch.empty(query.shape)
        look_back(plain(query), self.keys.numpy(), self.values.numpy(), self.past.numpy(), self.heads, mixed.numpy())
        return mixed.to(query.dtype)

    def looked(self, query: Tensor) -> Tensor:
        """The same, by gathering the past of each way."""
        count, ways, steps = self.past.shape
        places = self.past + torch.arange(steps, device=query.device) * ways
        rows = torch.arange(count, device=query.device)[:, None, None]
        own = [part[rows, places].unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in (self.keys, self.values)]  # (B, K, H, T, D/H)
        alone = query.to(self.keys.dtype).unflatten(-1, (self.heads, 1, -1))
        return scaled_dot_product_attention(alone, *own).flatten(2).to(query.dtype)

    def spread(self, ways: int) -> None:
        """From one way to several, which have its past."""
        for part in (self.keys, self.values):
            part[:, : self.length * ways] = part[:, : self.length].repeat_interleave(ways, 1)
        self.length *= ways

    def choose(self, rows: Tensor) -> None:
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), *old.shape[1:])
            new[:, : self.length] = old[:, : self.length].index_select(0, rows)
            setattr(self, name, new)


class Memory(NamedTuple):
    """Keys and values (B, S, D) of texts that are looked at again and again and do not change; `lengths` (B,) of them are real."""

    keys: Tensor
    values: Tensor
    lengths: Tensor
    heads: int

    def look(self, query: Tensor) -> Tensor:
        """What queries (B, T, D) take from their text."""
        if query.device.type != "cpu":
            return self.looked(query)
        mixed = torch.empty(query.shape)
        look_across(plain(query), self.keys.numpy(), self.values.numpy(), self.lengths.numpy(), self.heads, mixed.numpy())
        return mixed.to(query.dtype)

    def looked(self, query: Tensor) -> Tensor:
        """The same, by PyTorch's kernel."""
        parts = (query.to(self.keys.dtype), self.keys, self.values)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mask = torch.arange(self.keys.shape[1], device=query.device) < self.lengths[:, None, None, None]
        return scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2).to(query.dtype)

    def chosen(self, rows: Tensor) -> "Memory":
        return Memory(self.keys[rows], self.values[rows], self.lengths[rows], self.heads)


def plain(tensor: Tensor) -> np.ndarray:
    """As the compiled loops take it."""
    return tensor.float().contiguous().numpy()
