"""Where training begins: every number a pure function of the seed and of its parameter's name."""

import torch
from torch import nn

from stairs.randomness import generator

SCALE_DOWN = 20


@torch.no_grad()
def initialize(module: nn.Module, seed: int, deviation: float | None = 0.02) -> None:
    """Weights from a normal distribution as GPT and BERT have it, biases 0, norms 1. Without a deviation, that of each matrix is such that what it
    makes of a vector is about as long as the vector. Recurrent cells begin as PyTorch's do, but an LSTM keeps at first what it remembers."""
    for place, part in module.named_modules():
        if isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.RNNBase):
            initialize_cell(part, place, seed)
        elif isinstance(part, nn.Linear | nn.Embedding) and part.weight.numel():
            spread = part.weight.shape[1] ** -0.5 if deviation is None else deviation
            nn.init.normal_(part.weight, 0.0, spread, generator=generator(seed, f"{place}.weight"))
            if isinstance(part, nn.Linear) and part.bias is not None:
                nn.init.zeros_(part.bias)


def initialize_cell(cell: nn.RNNBase, place: str, seed: int) -> None:
    bound = cell.hidden_size**-0.5
    for name, weight in cell.named_parameters():
        weight.uniform_(-bound, bound, generator=generator(seed, f"{place}.{name}"))
        if isinstance(cell, nn.LSTM) and name.startswith("bias_ih"):
            weight[cell.hidden_size : 2 * cell.hidden_size] += 1.0


@torch.no_grad()
def scale_down(*tables: nn.Module | None) -> None:
    """What is added to the vectors of tokens is small at first: which token it is matters more than where it stands."""
    for table in tables:
        if isinstance(table, nn.Embedding):
            table.weight.div_(SCALE_DOWN)


@torch.no_grad()
def fold_in_bias(table: torch.Tensor, bias: torch.Tensor, offset: float) -> None:
    """Give the rows of an output layer a bias although it has no parameter for one: logits = hidden table^T + bias, for a `hidden` whose D numbers
    are `neighbour_offset` on average. Each row gets the same number everywhere, which a layer norm that reads the table as input takes away again."""
    table.sub_(table.mean(1, keepdim=True)).add_((bias - bias.mean())[:, None].to(table) / (table.shape[1] * offset))
