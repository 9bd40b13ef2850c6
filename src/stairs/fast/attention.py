"""Attention by the fastest path that gives the same numbers as `layers/attention.py`.

    one projection instead of three            while training, and where `for_inference` has joined the weights
    PyTorch's fused kernel, or matrix products in place of `attend`
    rows without padding                       `fast/unpadding.py`
    keys and values of earlier positions       `fast/decode_state.py`, so that each new token costs one position and not all of them

Proven equal to the plain Attention by tests/fast/test_fast_attention.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs.fast.decode_state import BeamCache, CachedMask, SourceCache, cache_dtype
from stairs.fast.unpadding import UnpaddedLayout
from stairs.layers.attention import Attention, FastInput, Score, dot, join_heads, scaled_dot
from stairs.layers.capture import FastPath
from stairs.layers.dropout import dropout
from stairs.layers.positions import RotaryPositions


class FastAttention(Attention, FastPath):
    """Attention, with more kinds of `key_value` and `mask`."""

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
        super().__init__(width, heads, dropout=dropout, key_value_width=key_value_width, score=score, rotary=rotary)
        self.fused_projection: nn.Module | None = None  # query, key and value in one, which `for_inference` puts in

    def forward(
        self,
        query: Tensor,
        key_value: Tensor | SourceCache | None = None,
        mask: Tensor | UnpaddedLayout | BeamCache | CachedMask | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) and (B, S, D) to (B, T, D). Rows without padding come as (N, D) with their layout for a mask."""
        if isinstance(key_value, SourceCache):
            return self.output(key_value.attend(self.query(query)))
        projected = self.project(query, query if key_value is None else key_value)
        if isinstance(mask, UnpaddedLayout):
            return self.output(mask.attend(self.attend_projected, projected))
        if isinstance(mask, BeamCache):
            return self.output(mask.attend(*projected))
        q, k, v = map(self.split_heads, projected)
        q, k = self.rotate(q, position_ids), self.rotate(k, position_ids)
        if isinstance(mask, CachedMask):
            k, v = mask.cache.append(k, v)
            q, mask = q.to(k.dtype), mask.mask
        return self.output(join_heads(self.attend(q, k, v, mask)).to(query.dtype))

    def plain_forward(self, *inputs: Any, **named: Any) -> Tensor:
        """`Attention.forward`, unless the weights are joined for inference or the inputs are those of a fast path."""
        is_fast = self.fused_projection is not None or any(isinstance(value, FastInput) for value in (*inputs, *named.values()))
        return (FastAttention if is_fast else Attention).forward(self, *inputs, **named)

    def project(self, query: Tensor, key_value: Tensor) -> Sequence[Tensor]:
        if self.fused_projection is not None and key_value is query:
            return self.fused_projection(query).chunk(3, -1)
        if key_value is query and self.training:  # one product instead of three
            three = (self.query, self.key, self.value)
            weight, bias = torch.cat([part.weight for part in three]), torch.cat([part.bias for part in three])
            return F.linear(query, weight, bias).chunk(3, -1)
        return self.query(query), self.key(key_value), self.value(key_value)

    def attend_projected(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """(B, T, D) each, to (B, T, D)."""
        q, k, v = map(self.split_heads, (query, key, value))
        return join_heads(self.attend(q, k, v, mask))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if self.score is not scaled_dot:
            return super().attend(query, key, value, mask)
        mask = None if mask is None else mask.unsqueeze(-3)
        dropout_rate = self.dropout if self.training else 0.0
        if dropout_rate or fused_backward_is_slow(query):
            return attend_by_matmul(query, key, value, mask, dropout_rate)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    plain_methods: ClassVar[dict[str, Callable[..., Any]]] = {"forward": plain_forward, "attend": Attention.attend}

    def source_cache(self, source: Tensor, real: Tensor) -> SourceCache:
        """Keys and values of a source (B, S, D), computed once. In each row the real positions come first."""
        kind = cache_dtype(source)
        return SourceCache(self.key(source).to(kind), self.value(source).to(kind), real.sum(1), self.heads)


def fused_backward_is_slow(query: Tensor) -> bool:
    """On a CPU the backward pass of the fused kernel in bfloat16 takes about twice as long as matrix products; everywhere else it wins (float32, ms
    forward and backward, 8 x 4 x 256 x 64 and 64 x 12 x 24 x 32: AVX-512 28 and 13.5, by products 46 and 13; AVX2 31 and 12, by products 44 and
    13.4)."""
    return query.dtype == torch.bfloat16 and query.device.type == "cpu" and query.requires_grad


def attend_by_matmul(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_rate: float) -> Tensor:
    """`attend` with the mask added instead of filled in, which passes over the scores once instead of three times."""
    query = query * (1 / math.sqrt(query.shape[-1]))
    if mask is None:
        return dropout(dot(query, key).softmax(-1), dropout_rate) @ value
    penalty = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    mixed = dropout((dot(query, key) + penalty).softmax(-1), dropout_rate) @ value
    attends = mask.any(-1, keepdim=True)
    return mixed if mask.device.type == "cpu" and bool(attends.all()) else mixed.masked_fill(~attends, 0.0)
