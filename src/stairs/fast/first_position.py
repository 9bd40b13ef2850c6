"""The first position alone, for tasks that read nothing but [CLS]: in the last block only that position is computed.

It equals `encode(batch)[:, :1]`, gradients included: tests/models/test_bert.py.
"""

from typing import Protocol

from torch import Tensor, nn

from stairs.fast.block import FastBlock
from stairs.layers.masks import padding
from stairs.text.batch import Batch


class BlockEncoder(Protocol):
    """What it needs of a model."""

    blocks: nn.ModuleList
    is_captured: bool

    def encode(self, batch: Batch, blocks: int | None = None) -> Tensor: ...


def encode_cls(model: BlockEncoder, batch: Batch) -> Tensor:
    """(B, 1, D). By the whole last block while it is captured, with a mask of the batch's own, and where its weights are joined for inference."""
    last = model.blocks[-1]
    if batch.attention_mask is not None or model.is_captured or not isinstance(last, FastBlock) or last.attention.fused_projection is not None:
        return model.encode(batch)[:, :1]
    return last.forward_first(model.encode(batch, len(model.blocks) - 1), padding(batch.real))
