"""Progressive stacking (Gong et al. 2019, "Efficient Training of BERT by Progressively Stacking"): a deep Transformer starts as a shallow one.

    blocks that are trained = 1 + floor((layers - 1) progress / share), and all of them once that share of the training is done

With one block a model makes several times as many updates in the same time, and what one block can learn comes first anyway.

Departures: the paper puts a copy of the trained blocks on top of them. Here the outputs of a new block are zero when it joins, so that it changes
nothing, or, with norms after the sums, no more than another norm does; and blocks join one by one. All blocks are there from the beginning, so that
the model can be evaluated, saved and resumed at any time; updates leave out those that have not joined yet.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from stairs.training.muon import BLOCKS


def joined_blocks(progress: float, layers: int, share: float) -> int:
    """How many of a model's `layers` blocks are trained when so much of the training is done; 0 for all."""
    return 0 if progress >= share else (1 + int((layers - 1) * progress / share)) % layers


@torch.no_grad()
def silence_upper_blocks(model: nn.Module) -> None:
    """New weights of a model that is going to be stacked: what the blocks above the first add is zero."""
    for blocks in block_lists(model).values():
        for block in list(blocks)[1:]:
            for name, layer in block.named_modules():
                if isinstance(layer, nn.Linear) and name.split(".")[-1] in ("output", "outer"):
                    layer.weight.zero_()


@contextmanager
def lowest_blocks(model: nn.Module, count: int) -> Iterator[None]:
    """The model without the blocks above the lowest `count`."""
    complete = block_lists(model)
    for name, blocks in complete.items():
        setattr(model, name, blocks[:count])
    try:
        yield
    finally:
        for name, blocks in complete.items():
            setattr(model, name, blocks)


def trained_block_count(model: nn.Module, state: dict[Tensor, dict[str, Tensor]]) -> int:
    """How many of its blocks have been trained; `state` is the optimizer's."""
    blocks = next(iter(block_lists(model).values()))
    return sum(any(weight in state for weight in block.parameters()) for block in blocks)


def block_lists(model: nn.Module) -> dict[str, nn.ModuleList]:
    """By name: one, or of an encoder-decoder two of the same length."""
    return {name: blocks for name in BLOCKS if isinstance(blocks := getattr(model, name, None), nn.ModuleList)}
