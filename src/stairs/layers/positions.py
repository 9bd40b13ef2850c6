"""Position embeddings: a fixed table of sines and cosines, a learned vector for each position, or a rotation of queries and keys.

sinusoidal   Vaswani et al. 2017: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D))
Learned      Gehring et al. 2017, GPT, BERT: a row of a table
Rotary       Su et al. 2021: the pair (x_i, x_{i+D/2}) is rotated by p / 10000^(2i/D), so that the product of two vectors depends on their distance

Departures: Rotary pairs the halves of a head, as GPT-NeoX and Llama do, not neighbours; the two differ by a fixed order of the columns.
"""

import torch
from torch import Tensor, nn

BASE = 10_000.0


def angles(length: int, width: int) -> Tensor:
    """(T, D/2): the angle of pair i at position p."""
    # On the CPU even if the model is built without memory (`Model.from_saved`): tables are not saved.
    frequencies = BASE ** (-torch.arange(0, width, 2, dtype=torch.float64, device="cpu") / width)
    return torch.arange(length, dtype=torch.float64, device="cpu")[:, None] * frequencies


def sinusoidal(length: int, width: int) -> Tensor:
    """(T, D)."""
    rotation = angles(length, width)
    return torch.stack([rotation.sin(), rotation.cos()], -1).flatten(1)[:, :width].float()


class SinusoidalPositions(nn.Module):
    """The table as a module, in the place of `LearnedPositions`."""

    kind = "sinusoidal"
    table: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoidal(length, width), persistent=False)

    def forward(self, position_ids: Tensor) -> Tensor:
        return self.table[position_ids]


class LearnedPositions(nn.Embedding):
    """A vector for each position, trained like a word's."""

    kind = "learned"


class RotaryPositions(nn.Module):
    """Rotates queries or keys (B, H, T, D) by their position ids, (T,) or (B, T)."""

    kind = "rotary"
    cosines: Tensor
    sines: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        rotation = angles(length, width)
        self.register_buffer("cosines", rotation.cos().float(), persistent=False)
        self.register_buffer("sines", rotation.sin().float(), persistent=False)

    def forward(self, vectors: Tensor, position_ids: Tensor) -> Tensor:
        cosines, sines = (table[position_ids].to(vectors.dtype) for table in (self.cosines, self.sines))
        if position_ids.dim() == 2:
            cosines, sines = cosines[:, None], sines[:, None]  # the same for every head
        first, second = vectors.chunk(2, -1)
        return torch.cat([first * cosines - second * sines, first * sines + second * cosines], -1)
