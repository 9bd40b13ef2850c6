"""Linear layers in 8 bits, for inference: weights with a scale per output, inputs with a scale per token.

    y = (round(x / s_x) round(W / s_W)^T) s_x s_W + b

Dettmers et al. 2022 ("LLM.int8()") have a scale per row and column likewise. `int8_matmul.py` multiplies the bytes.
Close to the float32 layers, and how close, is shown by tests/fast/test_int8.py.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stairs import machine
from stairs.errors import Unsupported
from stairs.fast.block import FastAttention, UnpaddedLayout
from stairs.fast.int8_matmul import has_exact_int8, int8_matmul
from stairs.kernels import int8_rows as kernel
from stairs.layers.block import Block


class Int8Linear(nn.Module):
    """y = x W^T + b, without gradient."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        if weight.device.type != "cpu" or not has_exact_int8():
            advice = "bf16 or fp32" if machine.has_bf16() else "fp32"
            raise Unsupported(f"this machine or build of PyTorch has no exact product in 8 bits; choose --precision {advice}")
        self.multiply = int8_matmul(weight.detach().float())
        self.bias_array = np.zeros(len(weight), np.float32) if bias is None else bias.detach().float().numpy()

    def forward(self, x: Tensor) -> Tensor:
        y, scales = self.product(x.reshape(-1, x.shape[-1]))
        kernel.scale_and_add(y.numpy(), scales, self.bias_array)
        return y.view(*x.shape[:-1], -1)

    def product(self, x: Tensor) -> tuple[Tensor, np.ndarray]:
        """(N, D) to (N, O), before the scale of each row and the bias."""
        inputs, scales = torch.empty(x.shape, dtype=torch.uint8), np.empty(len(x), np.float32)
        kernel.quantize(x.float().contiguous().numpy(), inputs.numpy(), scales)
        return self.multiply(inputs), scales


class Int8Block(nn.Module):
    """BERT's block (norms after the sums, gelu) with all four products in 8 bits, and everything between two of them in one pass."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        part = block.attention
        assert isinstance(part, FastAttention)
        self.attention = FastAttention(part.output.weight.shape[0], part.heads).eval()
        self.attention.fused_projection = Int8Linear(*part.joined_projections())
        for name in ("query", "key", "value", "output"):
            setattr(self.attention, name, nn.Identity())
        self.output = Int8Linear(part.output.weight, part.output.bias)
        self.inner = Int8Linear(block.feed_forward.inner.weight, block.feed_forward.inner.bias)
        self.outer = Int8Linear(block.feed_forward.outer.weight, block.feed_forward.outer.bias)
        self.norms = [AddAndNorm(norm) for norm in (block.attention_norm, block.feed_forward_norm)]

    def forward(self, x: Tensor, mask: Tensor | UnpaddedLayout | None = None, position_ids: Tensor | None = None) -> Tensor:
        """(B, T, D), or (N, D) with `UnpaddedLayout`, to the same; its attention knows no positions."""
        flat = x.reshape(-1, x.shape[-1])
        y, scales = self.output.product(self.attention(x, mask=mask).reshape(flat.shape))
        flat = self.norms[0].apply(y, scales, self.output.bias_array, flat)
        y, scales = self.inner.product(flat)
        inputs, new_scales = torch.empty(y.shape, dtype=torch.uint8), np.empty_like(scales)
        kernel.gelu_and_quantize(y.numpy(), scales, self.inner.bias_array, inputs.numpy(), new_scales)
        return self.norms[1].apply(self.outer.multiply(inputs, int(kernel.LOW)), new_scales, self.outer.bias_array, flat).view(x.shape)


class AddAndNorm:
    """norm(x + y), in place of y."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.weight, self.shift, self.epsilon = norm.weight.detach().float().numpy(), norm.bias.detach().float().numpy(), np.float32(norm.eps)

    def apply(self, y: Tensor, scales: np.ndarray, bias: np.ndarray, x: Tensor) -> Tensor:
        kernel.add_and_norm(y.numpy(), scales, bias, x.contiguous().numpy(), self.weight, self.shift, self.epsilon)
        return y


def can_be_int8(block: Block) -> bool:
    """Whether a block can be an Int8Block."""
    attention = block.attention
    is_usual = isinstance(attention, FastAttention) and attention.has_kernel and len(set(attention.roles)) == 3 and block.has_residual
    return is_usual and not block.norm_first and block.feed_forward.activation is F.gelu and not hasattr(block, "cross_attention")
