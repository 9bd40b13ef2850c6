"""Attention by a window or a sparse pattern in linear time: for each block of queries, ordinary attention over the blocks of keys that hold its own.

It equals `attend` under the mask of the pattern (`layers/patterns.py`), gradients included, and makes no (T, T) tensor:
tests/fast/test_block_sparse.py. The blocks are split off and put together again, so that the gradient of a block is added to that of its neighbours
alone. Below a certain length the mask is multiplied out, which is faster there.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from stairs.layers.attention_positions import distances_between
from stairs.layers.masks import as_floats
from stairs.layers.patterns import BlockPattern, RowMask, WindowPattern

MIN_BLOCKS = 4  # fewer are not worth it
MIN_WINDOW_BLOCK = 32  # positions; smaller blocks are slower


def is_long(pattern: BlockPattern, rows: RowMask) -> bool:
    """Whether blocks are faster than a mask, and the rows have no mask or positions of their own."""
    return rows.allowed is None and rows.position_ids is None and rows.real.shape[1] > MIN_BLOCKS * pattern.block


def attend_blocks(
    attend: Callable[..., Tensor],
    query: Tensor, key: Tensor, value: Tensor, pattern: BlockPattern, rows: RowMask, needs_distances: bool,
) -> Tensor:  # fmt: skip
    """`attend(query, key, value, mask, distances)` for each block: (B, H, T, D) to the same."""
    if isinstance(pattern, WindowPattern) and not key.requires_grad:  # nothing is copied, so smaller blocks, which reach less beyond the window
        pattern = replace(pattern, block=max(pattern.block // 2, MIN_WINDOW_BLOCK))
    queries, keys, values = (part.split(pattern.block, 2) for part in (query, key, value))
    ids, count = rows.ids.split(pattern.block), len(queries)
    real = None if bool(rows.real.all()) else rows.real.split(pattern.block, 1)
    mixed, masks = [], dict[tuple[int, int, int], Tensor | None]()
    for number, own in enumerate(queries):
        others = pattern.key_blocks(number, count, rows.is_causal)
        place = (0 if pattern.is_exact() else number - others[0], len(ids[number]), sum(len(ids[other]) for other in others))
        if place not in masks:  # blocks differ only at both ends
            own_mask = block_mask(pattern, *place, rows)
            masks[place] = own_mask if own_mask is None or needs_distances or real is not None else as_floats(own_mask).to(query.dtype)
        mask = masks[place]
        if real is not None:
            own_real = torch.cat([real[other] for other in others], 1)[:, None]
            mask = own_real if mask is None else mask & own_real
        distances = distances_between(ids[number], torch.cat([ids[other] for other in others])) if needs_distances else None
        parts = [gather(whole, blocks, others) for whole, blocks in ((key, keys), (value, values))]
        mixed.append(attend(own, *parts, mask, distances))
    return torch.cat(mixed, 2)


def block_mask(pattern: BlockPattern, before: int, queries: int, keys: int, rows: RowMask) -> Tensor | None:
    """(1, T, S) of a block of queries with so many blocks of keys before it."""
    if pattern.is_exact():  # all but what comes later in its own block, the last one
        return torch.ones(1, queries, keys, dtype=torch.bool, device=rows.real.device).tril(keys - queries) if rows.is_causal else None
    start = before * pattern.block
    return pattern.allows(rows.ids[start : start + queries], rows.ids[:keys], rows.is_causal)[None]


def gather(whole: Tensor, blocks: tuple[Tensor, ...], numbers: list[int]) -> Tensor:
    """These blocks of a tensor (B, H, T, D); neighbours are not copied, unless a gradient is wanted: that of a slice is as long as the whole."""
    if len(numbers) == len(blocks):
        return whole
    if whole.requires_grad or numbers[-1] - numbers[0] >= len(numbers):
        return torch.cat([blocks[number] for number in numbers], 2)
    size = blocks[0].shape[2]
    return whole[:, :, numbers[0] * size : (numbers[-1] + 1) * size]
