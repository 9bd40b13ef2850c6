"""Decoding with a masked language model that can read from left to right, as UniLM can (Dong et al. 2019): a [MASK] behind the tokens is filled.

    keys and values = those of the tokens so far, kept; each token attends to those before it, and within a source to all
    p(next token)   = softmax at the [MASK] behind them, whose own keys and values are dropped again

It equals predicting the whole row anew at every step, which `predict_next` does: tests/models/test_unilm.py.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.fast.decode_state import BlocksConfig, CachedMask, DecodeState, KeyValueCache
from stairs.layers.masks import causal, prefix
from stairs.text.batch import Batch

BIDIRECTIONAL, LEFT_TO_RIGHT, RIGHT_TO_LEFT, SOURCE, TARGET = 0, 2, 3, 4, 5  # segments; 1 is the second part of a bidirectional row


class MaskedModelConfig(BlocksConfig, Protocol):
    @property
    def mask(self) -> int: ...


class MaskedModel(Protocol):
    """What decoding needs of a model."""

    @property
    def config(self) -> MaskedModelConfig: ...

    tokens: nn.Embedding
    blocks: nn.ModuleList

    def embed(self, ids: Tensor, segments: Tensor, position_ids: Tensor) -> Tensor: ...

    def logits(self, hidden: Tensor) -> Tensor: ...

    def predict(self, batch: Batch) -> Tensor: ...


@dataclass
class MaskedState(DecodeState):
    """The ids so far, (B, T), their keys and values, and how many of them are a source."""

    ids: Tensor
    caches: list[KeyValueCache]
    source_length: int = 0
    expects_source: bool = False  # the first ids are a source, which is read in both directions

    def reorder(self, rows: Tensor) -> "MaskedState":
        for cache in self.caches:
            cache.reorder(rows)
        return replace(self, ids=self.ids[rows])


def empty_state(model: MaskedModel, rows: int, expects_source: bool = False) -> MaskedState:
    """The state before the first ids: those of a text, or with `expects_source` a whole source, [CLS] to [SEP]."""
    config, like = model.config, model.tokens.weight
    caches = [KeyValueCache(rows, config.heads, config.context, config.width // config.heads, like) for _ in model.blocks]
    return MaskedState(torch.zeros(rows, 0, dtype=torch.int64, device=like.device), caches, expects_source=expects_source)


@torch.no_grad()
def prefill(model: MaskedModel, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """Read ids (B, T) after those of the state: logits of the next token of each row, (B, V), and the new state. When the context is full, the older
    half of a text is forgotten; what follows a source has to fit."""
    state = empty_state(model, len(ids)) if state is None else state
    assert isinstance(state, MaskedState)
    context, length = model.config.context, state.ids.shape[1] + ids.shape[1] + 1
    if length > context:
        if state.source_length or state.expects_source:
            raise BadInput(f"the text and what follows it have more than the {context} tokens that fit; give a shorter text or a smaller length")
        ids, state = torch.cat([state.ids, ids], 1)[:, -(context // 2) :], empty_state(model, len(ids))
    start = state.ids.shape[1]
    row = torch.cat([state.ids, ids, torch.full_like(ids[:, :1], model.config.mask)], 1)
    state = replace(state, ids=row[:, :-1], expects_source=False, source_length=row.shape[1] - 1 if state.expects_source else state.source_length)
    position_ids, mask = torch.arange(row.shape[1], device=ids.device), row_mask(state)[start:]
    x = model.embed(row[:, start:], row_segments(state)[:, start:], position_ids[start:])
    for block, cache in zip(model.blocks, state.caches, strict=True):
        x = block(x, CachedMask(cache, mask, position_ids), position_ids=position_ids[start:])
        cache.length -= 1
    return model.logits(x[:, -1]).float(), state


@torch.no_grad()
def predict_next(model: MaskedModel, state: MaskedState) -> Tensor:
    """The same logits from the whole row, (B, V)."""
    row = torch.cat([state.ids, torch.full_like(state.ids[:, :1], model.config.mask)], 1)
    mask = row_mask(state).expand(len(row), -1, -1)
    return model.predict(Batch(row, torch.ones_like(row, dtype=torch.bool), segments=row_segments(state), attention_mask=mask))[:, -1]


def row_mask(state: MaskedState) -> Tensor:
    """Of the ids and the [MASK] behind them: (T + 1, T + 1)."""
    length = state.ids.shape[1] + 1
    return prefix(length, state.source_length, state.ids.device) if state.source_length else causal(length, state.ids.device)


def row_segments(state: MaskedState) -> Tensor:
    """Of the ids and the [MASK] behind them: (B, T + 1)."""
    rows, length = state.ids.shape
    if not state.source_length:
        return torch.full((rows, length + 1), LEFT_TO_RIGHT, device=state.ids.device)
    positions = torch.arange(length + 1, device=state.ids.device)
    return torch.where(positions < state.source_length, SOURCE, TARGET).expand(rows, -1)
