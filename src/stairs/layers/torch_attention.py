"""Masks and arguments as `torch.nn.MultiheadAttention` has them, for an `Attention` of ours.

    key_padding_mask   (N, S)           True where a key is padding; ours is True where a position may attend
    attn_mask          (L, S)           True where a query may not attend to a key
                       (N heads, L, S)  the same for each row and head
    either of floats                    is added to the scores, -inf masks

    MultiheadAttention.from_torch(theirs)(query, key, value, key_padding_mask=..., attn_mask=...)

Departures: a query that may attend to nothing gets zeros, where PyTorch's gives NaN.
"""

from typing import Self

import torch
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.layers.block import Attention
from stairs.layers.capture import capture
from stairs.layers.masks import as_floats

KINDS = (torch.bool, torch.uint8)


def mask_from_torch(key_padding_mask: Tensor | None = None, attn_mask: Tensor | None = None, heads: int = 1) -> Tensor | None:
    """One mask for `Attention`: bool, or of floats if one of the two is; (L, S), (N, 1, S), (N, L, S) or (N, heads, L, S)."""
    parts = []
    if attn_mask is not None:
        parts.append(split_rows(attn_mask, heads))
    if key_padding_mask is not None:
        if key_padding_mask.dim() != 2:
            raise BadInput(f"a key_padding_mask of shape {tuple(key_padding_mask.shape)} does not fit; give one of rows and keys, (N, S)")
        keys = key_padding_mask[:, None, :]
        parts.append(keys[:, None] if parts and parts[0].dim() == 4 else keys)
    parts = [~part.bool() if part.dtype in KINDS else part for part in parts]
    if len(parts) < 2:
        return parts[0] if parts else None
    try:
        return parts[0] & parts[1] if all(part.dtype == torch.bool for part in parts) else as_floats(parts[0]) + as_floats(parts[1])
    except RuntimeError:
        shapes = " and ".join(str(tuple(mask.shape)) for mask in (attn_mask, key_padding_mask) if mask is not None)
        raise BadInput(f"an attn_mask and a key_padding_mask of shapes {shapes} do not fit each other; both need one number of keys") from None


def split_rows(mask: Tensor, heads: int) -> Tensor:
    """(N heads, L, S) to (N, heads, L, S); (L, S) stays."""
    if mask.dim() == 2:
        return mask
    if mask.dim() != 3 or len(mask) % heads:
        raise BadInput(f"an attn_mask of shape {tuple(mask.shape)} does not fit {heads} heads; give (L, S) or (N * {heads}, L, S)")
    return mask.unflatten(0, (-1, heads))


class MultiheadAttention(nn.Module):
    """An Attention that is called as PyTorch's."""

    def __init__(self, attention: Attention, *, batch_first: bool = False) -> None:
        super().__init__()
        self.attention, self.batch_first = attention, batch_first

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention) -> Self:
        """With copies of its weights."""
        attention = Attention(theirs.embed_dim, theirs.num_heads, dropout=theirs.dropout, key_width=theirs.kdim, value_width=theirs.vdim)
        joined = theirs.in_proj_weight
        weights = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight) if joined is None else joined.chunk(3)
        biases = [torch.zeros(theirs.embed_dim)] * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
        with torch.no_grad():
            for projection, weight, bias in zip((attention.query, attention.key, attention.value), weights, biases, strict=True):
                projection.weight.copy_(weight)
                projection.bias.copy_(bias)
            attention.output.load_state_dict({"bias": torch.zeros(theirs.embed_dim), **theirs.out_proj.state_dict()})
        return cls(attention, batch_first=theirs.batch_first).train(theirs.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor]:
        """(L, N, E), or (N, L, E) with `batch_first`, and the weights (N, L, S), or (N, heads, L, S) if they are not averaged."""
        inputs = [part if self.batch_first else part.transpose(0, 1) for part in (query, key, value)]
        mask = mask_from_torch(key_padding_mask, attn_mask, self.attention.heads)
        with capture(self.attention, detach=False) as seen:
            output = self.attention(inputs[0], inputs[1], mask, value=inputs[2])
        weights = seen[""].mean(1) if average_attn_weights else seen[""]
        return output if self.batch_first else output.transpose(0, 1), weights
