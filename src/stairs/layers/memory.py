"""Transformer-XL's memory (Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context"): keys and values of a row are
also made of what the same block reads at the positions before the row, m, which no gradient reaches:

    h = h + attention(h, [stop_gradient(m), h])

Departures: the paper keeps m from the row that was read before, which had a memory itself. Here m is computed anew from the tokens before each row,
so that a row teaches the same whenever it comes and an interrupted run continues exactly.
"""

import torch
from torch import Tensor, nn


def run_after_memory(blocks: nn.ModuleList, x: Tensor, memory: Tensor, mask: Tensor, position_ids: Tensor) -> Tensor:
    """What the blocks make of x (B, T, D) after a memory (B, M, D): (B, T, D). The mask (B or 1, M + T, M + T) and the positions, (B, M + T) or
    (M + T,), are those of both; the memory attends to itself alone."""
    start = memory.shape[1]
    for number, block in enumerate(blocks, 1):
        x = block(x, mask[..., start:, :], position_ids=position_ids, memory=memory)
        if number < len(blocks):
            with torch.no_grad():
                memory = block(memory, mask[..., :start, :start], position_ids=position_ids[..., :start])
    return x
