"""Dropout: in training a share of the numbers is set to 0, and the others are scaled up to match (Srivastava et al. 2014).

On a CPU, PyTorch draws the mask one number after the other, which takes longer than the products around it; here `kernels/dropout.py` draws it,
seeded by PyTorch's generator, so that the same `torch.manual_seed` gives the same numbers (tests/layers/test_dropout.py).
"""

import numpy as np
import torch
from torch import Tensor, nn

from stairs.kernels.dropout import fill_dropout_mask

INTEGERS = {torch.float32: (torch.int32, np.uint32), torch.bfloat16: (torch.int16, np.uint16)}  # integers of as many bits
ALL_BITS = 1 << 32


def dropout(x: Tensor, rate: float) -> Tensor:
    """`x` with this share of its numbers set to 0."""
    if rate == 0.0:
        return x
    if x.device.type != "cpu" or x.dtype not in INTEGERS or torch.compiler.is_compiling():
        return nn.functional.dropout(x, rate)
    return x * dropout_mask(x, rate)


def dropout_mask(x: Tensor, rate: float) -> Tensor:
    """The factors of `x`: 0, or 1 / (1 - rate)."""
    mask = torch.empty(x.shape, dtype=x.dtype)
    integer, unsigned = INTEGERS[x.dtype]
    value = torch.tensor(1 / (1 - rate), dtype=x.dtype).view(integer).item()
    seed, other = torch.randint(ALL_BITS, (2,)).tolist()
    fill_dropout_mask(
        mask.view(integer).view(-1).numpy().view(unsigned), np.uint32(seed), np.uint32(other), np.uint32(rate * ALL_BITS), unsigned(value)
    )
    return mask


class Dropout(nn.Dropout):
    """`dropout` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p else x
