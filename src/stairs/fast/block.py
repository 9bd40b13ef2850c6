"""A Transformer block by the fastest paths that give the same numbers as `layers/block.py`.

    one projection instead of three            while training, and where `for_inference` has joined the weights
    PyTorch's fused kernel, or matrix products in place of `attend`
    rows without padding                       a batch costs what its tokens cost, see below
    keys and values of earlier positions       `fast/decode_state.py`, so that each new token costs one position and not all of them

Without padding, rows of about the same length form a group, and the groups follow one another in a single list of positions: whatever works position
by position (products, norms, activations) passes over the list once, and attention over one group after the other, each cut to its own longest row.
The grouping is optimal: the fewest positions, where one more group counts as a few of them. Warner et al. 2024 ("ModernBERT") and Portes et al. 2023
("MosaicBERT") leave the padding out likewise; their attention has its own kernel for it.

Proven equal to the plain block by tests/fast/test_fast_attention.py, and at every real position to the padded computation by
tests/fast/test_unpadding.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Unpack, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs.fast.block_sparse import attend_blocks, is_long
from stairs.fast.decode_state import BeamCache, CachedMask, SourceCache, cache_dtype
from stairs.layers.attention import dot, scaled_dot
from stairs.layers.attention_positions import RelativePositions, distances_between
from stairs.layers.block import Attention, AttentionParts, Block, FastInput, join_heads, last_ids, with_head_axis
from stairs.layers.capture import FastPath
from stairs.layers.dropout import dropout
from stairs.layers.patterns import BlockPattern, RowMask

GROUP = 8  # positions that one more group is worth


class Group(NamedTuple):
    """Some rows, each cut or padded to one length."""

    rows: int
    length: int
    mask: Tensor | None  # (rows, 1 or length, length): None if every position may attend to every other

    @property
    def positions(self) -> int:
        return self.rows * self.length


class UnpaddedLayout(FastInput):
    """One list of positions, group after group; attention takes it in place of a mask."""

    def __init__(self, real: Tensor, mask: Tensor) -> None:
        """`real` (B, T); `mask` (B, 1 or T, T), in which padding is masked already."""
        lengths = real.sum(1).numpy()
        order = np.argsort(lengths, kind="stable")
        columns = np.argsort(~real.numpy(), 1, kind="stable")  # of each row first what is real
        self.shape = real.shape
        self.groups: list[Group] = []
        positions = []
        for start, stop in group_borders(lengths[order]):
            rows, length = order[start:stop], max(int(lengths[order[stop - 1]]), 1)
            own = columns[rows, :length]
            positions.append((rows[:, None] * real.shape[1] + own).ravel())
            needs_mask = mask.shape[1] > 1 or int(lengths[rows[0]]) < length
            self.groups.append(Group(len(rows), length, slice_mask(mask, torch.from_numpy(rows), torch.from_numpy(own)) if needs_mask else None))
        self.positions = torch.from_numpy(np.concatenate(positions))  # of the list, among all B times T
        self.sizes = [group.positions for group in self.groups]

    def pack(self, values: Tensor) -> Tensor:
        """(B, T, ...) to the list (N, ...)."""
        return values.flatten(0, 1).index_select(0, self.positions)

    def unpack(self, x: Tensor) -> Tensor:
        """The list (N, D) to (B, T, D), zeros where nothing is real."""
        return x.new_zeros(self.shape.numel(), x.shape[-1]).index_copy(0, self.positions, x).unflatten(0, self.shape)

    def attend(self, attend: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor], projected: Sequence[Tensor]) -> Tensor:
        """`attend(query, key, value, mask)` for each group, its (N, D) shaped (rows, length, D), in one list again."""
        mixed = []
        for group, *three in zip(self.groups, *(part.split(self.sizes) for part in projected), strict=True):
            query, key, value = (one.unflatten(0, (group.rows, group.length)) for one in three)
            mixed.append(attend(query, key, value, group.mask).flatten(0, 1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


def run_unpadded(run: Callable[..., Tensor], inputs: Sequence[Tensor], real: Tensor, mask: Tensor) -> Tensor:
    """`run(*inputs, mask)` without the padding of the inputs, (B, T) each to (B, T, D), of which the real positions count. With it on a
    GPU and in a compiled model, which would wait for the lengths, and where there is no padding but a mask is needed all the same."""
    if real.device.type != "cpu" or torch.compiler.is_compiling() or (mask.shape[1] > 1 and bool(real.all())):
        return run(*inputs, mask)
    layout = UnpaddedLayout(real, mask)
    return layout.unpack(run(*map(layout.pack, inputs), layout))


def slice_mask(mask: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Of a mask (B, 1 or T, T) the part of some rows and some of their positions."""
    if mask.shape[1] == 1:
        return mask[rows[:, None], 0, columns][:, None]
    return mask[rows[:, None, None], columns[:, :, None], columns[:, None, :]]


def group_borders(ascending: np.ndarray) -> list[tuple[int, int]]:
    """Where each group of rows, in order of length, starts and stops."""
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)) + 1  # rows of one length stay together
    starts = np.concatenate([[0], ends])
    costs, best = np.zeros(len(starts)), np.zeros(len(starts), np.int64)
    for number, end in enumerate(ends.tolist(), 1):
        totals = costs[:number] + (end - starts[:number]) * ascending[end - 1] + GROUP
        best[number] = totals.argmin()
        costs[number] = totals[best[number]]
    borders, number = [], len(ends)
    while number:
        borders.append((int(starts[best[number]]), int(starts[number])))
        number = int(best[number])
    return borders[::-1]


class FastAttention(Attention, FastPath):
    """Attention, with more kinds of `key` and `mask`."""

    def __init__(self, width: int, heads: int, **parts: Unpack[AttentionParts]) -> None:
        super().__init__(width, heads, **parts)
        self.fused_projection: nn.Module | None = None  # query, key and value in one, which `for_inference` puts in

    def forward(
        self,
        query: Tensor,
        key: Tensor | SourceCache | None = None,
        mask: Tensor | RowMask | UnpaddedLayout | BeamCache | CachedMask | None = None,
        position_ids: Tensor | None = None,
        value: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) and (B, S, D) to (B, T, D). Rows without padding come as (N, D) with their layout for a mask."""
        if isinstance(key, SourceCache):
            return self.output(key.attend(self.projections[0](query), None if self.has_kernel else self.attend))
        key = query if key is None else key
        projected = self.project(query, key, key if value is None else value)
        if isinstance(mask, UnpaddedLayout):
            return self.output(mask.attend(self.attend_projected, projected))
        if isinstance(mask, BeamCache):
            return self.output(self.attend_beam(mask, projected, position_ids))
        q, k, v = map(self.split_heads, projected)
        if isinstance(mask, CachedMask):
            mixed = self.attend_cached(mask, q, k, v, position_ids)
        else:
            mixed = self.attend_positions(q, k, v, mask, last_ids(position_ids, query), position_ids)
        return self.output(join_heads(mixed).to(query.dtype))

    def plain_forward(self, *inputs: Any, **named: Any) -> Tensor:
        """`Attention.forward`, unless the weights are joined for inference or the inputs are those of a fast path."""
        is_fast = self.fused_projection is not None or any(isinstance(value, FastInput) for value in (*inputs, *named.values()))
        return (FastAttention if is_fast else Attention).forward(self, *inputs, **named)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
        reads_itself = key is query and value is query
        if self.fused_projection is not None and reads_itself:
            return self.in_roles(self.fused_projection(query))
        if reads_itself and self.training:  # one product instead of three
            return self.in_roles(F.linear(query, *self.joined_projections()))
        return super().project(query, key, value)

    def joined_projections(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of all projections, one below the other."""
        parts = dict.fromkeys(self.projections)
        return torch.cat([cast(Tensor, part.weight) for part in parts]), torch.cat([cast(Tensor, part.bias) for part in parts])

    def in_roles(self, joined: Tensor) -> list[Tensor]:
        """Query, key and value, of what the joined projections gave."""
        owners = list(dict.fromkeys(self.roles))
        parts = dict(zip(owners, joined.chunk(len(owners), -1), strict=True))
        return [parts[owner] for owner in self.roles]

    def attend_projected(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """(B, T, D) each, to (B, T, D)."""
        q, k, v = map(self.split_heads, (query, key, value))
        return join_heads(self.attend(q, k, v, mask))

    @property
    def has_kernel(self) -> bool:
        """Whether the compiled loops of beam search compute this attention."""
        return self.score is scaled_dot and self.positions is None and self.pattern == (None,)

    def attend_cached(self, cached: CachedMask, q: Tensor, k: Tensor, v: Tensor, position_ids: Tensor | None) -> Tensor:
        """New positions, (B, H, T, D/H), over those in a cache and themselves."""
        if self.positions is not None and position_ids is not None:
            q, k = self.positions.rotate(q, position_ids), self.positions.rotate(k, position_ids)
        k, v = cached.cache.append(k, v)
        return self.attend(q.to(k.dtype), k, v, *self.causal_mask(position_ids, cached.key_ids, cached.mask))

    def attend_beam(self, cache: BeamCache, projected: Sequence[Tensor], position_ids: Tensor | None) -> Tensor:
        """One more position of each hypothesis, (B, K, D), over its own past."""
        query, key, value = projected
        if self.has_kernel:
            return cache.attend(query, key, value)
        assert position_ids is not None
        if self.positions is not None:
            ids = position_ids.expand(query.shape[1])  # all hypotheses are at one position
            query, key = (join_heads(self.positions.rotate(self.split_heads(part), ids)) for part in (query, key))
        key_ids = torch.arange(cache.ancestry.shape[2], device=query.device)
        mask, distances = self.causal_mask(position_ids, key_ids, None)
        return cache.attend(query, key, value, lambda q, k, v: self.attend(q, k, v, mask, distances))

    def causal_mask(self, query_ids: Tensor | None, key_ids: Tensor | None, mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """The mask of new positions over earlier ones, as far as the pattern allows, and their distances."""
        if query_ids is None or key_ids is None:
            return mask, None
        (pattern,) = self.pattern
        if isinstance(pattern, BlockPattern):
            allowed = pattern.allows(query_ids, key_ids, is_causal=True)
            mask = allowed if mask is None else mask & allowed
        needs_distances = self.positions is not None and self.positions.needs_distances
        return mask, distances_between(query_ids, key_ids) if needs_distances else None

    def attend_positions(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | RowMask | None, query_ids: Tensor | None, key_ids: Tensor | None
    ) -> Tensor:
        (pattern,) = self.pattern
        if isinstance(mask, RowMask) and isinstance(pattern, BlockPattern) and is_long(pattern, mask):
            if self.positions is not None:
                q, k = (self.positions.rotate(part, mask.ids) for part in (q, k))
            return attend_blocks(self.attend, q, k, v, pattern, mask, self.positions is not None and self.positions.needs_distances)
        return super().attend_positions(q, k, v, mask, query_ids, key_ids)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, distances: Tensor | None = None) -> Tensor:
        if self.score not in (scaled_dot, dot) or isinstance(self.positions, RelativePositions):
            return super().attend(query, key, value, mask, distances)
        scale = 1.0 if self.score is dot else 1 / math.sqrt(query.shape[-1])
        mask = with_head_axis(mask, query, key)
        bias = None if self.positions is None or distances is None else self.positions.bias(query, distances, self.score)
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        dropout_rate = self.dropout if self.training else 0.0
        if dropout_rate or fused_backward_is_slow(query):
            return attend_by_matmul(query, key, value, mask, dropout_rate, scale)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)

    plain_methods: ClassVar[dict[str, Callable[..., Any]]] = {
        "forward": plain_forward, "attend": Attention.attend, "attend_positions": Attention.attend_positions,
    }  # fmt: skip

    def source_cache(self, source: Tensor, real: Tensor) -> SourceCache:
        """Keys and values of a source (B, S, D), computed once. In each row the real positions come first."""
        kind = cache_dtype(source)
        _, key, value = self.projections
        return SourceCache(key(source).to(kind), value(source).to(kind), real.sum(1), self.heads)


class FastBlock(Block):
    """A Block whose attention is a FastAttention."""

    attention_type = FastAttention
    attention: FastAttention
    cross_attention: FastAttention

    def forward_at(self, x: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """What `forward` gives at some positions (B, M) of (B, T, D), (B, M, D): they attend to all, and nothing is computed for the others."""
        key_value = self.attention_norm(x) if self.norm_first else x
        y = x.gather(1, positions[..., None].expand(-1, -1, x.shape[-1]))
        y = self.residual(y, lambda y: self.attention(y, key_value, mask), self.attention_norm)
        return self.residual(y, self.feed_forward, self.feed_forward_norm)


def fused_backward_is_slow(query: Tensor) -> bool:
    """On a CPU the backward pass of the fused kernel in bfloat16 takes about twice as long as matrix products; everywhere else it wins (float32, ms
    forward and backward, 8 x 4 x 256 x 64 and 64 x 12 x 24 x 32: AVX-512 28 and 13.5, by products 46 and 13; AVX2 31 and 12, by products 44 and
    13.4)."""
    return query.dtype == torch.bfloat16 and query.device.type == "cpu" and query.requires_grad


def attend_by_matmul(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_rate: float, scale: float | None = None) -> Tensor:
    """`attend` with the mask added instead of filled in, which passes over the scores once instead of three times."""
    query = query * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if mask is None:
        return dropout(dot(query, key).softmax(-1), dropout_rate) @ value
    if mask.is_floating_point():
        penalty, mask = mask.to(query.dtype).clamp(min=torch.finfo(query.dtype).min), mask > -math.inf
    else:
        penalty = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    mixed = dropout((dot(query, key) + penalty).softmax(-1), dropout_rate) @ value
    attends = mask.any(-1, keepdim=True)
    return mixed if mask.device.type == "cpu" and bool(attends.all()) else mixed.masked_fill(~attends, 0.0)
