"""A Transformer block: multi-head attention, then the same small network at every position, each added to its input.

    heads   = attend(query W_Q, key_value W_K, key_value W_V), each head on its own part of the width          see layers/attention.py
    output  = the heads side by side, times W_O

Vaswani et al. 2017 have the norm after the sum, x = norm(x + f(x)); GPT-2 before the sublayer, x = x + f(norm(x)), which trains without a warm-up.
"""

from collections.abc import Callable
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from stairs.layers.attention import Score, attend, scaled_dot
from stairs.layers.dropout import Dropout
from stairs.layers.head_count import check_heads
from stairs.layers.positions import RotaryPositions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
}


class FastInput:
    """What a subclass of Attention in `fast/` reads in place of a tensor: rows without their padding, or keys and values of earlier positions."""


class Attention(nn.Module):
    """Several attentions side by side, each on its own projection of what it reads: the query's own text, or another, `key_value`."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        dropout: float = 0.0,
        key_value_width: int | None = None,
        score: Score = scaled_dot,
        rotary: RotaryPositions | None = None,
    ) -> None:
        super().__init__()
        check_heads(width, heads)
        self.heads = heads
        self.dropout = dropout
        self.score = score
        self.rotary = rotary
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(key_value_width or width, width)
        self.value = nn.Linear(key_value_width or width, width)
        self.output = nn.Linear(width, width)
        self.weights = nn.Identity()  # the attention weights pass through it, for `capture`

    def forward(self, query: Tensor, key_value: Tensor | None = None, mask: Tensor | None = None, position_ids: Tensor | None = None) -> Tensor:
        """(B, T, D) and (B, S, D) to (B, T, D); `position_ids` for rotary positions."""
        key_value = query if key_value is None else key_value
        q, k, v = map(self.split_heads, (self.query(query), self.key(key_value), self.value(key_value)))
        q, k = self.rotate(q, position_ids), self.rotate(k, position_ids)
        return self.output(join_heads(self.attend(q, k, v, mask)))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """`attend` in every head: (B, H, T, D/H) and a mask (B, T, S)."""
        mask = None if mask is None else mask.unsqueeze(-3)  # the head axis: (B, 1, T, S)
        mixed, weights = attend(query, key, value, score=self.score, mask=mask, dropout_rate=self.dropout if self.training else 0.0)
        self.weights(weights)
        return mixed

    def rotate(self, vectors: Tensor, position_ids: Tensor | None) -> Tensor:
        return vectors if self.rotary is None or position_ids is None else self.rotary(vectors, position_ids)

    def split_heads(self, vectors: Tensor) -> Tensor:
        """(B, T, D) to (B, H, T, D/H)."""
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def join_heads(vectors: Tensor) -> Tensor:
    """(B, H, T, D/H) to (B, T, D)."""
    return vectors.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    """outer(activation(inner(x)))."""

    def __init__(self, width: int, inner: int, activation: str = "gelu") -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))


class Block(nn.Module):
    """Self-attention, cross-attention where there is a source, feed-forward."""

    attention_type: ClassVar[type[Attention]] = Attention

    def __init__(
        self,
        width: int,
        heads: int,
        feed_forward: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = True,
        activation: str = "gelu",
        has_cross_attention: bool = False,
        score: Score = scaled_dot,
        rotary: RotaryPositions | None = None,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.attention = self.attention_type(width, heads, dropout=dropout, score=score, rotary=rotary)
        if has_cross_attention:
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
            self.cross_attention = self.attention_type(width, heads, dropout=dropout, score=score)
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, feed_forward, activation)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | FastInput | None = None,
        source: Tensor | FastInput | None = None,
        source_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) to the same; cross-attention reads `source` (B, S, D)."""
        x = self.residual(x, lambda y: self.attention(y, mask=mask, position_ids=position_ids), self.attention_norm)
        if source is not None:
            x = self.residual(x, lambda y: self.cross_attention(y, source, source_mask), self.cross_attention_norm)
        return self.residual(x, self.feed_forward, self.feed_forward_norm)

    def residual(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.LayerNorm) -> Tensor:
        return x + self.dropout(sublayer(norm(x))) if self.norm_first else norm(x + self.dropout(sublayer(x)))
