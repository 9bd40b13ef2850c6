"""A Transformer block: multi-head attention, then the same small network at every position, each added to its input.

    heads   = attend(query W_Q, key W_K, value W_V), each head on its own part of the width          see layers/attention.py
    output  = the heads side by side, times W_O

Vaswani et al. 2017 have the norm after the sum, x = norm(x + f(x)); GPT-2 before the sublayer, x = x + f(norm(x)), which trains without a warm-up.

An attention has parts that can be chosen: the score (`layers/attention.py`), the positions (`layers/attention_positions.py`), the pattern
(`layers/patterns.py`), and which of W_Q, W_K and W_V are one. T5's way of scaling is the score `dot` with W_Q smaller by sqrt(D) from the start
(`layers/initial.py`).
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypedDict, Unpack

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.layers.attention import Score, make_score, scaled_dot, weigh
from stairs.layers.attention_positions import AttentionPositions
from stairs.layers.dropout import Dropout, dropout
from stairs.layers.head_count import check_heads
from stairs.layers.patterns import LinformerProjection, Pattern, RowMask
from stairs.layers.score_names import ScoreName, SharedProjections

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "none": lambda x: x,
}
PROJECTIONS: dict[SharedProjections, tuple[str, str, str]] = {  # whose projection the query, the key and the value use
    "none": ("query", "key", "value"),
    "qk": ("query", "query", "value"),
    "kv": ("query", "key", "key"),
    "all": ("query", "query", "query"),
}


class FastInput:
    """What a subclass of Attention in `fast/` reads in place of a tensor: rows without their padding, or keys and values of earlier positions."""


class AttentionParts(TypedDict, total=False):
    """What may be chosen in an Attention."""

    dropout: float
    score: Score
    positions: AttentionPositions | None
    pattern: Pattern | None
    share_projections: SharedProjections
    key_width: int | None
    value_width: int | None


class Attention(nn.Module):
    """Several attentions side by side, each on its own projection of what it reads: the query's own text, or another, whose keys and values may even
    be different vectors."""

    query: nn.Linear
    key: nn.Linear  # absent if it shares another projection
    value: nn.Linear  # likewise

    def __init__(self, width: int, heads: int, **parts: Unpack[AttentionParts]) -> None:
        super().__init__()
        check_heads(width, heads)
        self.heads = heads
        self.dropout = parts.get("dropout", 0.0)
        self.score = parts.get("score", scaled_dot)
        self.positions = parts.get("positions")
        pattern = parts.get("pattern")
        self.pattern = (pattern,)  # in a tuple: a projection that all layers share belongs to the model
        self.roles = PROJECTIONS[parts.get("share_projections", "none")]
        key_width = parts.get("key_width") or width
        widths = {"query": width, "key": key_width, "value": parts.get("value_width") or key_width}
        for role, owner in zip(widths, self.roles, strict=True):
            if widths[role] != widths[owner]:
                raise BadInput(f"a {role} of width {widths[role]} cannot share the projection of a {owner} of width {widths[owner]}; share others")
        for owner in dict.fromkeys(self.roles):
            setattr(self, owner, nn.Linear(widths[owner], width))
        self.output = nn.Linear(width, width)
        self.weights = nn.Identity()  # the attention weights pass through it, for `capture`

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        mask: Tensor | RowMask | None = None,
        position_ids: Tensor | None = None,
        value: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) and (B, S, D) to (B, T, D). `key` is another text than the query's, `value` another than the keys' own vectors; a mask is
        (B, T, S), or (B, H, T, S) for each head its own; positions inside the attention need the `position_ids` of the keys, of which the queries
        are the last."""
        key = query if key is None else key
        q, k, v = map(self.split_heads, self.project(query, key, key if value is None else value))
        return self.output(join_heads(self.attend_positions(q, k, v, mask, last_ids(position_ids, query), position_ids)))

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
        return [projection(x) for projection, x in zip(self.projections, (query, key, value), strict=True)]

    @property
    def projections(self) -> list[nn.Module]:
        """Of the query, the key and the value; some may be one."""
        return [self.get_submodule(owner) for owner in self.roles]

    def attend_positions(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | RowMask | None, query_ids: Tensor | None, key_ids: Tensor | None
    ) -> Tensor:
        """`attend` in every head, (B, H, T, D/H), after the pattern and the positions have had their say."""
        if isinstance(mask, RowMask):
            (pattern,) = self.pattern
            if isinstance(pattern, LinformerProjection):
                (k, v), mask = pattern.mix(k, v, mask.real), None
            else:
                assert pattern is not None
                mask = pattern.mask(mask)
        if self.positions is None or query_ids is None or key_ids is None:
            return self.attend(q, k, v, mask)
        q, k = self.positions.rotate(q, query_ids), self.positions.rotate(k, key_ids)
        return self.attend(q, k, v, mask, self.positions.distances(query_ids, key_ids))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, distances: Tensor | None = None) -> Tensor:
        """softmax(score + bias) value in every head: (B, H, T, D/H), a mask (B, T, S) or (B, H, T, S), and the distances of keys from queries."""
        weights = weigh(query, key, score=lambda q, k: self.add_bias(self.score(q, k), q, distances), mask=with_head_axis(mask, query, key))
        self.weights(weights)
        weights = dropout(weights, self.dropout) if self.training and self.dropout else weights
        added = None if self.positions is None or distances is None else self.positions.values(weights, distances)
        return weights @ value if added is None else weights @ value + added

    def add_bias(self, scores: Tensor, query: Tensor, distances: Tensor | None) -> Tensor:
        bias = None if self.positions is None or distances is None else self.positions.bias(query, distances, self.score)
        return scores if bias is None else scores + bias

    def split_heads(self, vectors: Tensor) -> Tensor:
        """(B, T, D) to (B, H, T, D/H)."""
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def last_ids(position_ids: Tensor | None, query: Tensor) -> Tensor | None:
    """Those of the queries (B, T, D), which are the last of the keys."""
    return None if position_ids is None else position_ids[..., -query.shape[1] :]


def with_head_axis(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """(B, T, S) to (B, 1, T, S), the same for every head; (B, H, T, S) stays."""
    if mask is None:
        return None
    with_heads = mask if mask.dim() == 4 else mask.unsqueeze(-3)
    sizes = (len(query), query.shape[1], query.shape[2], key.shape[2])
    if any(own not in (1, size) for own, size in zip(with_heads.shape[::-1], sizes[::-1], strict=False)):
        rows = f"{sizes[0]} rows of {sizes[2]} queries and {sizes[3]} keys in {sizes[1]} heads"
        raise BadInput(f"a mask of shape {tuple(mask.shape)} does not fit {rows}; give (T, S), (B, T, S) or (B, H, T, S)")
    return with_heads


def join_heads(vectors: Tensor) -> Tensor:
    """(B, H, T, D/H) to (B, T, D)."""
    return vectors.transpose(1, 2).flatten(2)


def remove_biases(blocks: nn.ModuleList, *names: str) -> None:
    """Of these projections of self-attention: they stay 0 and are not trained."""
    for block in blocks:
        for name in names:
            linear = block.get_submodule(f"attention.{name}")
            assert isinstance(linear, nn.Linear)
            zeros = torch.zeros_like(linear.bias)
            del linear.bias
            linear.register_buffer("bias", zeros)


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
        has_residual: bool = True,
        has_cross_attention: bool = False,
        cross_heads: int | None = None,
        score: ScoreName = "scaled",
        share_projections: SharedProjections = "none",
        positions: AttentionPositions | None = None,
        pattern: Pattern | None = None,
        epsilon: float = 1e-5,
    ) -> None:
        """Positions and pattern are those of the self-attention; `cross_heads` may differ from its `heads`."""
        super().__init__()
        self.norm_first, self.has_residual = norm_first, has_residual

        def attention(heads: int, **own: Unpack[AttentionParts]) -> Attention:
            check_heads(width, heads)
            own |= {"dropout": dropout, "score": make_score(score, width // heads, width // heads), "share_projections": share_projections}
            return self.attention_type(width, heads, **own)

        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.attention = attention(heads, positions=positions, pattern=pattern)
        if has_cross_attention:
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
            self.cross_attention = attention(cross_heads or heads)
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, feed_forward, activation)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | RowMask | FastInput | None = None,
        source: Tensor | FastInput | None = None,
        source_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) to the same; cross-attention reads `source` (B, S, D). Self-attention also reads a `memory` (B, M, D) of earlier positions; mask
        and position ids are then those of both."""
        x = self.residual(x, lambda y: self.attention(y, self.with_memory(memory, y), mask, position_ids), self.attention_norm)
        if source is not None:
            x = self.residual(x, lambda y: self.cross_attention(y, source, source_mask), self.cross_attention_norm)
        return self.residual(x, self.feed_forward, self.feed_forward_norm)

    def with_memory(self, memory: Tensor | None, y: Tensor) -> Tensor | None:
        """What the self-attention reads beside its queries, if it is more than them."""
        return None if memory is None else torch.cat([self.attention_norm(memory) if self.norm_first else memory, y], 1)

    def residual(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.LayerNorm) -> Tensor:
        added = self.dropout(sublayer(norm(x) if self.norm_first else x))
        added = x + added if self.has_residual else added
        return added if self.norm_first else norm(added)
