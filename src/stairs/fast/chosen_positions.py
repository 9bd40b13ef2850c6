"""Some positions alone: [CLS], for tasks that read nothing else, and those with a target, for the masked words of a training. In the last block only
they are computed: its keys and values are those of all positions, its queries and everything after the attention theirs.

It equals what `encode` gives for them, gradients included: tests/models/test_bert.py.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from stairs.fast.block import FastBlock
from stairs.layers.masks import padding
from stairs.text.batch import IGNORE_INDEX, Batch


class EncoderConfig(Protocol):
    @property
    def unpads(self) -> bool: ...


class BlockEncoder(Protocol):
    """What it needs of a model."""

    blocks: nn.ModuleList
    is_captured: bool

    @property
    def config(self) -> EncoderConfig: ...

    def encode(self, batch: Batch, blocks: int | None = None) -> Tensor: ...


def encode_cls(model: BlockEncoder, batch: Batch) -> Tensor:
    """(B, 1, D)."""
    first = torch.zeros(len(batch.ids), 1, dtype=torch.int64, device=batch.ids.device)
    chosen = encode_at(model, batch, first)
    return model.encode(batch)[:, :1] if chosen is None else chosen


def encode_masked(model: BlockEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    """The vectors of the masked words, (N, D), and where the batch has labels of pairs, those of [CLS], (B, 1, D): nothing else is read."""
    assert batch.targets is not None
    is_masked = batch.targets != IGNORE_INDEX
    is_read = is_masked | ((torch.arange(is_masked.shape[1], device=is_masked.device) == 0) & (batch.labels is not None))
    vectors = encode_where(model, batch, is_read)
    return vectors[is_masked[is_read]], vectors[~is_masked[is_read]][:, None]


def encode_where(model: BlockEncoder, batch: Batch, chosen: Tensor) -> Tensor:
    """The vectors of the positions where `chosen` (B, T) holds, row by row, (N, D)."""
    counts = chosen.sum(1)
    columns = torch.arange(max(int(counts.max()), 1), device=chosen.device)
    positions = (~chosen).to(torch.uint8).argsort(dim=1, stable=True)[:, : len(columns)]  # of each row the chosen ones first
    vectors = encode_at(model, batch, positions)
    return model.encode(batch)[chosen] if vectors is None else vectors[columns < counts[:, None]]


def encode_at(model: BlockEncoder, batch: Batch, positions: Tensor) -> Tensor | None:
    """The vectors at `positions` (B, M), (B, M, D). None where they need the whole last block: while it is captured, with a mask of the batch's own,
    where its weights are joined for inference, and where its attention needs positions or has a pattern."""
    last = model.blocks[-1]
    is_fast = isinstance(last, FastBlock) and last.attention.fused_projection is None and model.config.unpads
    if batch.attention_mask is not None or model.is_captured or not is_fast:
        return None
    assert isinstance(last, FastBlock)
    return last.forward_at(model.encode(batch, len(model.blocks) - 1), padding(batch.real), positions)
