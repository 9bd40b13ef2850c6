"""Attention: each query mixes the values whose keys fit it.

    attend(Q, K, V) = softmax(score(Q, K)) V

Scores: dot `qk` and bilinear `qWk` (Luong et al. 2015), scaled dot `qk / sqrt(D)` (Vaswani et al. 2017), additive `v tanh(qW + kU)`
(Bahdanau et al. 2015), projected `<qW, kU>`, and uniform: everyone alike, which is an average.

Departures: bilinear and projected scores are not divided by sqrt(D), so that the wider they are, the sharper they begin; Luong's bilinear one is
not either, and projected is a single head of Vaswani's without the division.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs.fast.decode_state import BeamCache, KeyValueCache, SourceCache, cache_dtype
from stairs.fast.unpadding import UnpaddedLayout
from stairs.layers.dropout import dropout
from stairs.layers.head_count import check_heads
from stairs.layers.positions import RotaryPositions

Score = Callable[[Tensor, Tensor], Tensor]  # (..., T, D), (..., S, D) -> (..., T, S)


def dot(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-1, -2)


def scaled_dot(query: Tensor, key: Tensor) -> Tensor:
    return dot(query, key) / math.sqrt(query.shape[-1])


def uniform(query: Tensor, key: Tensor) -> Tensor:
    return query.new_zeros(*query.shape[:-1], key.shape[-2])


class Additive(nn.Module):
    """v tanh(qW + kU)."""

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)
        self.value = nn.Linear(width, 1, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.compare(query, self.key(key))

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        return self.value(torch.tanh(self.query(query)[..., :, None, :] + projected[..., None, :, :]))[..., 0]


class Bilinear(nn.Module):
    """qWk."""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, key_width, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return dot(self.query(query), key)


class Projected(nn.Module):
    """<qW, kU>."""

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.compare(query, self.key(key))

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        return dot(self.query(query), projected)


def project_keys(score: Score, key: Tensor) -> Tensor:
    """What a score makes of keys alone, once for keys that are looked at again and again; `compare` does the rest."""
    return score.key(key) if isinstance(score, Additive | Projected) else key


def weigh(query: Tensor, key: Tensor, *, score: Score = scaled_dot, mask: Tensor | None = None) -> Tensor:
    """How much each query takes of each value: softmax(score), zeros for a query that may look at nothing."""
    scores = score(query, key)
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0.0)


def attend(query: Tensor, key: Tensor, value: Tensor, *, score: Score = scaled_dot, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Mix `value` by softmax(score). A query that may look at nothing gets zeros, as in PyTorch's fused kernel."""
    weights = weigh(query, key, score=score, mask=mask)
    return weights @ value, weights


class Attention(nn.Module):
    """Several attentions side by side, each on its own projection of what it reads: the query's own text, or another, `key_value`."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        dropout: float = 0.0,
        key_value_width: int | None = None,
        score: Score | None = None,
        rotary: RotaryPositions | None = None,
    ) -> None:
        super().__init__()
        check_heads(width, heads)
        read = key_value_width or width
        self.heads = heads
        self.dropout = dropout
        self.score = score
        self.rotary = rotary
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(read, width)
        self.value = nn.Linear(read, width)
        self.output = nn.Linear(width, width)
        self.fused_projection: nn.Module | None = None  # query, key and value in one, which `for_inference` puts in
        self.weights = nn.Identity()  # the weights pass through here when somebody looks, by a hook on it

    def forward(
        self,
        query: Tensor,
        key_value: Tensor | SourceCache | None = None,
        mask: Tensor | UnpaddedLayout | None = None,
        cache: KeyValueCache | BeamCache | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) and (B, S, D) to (B, T, D). With a cache, what is read comes after what was read before. Rows without padding come as (N, D)
        with their `UnpaddedLayout` for a mask."""
        if isinstance(key_value, SourceCache):
            return self.output(key_value.attend(self.query(query)))
        read = query if key_value is None else key_value
        if isinstance(mask, UnpaddedLayout):
            return self.output(mask.attend(self.attend_projected, self.project(query, read)))
        if isinstance(cache, BeamCache):
            return self.output(cache.attend(*self.project(query, read)))
        q, k, v = map(self.split_heads, self.project(query, read))  # (B, H, T or S, D/H)
        if self.rotary is not None and places is not None:
            q, k = self.rotary(q, places), self.rotary(k, places)
        if cache is not None:
            k, v = cache.append(k, v)
            q = q.to(k.dtype)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the head axis: (B, 1, T, S)
        return self.output(self.mix(q, k, v, mask).transpose(1, 2).flatten(2).to(query.dtype))

    def source_cache(self, read: Tensor, real: Tensor) -> SourceCache:
        """What `forward` would compute of `prefill` (B, S, D) each time, once. In each row `real` comes first."""
        return SourceCache(self.key(read).to(cache_dtype(read)), self.value(read).to(cache_dtype(read)), real.sum(1), self.heads)

    def attend_projected(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """(B, T, D) each, projected: the mixture, (B, T, D)."""
        q, k, v = map(self.split_heads, (query, key, value))
        mixed = self.mix(q, k, v, None if mask is None else mask.unsqueeze(-3))
        return mixed.transpose(1, 2).flatten(2)

    def project(self, query: Tensor, read: Tensor) -> Sequence[Tensor]:
        if self.fused_projection is not None and read is query:
            return self.fused_projection(query).chunk(3, -1)
        if read is query and self.training:  # one product instead of three
            three = (self.query, self.key, self.value)
            weight, bias = torch.cat([part.weight for part in three]), torch.cat([part.bias for part in three])
            return F.linear(query, weight, bias).chunk(3, -1)
        return self.query(query), self.key(read), self.value(read)

    def split_heads(self, vectors: Tensor) -> Tensor:
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """`attend`, by the fastest path that nobody can tell from it."""
        share = self.dropout if self.training else 0.0
        if self.weights._forward_hooks or self.score is not None:
            weights = self.weights(weigh(query, key, score=self.score or scaled_dot, mask=mask))
            return dropout(weights, share) @ value
        if share or fused_backward_is_slow(query):
            return attend_by_matmul(query, key, value, mask, share)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def fused_backward_is_slow(query: Tensor) -> bool:
    """On a CPU the fused kernel's backward in bfloat16 takes about twice as long as matrix products; everywhere else it wins (float32, ms there and
    back, 8 x 4 x 256 x 64 and 64 x 12 x 24 x 32: AVX-512 28 and 13.5, by products 46 and 13; AVX2 31 and 12, by products 44 and 13.4)."""
    return query.dtype == torch.bfloat16 and query.device.type == "cpu" and query.requires_grad


def attend_by_matmul(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, share: float) -> Tensor:
    """`attend` with the mask added instead of filled in, which passes over the scores once instead of three times."""
    query = query * (1 / math.sqrt(query.shape[-1]))
    if mask is None:
        return dropout(dot(query, key).softmax(-1), share) @ value
    forbidden = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    mixed = dropout((dot(query, key) + forbidden).softmax(-1), share) @ value
    looks = mask.any(-1, keepdim=True)
    return mixed if mask.device.type == "cpu" and bool(looks.all()) else mixed.masked_fill(~looks, 0.0)
