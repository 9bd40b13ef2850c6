"""What a model keeps between two decoding steps, so that each new token costs one position and not all of them.

    DecodeState      what `prefill` and `decode_step` return and continue from; `reorder` serves beam search
    KeyValueCache    keys and values of all earlier positions, one cache for each attention
    BeamCache        the same for several hypotheses of one source, which share most of their positions
    SourceCache      keys and values of a source, which do not change

Attention over a cache equals attention over all positions at once: tests/fast/test_fast_attention.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from stairs.kernels.beam_attention import attend_ancestry, attend_source
from stairs.layers.block import FastInput
from stairs.layers.recurrent import State

Attend = Callable[..., Tensor]  # query, key and value (B, H, T, D/H), and perhaps a mask, to (B, H, T, D/H)


class BlocksConfig(Protocol):
    """What decoding must know of a model made of blocks; configs themselves belong to models/, which lies above."""

    @property
    def context(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def heads(self) -> int: ...


class DecodeState(ABC):
    """Where decoding stands. A state that holds caches is filled further by each step, so it is continued from once."""

    @abstractmethod
    def reorder(self, rows: Tensor) -> Self:
        """The state of these rows, in this order; a row may be repeated or dropped, as beam search needs."""


@dataclass(frozen=True)
class IdsState(DecodeState):
    """All ids so far, (B, T), or the last few: for models that compute every step from them."""

    ids: Tensor

    def reorder(self, rows: Tensor) -> "IdsState":
        return IdsState(self.ids[rows])


@dataclass(frozen=True)
class ContextState(DecodeState):
    """The context of each row as a number: of an n-gram model the node of its trie."""

    contexts: list[int]

    def reorder(self, rows: Tensor) -> "ContextState":
        return ContextState([self.contexts[row] for row in rows.tolist()])


@dataclass(frozen=True)
class CharacterState(DecodeState):
    """The states of recurrent layers, (B, D) each, None at the start; and the characters of words, which the task looks up by id: (N,) to (N, C)."""

    character_ids: Callable[[Tensor], Tensor]
    layers: list[State] | None = None

    def reorder(self, rows: Tensor) -> "CharacterState":
        return replace(self, layers=None if self.layers is None else [tuple(part[rows] for part in layer) for layer in self.layers])


@dataclass(frozen=True)
class SourceState(DecodeState):
    """The states of a recurrent decoder, and the encoded source that it attends to. One source may have several rows, one after the other."""

    layers: list[State]
    source: Tensor  # (B, S, E), which may be another width than that of the states
    keys: Tensor  # of the source, as the attention score projects them
    mask: Tensor
    summary: Tensor  # (B, E): the whole source in one vector

    @property
    def beam_size(self) -> int:
        return len(self.layers[0][0]) // len(self.source)

    def reorder(self, rows: Tensor) -> "SourceState":
        beam_size = max(self.beam_size, len(rows) // len(self.source))  # more rows for each source than before, or as many
        kept = rows[::beam_size] // self.beam_size
        layers = [tuple(part[rows] for part in layer) for layer in self.layers]
        if len(kept) == len(self.source):
            return replace(self, layers=layers)
        return SourceState(layers, *(part[kept] for part in (self.source, self.keys, self.mask, self.summary)))


class KeyValueCache:
    """Keys and values of one attention, (B, H, capacity, D/H), allocated once and filled from the left."""

    def __init__(self, batch: int, heads: int, capacity: int, width: int, like: Tensor) -> None:
        self.keys = torch.empty(batch, heads, capacity, width, dtype=cache_dtype(like), device=like.device)
        self.values = torch.empty_like(self.keys)
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of all positions so far, these included."""
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def reorder(self, rows: Tensor) -> None:
        self.keys, self.values = (copy_rows(part, rows, 2, self.length) for part in (self.keys, self.values))


@dataclass(frozen=True)
class CachedMask(FastInput):
    """New positions that attend to those in a cache, too: the mask is over both."""

    cache: KeyValueCache
    mask: Tensor | None
    key_ids: Tensor | None = None  # positions of all keys, (S,) or (B, S)


class BeamCache(FastInput):
    """Keys and values of several hypotheses for each source, (B, T K, D): each step adds those of all K hypotheses and moves none.
    `ancestry` (B, K, T) says which hypothesis of step t each of today's continues, so that it attends to its own past alone."""

    ancestry: Tensor

    def __init__(self, batch: int, capacity: int, width: int, heads: int, like: Tensor) -> None:
        self.keys = torch.empty(batch, capacity, width, dtype=cache_dtype(like), device=like.device)
        self.values = torch.empty_like(self.keys)
        self.heads, self.length = heads, 0

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, attend: Attend | None = None) -> Tensor:
        """Each hypothesis over its own past, these keys and values included, (B, K, D); by `attend` if it is no scaled dot product."""
        start, self.length = self.length, self.length + keys.shape[1]
        self.keys[:, start : self.length], self.values[:, start : self.length] = keys, values
        if attend is None and query.device.type == "cpu":
            return attend_compiled(attend_ancestry, query, self, self.ancestry)
        return self.attend_by_torch(query, attend or scaled_dot_product_attention)

    def attend_by_torch(self, query: Tensor, attend: Attend = scaled_dot_product_attention) -> Tensor:
        """The same by PyTorch's kernel, after gathering the past of each hypothesis."""
        sources, beam_size, steps = self.ancestry.shape
        columns = self.ancestry + torch.arange(steps, device=query.device) * beam_size
        rows = torch.arange(sources, device=query.device)[:, None, None]
        own = [part[rows, columns].flatten(0, 1).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.keys, self.values)]
        heads = query.to(self.keys.dtype).flatten(0, 1).unflatten(-1, (self.heads, 1, -1))  # (B K, H, 1, D/H) over (B K, H, T, D/H)
        return attend(heads, *own).reshape(query.shape).to(query.dtype)

    def expand(self, beam_size: int) -> None:
        """From one hypothesis to several, which share its past."""
        for part in (self.keys, self.values):
            part[:, : self.length * beam_size] = part[:, : self.length].repeat_interleave(beam_size, 1)
        self.length *= beam_size

    def reorder(self, sources: Tensor) -> None:
        self.keys, self.values = (copy_rows(part, sources, 1, self.length) for part in (self.keys, self.values))


@dataclass(frozen=True)
class SourceCache(FastInput):
    """Keys and values (B, S, D) of sources that every step attends to; `lengths` (B,) of them are real."""

    keys: Tensor
    values: Tensor
    lengths: Tensor
    heads: int

    def attend(self, query: Tensor, attend: Attend | None = None) -> Tensor:
        """Queries (B, T, D) over their source; by `attend` if it is no scaled dot product."""
        if attend is None and query.device.type == "cpu":
            return attend_compiled(attend_source, query, self, self.lengths)
        return self.attend_by_torch(query, attend or scaled_dot_product_attention)

    def attend_by_torch(self, query: Tensor, attend: Attend = scaled_dot_product_attention) -> Tensor:
        """The same by PyTorch's kernel."""
        parts = (query.to(self.keys.dtype), self.keys, self.values)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mask = torch.arange(self.keys.shape[1], device=query.device) < self.lengths[:, None, None, None]
        return attend(q, k, v, mask).transpose(1, 2).flatten(2).to(query.dtype)

    def reorder(self, sources: Tensor) -> "SourceCache":
        return SourceCache(self.keys[sources], self.values[sources], self.lengths[sources], self.heads)


def attend_compiled(kernel: Callable[..., None], query: Tensor, cache: BeamCache | SourceCache, extent: Tensor) -> Tensor:
    """A query over a cache by a compiled loop; `extent` says which part of the cache each query attends to."""
    mixed = torch.empty(query.shape)
    kernel(query.float().contiguous().numpy(), cache.keys.numpy(), cache.values.numpy(), extent.numpy(), cache.heads, mixed.numpy())
    return mixed.to(query.dtype)


def cache_dtype(like: Tensor) -> torch.dtype:
    """On a CPU float32 whatever the model is in: attention with few queries is several times slower in bfloat16."""
    return torch.float32 if like.device.type == "cpu" else like.dtype


def copy_rows(part: Tensor, rows: Tensor, axis: int, length: int) -> Tensor:
    """Some rows, of which so much is filled along an axis; the rest is not copied."""
    new = part.new_empty(len(rows), *part.shape[1:])
    new.narrow(axis, 0, length).copy_(part.narrow(axis, 0, length).index_select(0, rows))
    return new
