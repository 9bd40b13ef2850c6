"""Initial weights: every number is a function of the seed and of its parameter's name.

Attention heads start by attending to neighbouring tokens. Clark et al. 2019, "What Does BERT Look At?", find that many heads of a trained BERT attend
to the token before or after. A head that starts at random attends to all tokens alike, and a short training ends before it has learnt that neighbours
matter. So heads start local. Positions start as waves in a part of the width as wide as a head, which U picks out; rotating the waves of p by d gives
those of p + d:

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

from stairs.layers.block import Attention
from stairs.layers.positions import BASE
from stairs.randomness import generator

SCALE_DOWN = 20
LENGTHENED_BELOW = 256  # width
NARROWEST = 64  # width of `nano`; narrower models were not measured, and start with short waves and token vectors


@torch.no_grad()
def initialize(module: nn.Module, seed: int, deviation: float | None = 0.02) -> None:
    """Weights from a normal distribution as in GPT and BERT, biases 0, norms 1. Without a deviation, that of each matrix keeps the length of a
    vector about the same. Recurrent cells start as PyTorch's do, but the forget gate of an LSTM starts open."""
    for path, part in module.named_modules():
        if isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.RNNBase):
            initialize_cell(part, path, seed)
        elif isinstance(part, nn.Linear | nn.Embedding) and part.weight.numel():
            scale = part.weight.shape[1] ** -0.5 if deviation is None else deviation
            nn.init.normal_(part.weight, 0.0, scale, generator=generator(seed, f"{path}.weight"))
            if isinstance(part, nn.Linear) and part.bias is not None:
                nn.init.zeros_(part.bias)


def initialize_cell(cell: nn.RNNBase, path: str, seed: int) -> None:
    bound = cell.hidden_size**-0.5
    for name, weight in cell.named_parameters():
        weight.uniform_(-bound, bound, generator=generator(seed, f"{path}.{name}"))
        if isinstance(cell, nn.LSTM) and name.startswith("bias_ih"):
            weight[cell.hidden_size : 2 * cell.hidden_size] += 1.0


@torch.no_grad()
def scale_down(*tables: nn.Module | None) -> None:
    """Start what is added to the token vectors small: which token it is matters more than where it is."""
    for table in tables:
        if isinstance(table, nn.Embedding):
            table.weight.div_(SCALE_DOWN)


@torch.no_grad()
def lengthen_narrow(tokens: nn.Embedding) -> None:
    """Start the token vectors of a narrow model as long as those of width 256, so that the waves beside them do not hide which token it is."""
    width = tokens.weight.shape[1]
    if NARROWEST <= width < LENGTHENED_BELOW:
        tokens.weight.mul_((LENGTHENED_BELOW / width) ** 0.5)


@torch.no_grad()
def fold_in_bias(table: torch.Tensor, bias: torch.Tensor, offset: float) -> None:
    """Give an output layer a bias although it has no parameter for one: logits = hidden table^T + bias, for a `hidden` whose D numbers are `offset`
    on average. Each row has one number added throughout, which a layer norm that reads the table as input removes again."""
    table.sub_(table.mean(1, keepdim=True)).add_((bias - bias.mean())[:, None].to(table) / (table.shape[1] * offset))


FASTEST, SLOWEST = 2.0, 1 / 40  # frequencies: the first tells a neighbour from the next one, the last a near token from a far one
SHARPNESS = 1.1  # how strongly queries and keys read the waves


def position_scale(width: int) -> float:
    """The amplitude of the waves: about as long as token vectors become in training, which would soon drown shorter ones."""
    return 0.2 if width >= NARROWEST else 0.05


@torch.no_grad()
def init_local_heads(positions: nn.Embedding, blocks: nn.Module, seed: int) -> None:
    """Positions become waves; in all blocks head 0 attends one token back, head 1 one ahead, head 2 two back, and so on."""
    attentions = [part for part in blocks.modules() if isinstance(part, Attention)]
    length, width = positions.weight.shape
    frequencies = torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), width // attentions[0].heads // 2)
    if not len(frequencies):  # a head of width 1 is too narrow for a wave
        return
    part = torch.linalg.qr(torch.randn(width, 2 * len(frequencies), generator=generator(seed, "neighbours")))[0].T
    positions.weight.copy_(position_scale(width) * waves(torch.arange(length), frequencies) @ part)
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
