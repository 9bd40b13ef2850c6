"""Heads that begin by looking at the tokens beside them.

Clark et al. 2019, "What Does BERT Look At?", find that many heads of a trained BERT look at the token before, or the one behind. One that begins at
random looks at all tokens alike, and a short training is over before it has found out that neighbours matter. So it is told. Positions begin as waves
in a part of the width as wide as a head, which U picks out; turning the waves of p by d gives those of p + d:

    positions[p] = u(p) U,   u(p) = (cos wp, sin wp) for each frequency w,   u(p + d) = turn(d) u(p)
    query = turn(d) U,   key = U:   the product of query p and key q is the sum of cos w(p + d - q), largest where q = p + d

The waves of Vaswani et al. 2017 are such already, and U only has to pick some of them. A decoder that begins by looking at the same place of its
source, and at those beside it, finds sooner where it should look. All of it is learnt on from there. Departures: the paper observes; to begin so is
ours.
"""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from stairs.layers.attention import Attention
from stairs.layers.positions import BASE
from stairs.randomness import generator

FASTEST, SLOWEST = 2.0, 1 / 40  # frequencies: a neighbour is told from the next one, and a near token from a far one
POSITION_SCALE = 0.05  # how large the waves are: seldom louder than what a token's own vector becomes
SHARPNESS = 1.1  # how strongly queries and keys read the waves


@torch.no_grad()
def init_local_heads(positions: nn.Embedding, blocks: nn.Module, seed: int) -> None:
    """Positions become waves; in all blocks head 0 looks one token back, head 1 one ahead, head 2 two back, and so on."""
    attentions = [part for part in blocks.modules() if isinstance(part, Attention)]
    length, width = positions.weight.shape
    frequencies = torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), width // attentions[0].heads // 2)
    if not len(frequencies):  # a head of width 1 has no room for a wave
        return
    part = torch.linalg.qr(torch.randn(width, 2 * len(frequencies), generator=generator(seed, "neighbours")))[0].T
    positions.weight.copy_(POSITION_SCALE * waves(torch.arange(length), frequencies) @ part)
    set_head_offsets(attentions, neighbour_offset, frequencies, part)


@torch.no_grad()
def init_local_heads_sinusoidal(attentions: Iterable[Attention], offset: Callable[[int], int]) -> None:
    """The same where positions are `sinusoidal` already: each head looks as far as its `neighbour_offset` says."""
    attentions = list(attentions)
    width = attentions[0].query.weight.shape[1]
    fast = min(math.log(1 / SLOWEST) / math.log(BASE) * width / 2, width // 2 - 1)  # so many of them are fast enough
    wanted = max(width // attentions[0].heads // 2, 1)
    chosen = torch.tensor(sorted({round(number * fast / max(wanted - 1, 1)) for number in range(wanted)}))
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
    """-1, 0, -2, -3, ..., for who cannot look ahead."""
    return 0 if head == 1 else -max(head, 1)


def cross_offset(head: int) -> int:
    """0, 1, -1, 2, ..., in another text."""
    return (head + 1) // 2 * (1 if head % 2 else -1)


def waves(places: Tensor, frequencies: Tensor) -> Tensor:
    """(T, 2F): cosines, then sines."""
    angles = places[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], -1)


def rotation(distance: int, frequencies: Tensor) -> Tensor:
    """(2F, 2F): it turns the waves of p into those of p + distance."""
    cosines, sines = (distance * frequencies).cos().diag(), (distance * frequencies).sin().diag()
    return torch.cat([torch.cat([cosines, -sines], -1), torch.cat([sines, cosines], -1)])
