"""Attention heads that start by attending to neighbouring tokens.

Clark et al. 2019, "What Does BERT Look At?", find that many heads of a trained BERT attend to the token before or after. A head that starts at
random attends to all tokens alike, and a short training ends before it has learnt that neighbours matter. So heads start local. Positions start as
waves in a part of the width as wide as a head, which U picks out; rotating the waves of p by d gives those of p + d:

    positions[p] = u(p) U,   u(p) = (cos wp, sin wp) for each frequency w,   u(p + d) = rotation(d) u(p)
    query = rotation(d) U,   key = U:   the product of query p and key q is the sum of cos w(p + d - q), largest where q = p + d

Sinusoidal positions (Vaswani et al. 2017) are such waves already, and U only has to pick some of them. A decoder that starts by attending to the same
position of its source, and to those beside it, learns its alignment sooner. Everything is trained from there.
Departures: the paper observes; to start so is ours.
"""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from stairs.layers.attention import Attention
from stairs.layers.positions import BASE
from stairs.randomness import generator

FASTEST, SLOWEST = 2.0, 1 / 40  # frequencies: the first tells a neighbour from the next one, the last a near token from a far one
POSITION_SCALE = 0.05  # amplitude of the waves: seldom larger than a trained token vector
SHARPNESS = 1.1  # how strongly queries and keys read the waves


@torch.no_grad()
def init_local_heads(positions: nn.Embedding, blocks: nn.Module, seed: int) -> None:
    """Positions become waves; in all blocks head 0 attends one token back, head 1 one ahead, head 2 two back, and so on."""
    attentions = [part for part in blocks.modules() if isinstance(part, Attention)]
    length, width = positions.weight.shape
    frequencies = torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), width // attentions[0].heads // 2)
    if not len(frequencies):  # a head of width 1 is too narrow for a wave
        return
    part = torch.linalg.qr(torch.randn(width, 2 * len(frequencies), generator=generator(seed, "neighbours")))[0].T
    positions.weight.copy_(POSITION_SCALE * waves(torch.arange(length), frequencies) @ part)
    set_head_offsets(attentions, neighbour_offset, frequencies, part)


@torch.no_grad()
def init_local_heads_sinusoidal(attentions: Iterable[Attention], offset: Callable[[int], int]) -> None:
    """The same for sinusoidal positions: each head attends at the distance that `offset` gives it."""
    attentions = list(attentions)
    width = attentions[0].query.weight.shape[1]
    fast = min(math.log(1 / SLOWEST) / math.log(BASE) * width / 2, width // 2 - 1)  # so many of them are fast enough
    count = max(width // attentions[0].heads // 2, 1)
    chosen = torch.tensor(sorted({round(index * fast / max(count - 1, 1)) for index in range(count)}))
    part = torch.eye(width)[torch.cat([2 * chosen + 1, 2 * chosen])]  # cosines, then sines
    set_head_offsets(attentions, offset, BASE ** (-2 * chosen / width), part)


def set_head_offsets(attentions: Iterable[Attention], offset: Callable[[int], int], frequencies: Tensor, part: Tensor) -> None:
    for attention in attentions:
        size = len(attention.query.weight) // attention.heads
        for head in range(attention.heads):
            rows = slice(head * size, head * size + len(part))
            attention.query.weight[rows] = SHARPNESS * rotation(offset(head), frequencies) @ part
            attention.key.weight[rows] = SHARPNESS * part


def neighbour_offset(head: int) -> int:
    """-1, 1, -2, 2, ..."""
    return (head // 2 + 1) * (1 if head % 2 else -1)


def causal_offset(head: int) -> int:
    """-1, 0, -2, -3, ..., for causal attention."""
    return 0 if head == 1 else -max(head, 1)


def cross_offset(head: int) -> int:
    """0, 1, -1, 2, ..., in another text."""
    return (head + 1) // 2 * (1 if head % 2 else -1)


def waves(positions: Tensor, frequencies: Tensor) -> Tensor:
    """(T, 2F): cosines, then sines."""
    angles = positions[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], -1)


def rotation(distance: int, frequencies: Tensor) -> Tensor:
    """(2F, 2F): from the waves of p to those of p + distance."""
    cosines, sines = (distance * frequencies).cos().diag(), (distance * frequencies).sin().diag()
    return torch.cat([torch.cat([cosines, -sines], -1), torch.cat([sines, cosines], -1)])
