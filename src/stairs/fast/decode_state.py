"""What a model that goes left to right keeps of what it has read, so that each new token costs one position and not all of them."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stairs.kernels.beam_attention import attend_ancestry, attend_source


class KeyValueCache:
    """Keys and values of one attention, (B, H, capacity, D/H), allocated once and filled from the left."""

    def __init__(self, batch: int, heads: int, capacity: int, width: int, like: Tensor) -> None:
        self.keys = torch.empty(batch, heads, capacity, width, dtype=cache_dtype(like), device=like.device)
        self.values = torch.empty_like(self.keys)
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Everything read so far, these included."""
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def reorder(self, rows: Tensor) -> None:
        """Go on with these rows, in this order, as a beam does."""
        self.keys, self.values = (copy_rows(part, rows, 2, self.length) for part in (self.keys, self.values))


class BeamCache:
    """Keys and values of sentences that are said in several ways at once, (B, T K, D): at each step those of all K ways are added, and never moved.
    `ancestry` (B, K, T) tells which way each had taken at each step, so that it looks at its own past alone."""

    ancestry: Tensor

    def __init__(self, batch: int, capacity: int, width: int, heads: int, like: Tensor) -> None:
        self.keys = torch.empty(batch, capacity, width, dtype=cache_dtype(like), device=like.device)
        self.values = torch.empty_like(self.keys)
        self.heads, self.length = heads, 0

    def attend(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What each way takes from its past, these keys and values included, (B, K, D)."""
        start, self.length = self.length, self.length + keys.shape[1]
        self.keys[:, start : self.length], self.values[:, start : self.length] = keys, values
        return attend_compiled(attend_ancestry, query, self, self.ancestry) if query.device.type == "cpu" else self.attend_by_gather(query)

    def attend_by_gather(self, query: Tensor) -> Tensor:
        """The same, by gathering the past of each way."""
        count, ways, steps = self.ancestry.shape
        places = self.ancestry + torch.arange(steps, device=query.device) * ways
        rows = torch.arange(count, device=query.device)[:, None, None]
        own = [part[rows, places].unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in (self.keys, self.values)]  # (B, K, H, T, D/H)
        alone = query.to(self.keys.dtype).unflatten(-1, (self.heads, 1, -1))
        return scaled_dot_product_attention(alone, *own).flatten(2).to(query.dtype)

    def expand(self, ways: int) -> None:
        """From one way to several, which have its past."""
        for part in (self.keys, self.values):
            part[:, : self.length * ways] = part[:, : self.length].repeat_interleave(ways, 1)
        self.length *= ways

    def reorder(self, rows: Tensor) -> None:
        self.keys, self.values = (copy_rows(part, rows, 1, self.length) for part in (self.keys, self.values))


class SourceCache(NamedTuple):
    """Keys and values (B, S, D) of texts that are looked at again and again and do not change; `lengths` (B,) of them are real."""

    keys: Tensor
    values: Tensor
    lengths: Tensor
    heads: int

    def attend(self, query: Tensor) -> Tensor:
        """What queries (B, T, D) take from their text."""
        return attend_compiled(attend_source, query, self, self.lengths) if query.device.type == "cpu" else self.attend_by_gather(query)

    def attend_by_gather(self, query: Tensor) -> Tensor:
        """The same, by PyTorch's kernel."""
        parts = (query.to(self.keys.dtype), self.keys, self.values)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mask = torch.arange(self.keys.shape[1], device=query.device) < self.lengths[:, None, None, None]
        return scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2).to(query.dtype)

    def reorder(self, rows: Tensor) -> "SourceCache":
        return SourceCache(self.keys[rows], self.values[rows], self.lengths[rows], self.heads)


def attend_compiled(look: Callable[..., None], query: Tensor, kept: BeamCache | SourceCache, seen: Tensor) -> Tensor:
    """What the compiled loop `view` lets a query take from what is kept; `seen` says how much of it."""
    mixed = torch.empty(query.shape)
    look(query.float().contiguous().numpy(), kept.keys.numpy(), kept.values.numpy(), seen.numpy(), kept.heads, mixed.numpy())
    return mixed.to(query.dtype)


def cache_dtype(like: Tensor) -> torch.dtype:
    """On a CPU float32 whatever the model is in: attention with few queries is several times slower in bfloat16."""
    return torch.float32 if like.device.type == "cpu" else like.dtype


def copy_rows(part: Tensor, rows: Tensor, axis: int, length: int) -> Tensor:
    """Some rows, of which so much is filled along an axis; the rest is not copied."""
    new = part.new_empty(len(rows), *part.shape[1:])
    new.narrow(axis, 0, length).copy_(part.narrow(axis, 0, length).index_select(0, rows))
    return new
