"""A block of a Transformer: attention, then the same small network at every position, each added to what came in.

Vaswani et al. 2017 norm after the sum, x = norm(x + f(x)); GPT-2 before it, x = x + f(norm(x)), which trains without a warm-up.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from stairs.fast.decode_state import BeamCache, KeyValueCache, SourceCache
from stairs.fast.unpadding import UnpaddedLayout
from stairs.layers.attention import Attention, Score
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
    """Self-attention, cross-attention if there is something to look at, feed-forward."""

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
        score: Score | None = None,
        rotary: RotaryPositions | None = None,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.attention = Attention(width, heads, dropout=dropout, score=score, rotary=rotary)
        if has_cross_attention:
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
            self.cross_attention = Attention(width, heads, dropout=dropout, score=score)
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, feed_forward, activation)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | UnpaddedLayout | None = None,
        memory: Tensor | SourceCache | None = None,
        memory_mask: Tensor | None = None,
        cache: KeyValueCache | BeamCache | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D), or (N, D) with `UnpaddedLayout`, to the same; `memory` (B, S, D) is what cross-attention reads, or what it kept of that."""
        x = self.residual(x, lambda y: self.attention(y, mask=mask, cache=cache, places=places), self.attention_norm)
        if memory is not None:
            x = self.residual(x, lambda y: self.cross_attention(y, memory, memory_mask), self.cross_attention_norm)
        return self.residual(x, self.feed_forward, self.feed_forward_norm)

    def forward_first(self, x: Tensor, mask: Tensor) -> Tensor:
        """What `forward` gives for the first position alone, (B, 1, D): it looks at all of (B, T, D), and nothing is computed for the others."""
        read = self.attention_norm(x) if self.norm_first else x
        y = self.residual(x[:, :1], lambda y: self.attention(y, read, mask), self.attention_norm)
        return self.residual(y, self.feed_forward, self.feed_forward_norm)

    def residual(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.LayerNorm) -> Tensor:
        return x + self.dropout(sublayer(norm(x))) if self.norm_first else norm(x + self.dropout(sublayer(x)))
