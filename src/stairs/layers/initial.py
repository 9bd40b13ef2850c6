"""Initial weights: every number is a function of the seed and of its parameter's name."""

import torch
from torch import nn

from stairs.randomness import generator

SCALE_DOWN = 20


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
def fold_in_bias(table: torch.Tensor, bias: torch.Tensor, offset: float) -> None:
    """Give an output layer a bias although it has no parameter for one: logits = hidden table^T + bias, for a `hidden` whose D numbers are `offset`
    on average. Each row has one number added throughout, which a layer norm that reads the table as input removes again."""
    table.sub_(table.mean(1, keepdim=True)).add_((bias - bias.mean())[:, None].to(table) / (table.shape[1] * offset))
