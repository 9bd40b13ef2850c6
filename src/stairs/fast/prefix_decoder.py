"""Decoding with a causal model: the prompt is read once, and each new token costs one position.

It equals predicting the whole text anew at every step, which is what a model without it does (`Model.decode_step`): tests/models/test_gpt.py.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from stairs.fast.decode_state import BlocksConfig, CachedMask, DecodeState, KeyValueCache
from stairs.layers.masks import padding


class CausalModel(Protocol):
    """What decoding needs of a model."""

    @property
    def config(self) -> BlocksConfig: ...

    tokens: nn.Embedding
    blocks: nn.ModuleList

    @property
    def reads_at_most(self) -> int: ...

    def check_length(self, length: int) -> int: ...

    def run_blocks(self, ids: Tensor, position_ids: Tensor, *masks: CachedMask) -> Tensor: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


@dataclass
class PrefixState(DecodeState):
    """The ids so far, (B, capacity), and their keys and values."""

    ids: Tensor
    real: Tensor
    caches: list[KeyValueCache]
    length: int = 0
    is_unpadded: bool = True  # every id so far is real

    def reorder(self, rows: Tensor) -> "PrefixState":
        for cache in self.caches:
            cache.reorder(rows)
        return PrefixState(self.ids[rows], self.real[rows], self.caches, self.length, self.is_unpadded)


@torch.no_grad()
def prefill(model: CausalModel, ids: Tensor, state: DecodeState | None = None, real: Tensor | None = None) -> tuple[Tensor, DecodeState]:
    """Read ids (B, T) after those of the state: logits of the next token of each row, (B, V), and the new state. `real` marks padding.

    When the context is full, the older half of it is forgotten; where there is a memory beside the context, all but the memory.
    """
    logits, state = extend(model, ids, state, real)
    return logits.float(), state


def extend(model: CausalModel, ids: Tensor, state: DecodeState | None, real: Tensor | None) -> tuple[Tensor, PrefixState]:
    rows, length = ids.shape
    model.check_length(length)
    if state is None:
        state = empty_state(model, rows, length)
    assert isinstance(state, PrefixState)
    capacity = state.ids.shape[1]
    if state.length + length > capacity:
        memory = model.reads_at_most - model.config.context
        state = shorten(model, state, min(memory or capacity // 2, capacity - length))
    start, stop = state.length, state.length + length
    state.ids[:, start:stop] = ids
    state.real[:, start:stop] = True if real is None else real
    state.is_unpadded &= real is None or bool(real.all())
    state.length = stop
    if state.is_unpadded:
        key_ids = torch.arange(stop, device=ids.device)
        mask = None if length == 1 else torch.ones(length, stop, dtype=torch.bool, device=ids.device).tril(start)
        return model.logits(model.run_blocks(ids, key_ids[start:], *cached_masks(state, mask, key_ids))[:, -1]), state
    seen = state.real[:, :stop]
    key_ids = (seen.cumsum(1) - 1).clamp(min=0)
    mask = torch.ones(length, stop, dtype=torch.bool, device=ids.device).tril(start) & padding(seen)
    last = (seen[:, start:] * torch.arange(1, length + 1, device=ids.device)).argmax(1)  # the last real id of each row
    hidden = model.run_blocks(ids, key_ids[:, start:], *cached_masks(state, mask, key_ids))
    return model.logits(hidden[torch.arange(rows, device=ids.device), last]), state


def cached_masks(state: PrefixState, mask: Tensor | None, key_ids: Tensor) -> list[CachedMask]:
    return [CachedMask(cache, mask, key_ids) for cache in state.caches]


def empty_state(model: CausalModel, rows: int, length: int = 0) -> PrefixState:
    """Room for a context, or for a text beyond it and half a context more."""
    config, like = model.config, model.tokens.weight
    capacity = model.reads_at_most if length <= model.reads_at_most else length + config.context // 2
    caches = [KeyValueCache(rows, config.heads, capacity, config.width // config.heads, like) for _ in model.blocks]
    ids = torch.zeros(rows, capacity, dtype=torch.int64, device=like.device)
    return PrefixState(ids, torch.zeros_like(ids, dtype=torch.bool), caches)


def shorten(model: CausalModel, state: PrefixState, length: int) -> PrefixState:
    """The last columns of a full context, read again from the first position on."""
    shorter = empty_state(model, len(state.ids))
    if length:
        columns = slice(state.length - length, state.length)
        extend(model, state.ids[:, columns], shorter, None if state.is_unpadded else state.real[:, columns])
    return shorter
