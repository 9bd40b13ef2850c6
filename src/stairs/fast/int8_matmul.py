"""Exact products of bytes, by what is fastest on this machine: tests/fast/test_int8_matmul.py.

With VNNI, or on ARM, it is oneDNN's product, through an operator of PyTorch; for one row it is ours, which needs no set-up. The operator takes
unsigned bytes, so the byte that stands for 0 is not 0, and its part of the sum is subtracted.

Other processors add two neighbouring products in 16 bits, which saturate: 255 * 127 * 2 does not fit. There a scale is chosen by the largest sum of
two neighbours of one sign instead of by the largest weight, so that no pair passes 128: 255 * 128 fits, and the sum is exact. That keeps more than
7 bits for every weight would (MiniLM: a mean cosine of .9974 to float32; 7 bits .9960, all 8 bits .9976): large weights are seldom neighbours.
The product is ours (`kernels/int8_panels.py`): which neighbours oneDNN adds depends on the width, and there it is slower than float32 up to 32 rows
(50257 x 384, 1 / 8 / 32 rows, AVX2, ms: float32 3.4 / 8.4 / 16.8, oneDNN 10.3 / 10.4 / 15.5, ours 0.9 / 1.9 / 8.5).
"""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from stairs import machine
from stairs.fast.threads import run_in_threads
from stairs.kernels import int8_panels
from stairs.kernels.instruction_set import has_avx2
from stairs.kernels.int8_gemv import times_bytes

LEVELS, MIDDLE = 127, 128


class OneDNNMatmul:
    """Product with weights (O, D), signed bytes with a scale per output."""

    def __init__(self, weight: Tensor, scales: Tensor) -> None:
        self.bytes, self.scales = weight, scales
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        self.reordered: Tensor | None = None  # oneDNN's layout, made for the first product of several rows

    def __call__(self, inputs: Tensor, middle: int = MIDDLE) -> Tensor:
        """(N, D) unsigned bytes, of which `middle` stands for 0, to (N, O), before the scale of each row."""
        if len(inputs) == 1:
            y = torch.empty(1, len(self.bytes))
            times_bytes(self.bytes.numpy(), inputs[0].numpy(), middle, self.scales.numpy(), y[0].numpy())
            return y
        if self.reordered is None:
            self.reordered = torch.ops.onednn.qlinear_prepack(self.bytes, None)
        return onednn_linear(inputs, middle, self.reordered, self.scales, self.zeros)


class PanelMatmul:
    """The same for weights of which no pair saturates."""

    def __init__(self, weight: Tensor, scales: Tensor) -> None:
        self.shape = weight.shape
        self.panels, self.sums = int8_panels.panels_of(weight.numpy())
        self.scales = F.pad(scales, (0, len(self.sums) - len(scales)))

    def __call__(self, inputs: Tensor, middle: int = MIDDLE) -> Tensor:
        outputs, width = self.shape
        y = torch.empty(len(inputs), outputs)
        words = F.pad(inputs, (0, -width % int8_panels.BYTES)).contiguous().numpy().view(np.int32)

        def work(first: int, stop: int) -> None:
            int8_panels.times_panels(words, self.panels, self.sums, middle, self.scales.numpy(), y.numpy(), first, stop)

        run_in_threads(work, len(self.sums) // int8_panels.OUTPUTS, y.numel() * width)
        return y


def has_saturating_pairs() -> bool:
    """Whether this processor adds two products in 16 bits."""
    return not machine.has_int8() and has_avx2()


def int8_matmul(weight: Tensor) -> OneDNNMatmul | PanelMatmul:
    """The product of bytes with this weight (O, D)."""
    return (PanelMatmul if has_saturating_pairs() else OneDNNMatmul)(*round_weight(weight))


def round_weight(weight: Tensor) -> tuple[Tensor, Tensor]:
    """(O, D) as signed bytes, and a scale per output."""
    largest = same_sign_sums(weight) if has_saturating_pairs() else weight.abs()
    scales = (largest.amax(1) / LEVELS).clamp(min=torch.finfo(torch.float32).tiny)
    return (weight / scales[:, None]).round().to(torch.int8), scales


def same_sign_sums(weight: Tensor) -> Tensor:
    """(O, D) to (O, D or D + 1): for two neighbours the sum of the positive ones, and the absolute sum of the negative ones. If the largest is 127
    steps, two rounded ones are at most 128 together."""
    pairs = F.pad(weight, (0, weight.shape[1] % 2)).unflatten(1, (-1, 2))
    return torch.cat([pairs.clamp(min=0).sum(2), -pairs.clamp(max=0).sum(2)], 1)


def onednn_linear(inputs: Tensor, middle: int, weight: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return torch.ops.onednn.qlinear_pointwise(inputs, 1.0, middle, weight, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")


def largest_weights() -> Tensor:
    """(32, 128), the most likely to saturate: the largest values of one sign, of alternating signs, and pairs that are as large together."""
    random = torch.Generator().manual_seed(0)
    shares, signs = torch.rand(28, 64, 1, generator=random), 1 - 2 * torch.randint(0, 2, (28, 64, 1), generator=random)
    ones, alternating = torch.ones(64, 2), 1 - 2 * (torch.arange(64) % 2)
    plain = torch.stack([ones, -ones, ones * torch.tensor([1, -1]), ones * alternating[:, None]])
    return torch.cat([plain, torch.cat([shares, 1 - shares], 2) * signs]).flatten(1)


@cache
def has_exact_int8() -> bool:
    """Whether there is a product, and it is exact for the largest values there are."""
    weight, _ = round_weight(largest_weights())
    inputs = torch.full((4, weight.shape[1]), 255, dtype=torch.uint8)
    inputs[1], inputs[2, ::2], inputs[3, 1::2] = 0, 0, 0
    try:
        product = (PanelMatmul if has_saturating_pairs() else OneDNNMatmul)(weight, torch.ones(len(weight)))(inputs)
        return torch.equal(product.long(), (inputs.long() - MIDDLE) @ weight.long().T)
    except (RuntimeError, AttributeError, NotImplementedError, TypeError):
        return False
