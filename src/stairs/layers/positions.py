"""Position embeddings, added to the token vectors; `layers/attention_positions.py` has those that work inside an attention.

sinusoidal   Vaswani et al. 2017: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D))
Learned      Gehring et al. 2017, GPT, BERT: a row of a table

A table of sines has a row for any position, so a model may read beyond the length that it was trained on; how well it does is another question.
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


def length_of(position_ids: Tensor) -> int:
    """Rows that a table needs for these positions; in powers of two, so that a text that grows does not change it at every step."""
    return 1 << int(position_ids.max()).bit_length()


class SinusoidalPositions(nn.Module):
    """The table as a module, in the place of `LearnedPositions`; it grows when a text is longer."""

    kind = "sinusoidal"
    table: Tensor

    def __init__(self, length: int, width: int, amplitude: float = 1.0) -> None:
        super().__init__()
        self.amplitude = amplitude
        self.register_buffer("table", self.rows(length, width), persistent=False)

    def rows(self, length: int, width: int) -> Tensor:
        table = sinusoidal(length, width)
        return table if self.amplitude == 1.0 else self.amplitude * table

    def forward(self, position_ids: Tensor) -> Tensor:
        if position_ids.numel() and int(position_ids.max()) >= len(self.table):
            self.table = self.rows(length_of(position_ids), self.table.shape[1]).to(self.table)
        return self.table[position_ids]

    def as_table(self) -> Tensor:
        """A row for each position, for pictures."""
        return self.table


class LearnedPositions(nn.Embedding):
    """A vector for each position, trained like a word's."""

    kind = "learned"

    def as_table(self) -> Tensor:
        return self.weight
