"""Dropout: in training a share of the numbers is switched off, and the others grow by as much (Srivastava et al. 2014).

On a CPU, PyTorch draws the share one number after the other, which takes longer than the products around it; here `kernels/dropout.py` draws
it, seeded by PyTorch's generator, so that the same `torch.manual_seed` gives the same numbers.
"""

import numpy as np
import torch
from torch import Tensor, nn

from stairs.kernels.dropout import fill_dropout_mask

SMALLER = {torch.float32: (torch.int32, np.uint32), torch.bfloat16: (torch.int16, np.uint16)}  # what has as many bits
EVERYTHING = 1 << 32


def dropout(x: Tensor, share: float, training: bool = True) -> Tensor:
    """`x` with a share of it switched off."""
    if not training or share == 0.0:
        return x
    if x.device.type != "cpu" or x.dtype not in SMALLER or torch.compiler.is_compiling():
        return nn.functional.dropout(x, share)
    return x * dropout_mask(x, share)


def dropout_mask(x: Tensor, share: float) -> Tensor:
    """What `x` is multiplied with: 0, or 1 / (1 - share)."""
    mask = torch.empty(x.shape, dtype=x.dtype)
    whole, bits = SMALLER[x.dtype]
    value = torch.tensor(1 / (1 - share), dtype=x.dtype).view(whole).item()
    seed, other = torch.randint(EVERYTHING, (2,)).tolist()
    fill_dropout_mask(mask.view(whole).view(-1).numpy().view(bits), np.uint32(seed), np.uint32(other), np.uint32(share * EVERYTHING), bits(value))
    return mask


class Dropout(nn.Module):
    """`dropout` as a module."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.share, self.training)
