"""A Transformer block: attention, then the same small network at every position, each added to its input.

Vaswani et al. 2017 have the norm after the sum, x = norm(x + f(x)); GPT-2 before the sublayer, x = x + f(norm(x)), which trains without a warm-up.
"""

from collections.abc import Callable
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from stairs.layers.attention import Attention, FastInput, Score, scaled_dot
from stairs.layers.dropout import Dropout
from stairs.layers.positions import RotaryPositions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
}


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
