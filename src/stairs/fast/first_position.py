"""The first position alone, for tasks that read nothing but [CLS]: in the last block only that position is computed.

It equals `encode(batch)[:, :1]`, gradients included: tests/models/test_bert.py.
"""

from typing import Protocol

from torch import Tensor, nn

from stairs.fast.block import FastBlock
from stairs.layers.masks import padding
from stairs.text.batch import Batch


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
    """(B, 1, D). By the whole last block while it is captured, with a mask of the batch's own, where its weights are joined for inference, and where
    its attention needs positions or has a pattern."""
    last = model.blocks[-1]
    is_fast = isinstance(last, FastBlock) and last.attention.fused_projection is None and model.config.unpads
    if batch.attention_mask is not None or model.is_captured or not is_fast:
        return model.encode(batch)[:, :1]
    assert isinstance(last, FastBlock)
    return last.forward_first(model.encode(batch, len(model.blocks) - 1), padding(batch.real))
