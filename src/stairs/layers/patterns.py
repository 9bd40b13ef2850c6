"""Attention patterns: which keys each query attends to, if not all of them, so that time and memory grow with the length of a text and not with its
square.

window     keys at most `radius` away                                                          Beltagy et al. 2020 (Longformer), Vaswani et al. 2017
sparse     blocks of `block` positions: those within `radius`, the first `global_blocks`, which also attend to all others, and a few random ones
                                                                                               Zaheer et al. 2020 (BigBird)
linformer  all keys, in `rank` mixtures of them: softmax(q (E K)^T / sqrt(D)) (F V), E and F (rank, T)          Wang et al. 2020

Under a causal mask the first blocks are only looked back at, and random blocks lie behind. A mixture of all keys has no causal form.

A window and a sparse pattern are masks, defined here by `allows`; `fast/block_sparse.py` computes the same block by block.

Departures: BigBird draws its random blocks anew for each head, here one draw serves all heads of a block, another each block; its last blocks are
global, too. Which random blocks there are follows from the position alone, so that neither padding nor what comes later changes them. Linformer's
masks are ours: padding is left out of the mixtures.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.randomness import numpy_generator


@dataclass(frozen=True)
class RowMask:
    """What rows may attend to before a pattern says more: their real positions, behind them or on both sides. `Attention` multiplies it out if it
    must: (B, T, T) grows with the square of the length."""

    real: Tensor  # (B, T)
    is_causal: bool
    allowed: Tensor | None = None  # (B, T, T), for an objective that has a mask of its own
    position_ids: Tensor | None = None  # (B, T), if not 0, 1, 2 and so on

    @property
    def ids(self) -> Tensor:
        return torch.arange(self.real.shape[1], device=self.real.device) if self.position_ids is None else self.position_ids


class BlockPattern:
    """A pattern that is a mask."""

    block: int

    def allows(self, query_ids: Tensor, key_ids: Tensor, is_causal: bool) -> Tensor:
        """Which keys each query attends to, (..., T, S), by their positions (..., T) and (..., S)."""
        raise NotImplementedError

    def key_blocks(self, number: int, count: int, is_causal: bool) -> list[int]:
        """The blocks, of `count`, that hold all keys of the queries in this block, in ascending order."""
        raise NotImplementedError

    def is_exact(self) -> bool:
        """Whether a query attends to all of the `key_blocks`, so that only causality and padding need a mask."""
        raise NotImplementedError

    def mask(self, rows: RowMask) -> Tensor:
        """(B, T, T)."""
        mask = self.allows(rows.ids, rows.ids, rows.is_causal) & rows.real[:, None, :]
        return mask if rows.allowed is None else mask & rows.allowed


@dataclass(frozen=True)
class WindowPattern(BlockPattern):
    radius: int
    block: int = 128

    def allows(self, query_ids: Tensor, key_ids: Tensor, is_causal: bool) -> Tensor:
        distances = key_ids[..., None, :] - query_ids[..., :, None]
        near = distances.abs() <= self.radius
        return near & (distances <= 0) if is_causal else near

    def key_blocks(self, number: int, count: int, is_causal: bool) -> list[int]:
        reach = -(-self.radius // self.block)
        return list(range(max(number - reach, 0), min(number + (0 if is_causal else reach), count - 1) + 1))

    def is_exact(self) -> bool:
        return False


@dataclass(frozen=True)
class SparsePattern(BlockPattern):
    radius: int  # a multiple of `block`
    block: int
    global_blocks: int
    random_blocks: int
    context: int  # the length within which random blocks are drawn
    seed: int = 0  # another one for each layer

    def allows(self, query_ids: Tensor, key_ids: Tensor, is_causal: bool) -> Tensor:
        count = 1 + int(max(query_ids.max(), key_ids.max())) // self.block
        table = torch.from_numpy(block_table(self, count, is_causal)).to(query_ids.device)
        near = table[(query_ids // self.block)[..., :, None], (key_ids // self.block)[..., None, :]]
        return near & (key_ids[..., None, :] <= query_ids[..., :, None]) if is_causal else near

    def key_blocks(self, number: int, count: int, is_causal: bool) -> list[int]:
        if number < self.global_blocks:
            return list(range(number + 1 if is_causal else count))
        reach = self.radius // self.block
        near = range(number - reach, number + (0 if is_causal else reach) + 1)
        drawn = random_blocks(self.seed, number, number if is_causal else max(-(-self.context // self.block), number + 1), self.random_blocks)
        return sorted({other for other in (*range(self.global_blocks), *near, *drawn) if 0 <= other < count})

    def is_exact(self) -> bool:
        return True


@lru_cache(16)
def block_table(pattern: SparsePattern, count: int, is_causal: bool) -> np.ndarray:
    """Which block attends to which, (count, count); no tensor, since one made in inference mode could not be trained with."""
    table = np.zeros((count, count), bool)
    for number in range(count):
        table[number, pattern.key_blocks(number, count, is_causal)] = True
    return table


@cache
def random_blocks(seed: int, number: int, count: int, wanted: int) -> tuple[int, ...]:
    """Some of `count` blocks, for the queries of one."""
    return tuple(numpy_generator(seed, "random blocks", number).permutation(count)[:wanted].tolist())


class LinformerProjection(nn.Module):
    """E and F, (rank, context) each; only the first T columns of them are used for a text of T tokens. With `shared` they are one."""

    def __init__(self, context: int, rank: int, shared: bool) -> None:
        super().__init__()
        self.keys = nn.Embedding(rank, context)  # a row of weights for each mixture
        self.values = None if shared else nn.Embedding(rank, context)

    def mix(self, key: Tensor, value: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H, T, D) to (B, H, rank, D) each, without the padding."""
        length, context = key.shape[-2], self.keys.weight.shape[1]
        if length > context:
            raise BadInput(f"linformer mixes at most {context} tokens, got {length}; shorten the text or train with a longer --context")
        is_real = real[:, None, :, None].to(key.dtype)
        tables = (self.keys, self.keys if self.values is None else self.values)
        mixed_key, mixed_value = (table.weight[:, :length].to(key.dtype) @ (part * is_real) for table, part in zip(tables, (key, value), strict=True))
        return mixed_key, mixed_value


Pattern = BlockPattern | LinformerProjection
