"""Linear layers whose weights are laid out for inference: the same numbers in the order in which the processor reads them fastest.

For one vector in float32 a transposed copy of a wide matrix is read at the speed of the memory, in bfloat16 the matrix as it is. For several
vectors oneDNN's own layout is fastest with AVX-512. Only a private operator of PyTorch reaches it, so it is tried once on a small matrix, and where
it fails the plain product takes its place. With AVX2 the product in float32 is ours (`kernels/fp32_panels.py`; 1536 x 384, 2 / 12 / 64 / 510
rows, GFLOP/s: plain 13 / 58 / 58 / 82, oneDNN 18 / 63 / 62 / 87, ours 35 / 109 / 98 / 100). It equals nn.Linear: tests/fast/test_packed_linear.py.
"""

import copy
from functools import cache
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from stairs import machine
from stairs.fast.block import FastAttention
from stairs.fast.int8 import Int8Block, Int8Linear, can_be_int8
from stairs.fast.precision import Precision
from stairs.fast.threads import run_in_threads
from stairs.kernels import fp32_panels
from stairs.kernels.allocator import keep_freed_memory
from stairs.kernels.bf16_gemv import times_vector
from stairs.kernels.instruction_set import has_avx2
from stairs.layers.block import Block
from stairs.progress import say

Kind = TypeVar("Kind", bound=nn.Module)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}
PACKED_ROWS = 8  # rows to lay out for; the layout serves any number


class PackedLinear(nn.Module):
    """y = x W^T + b, without gradient."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = weight.detach()
        self.bias = None if bias is None else bias.detach()
        self.is_wide = weight.shape[0] > weight.shape[1]
        self.can_pack = weight.device.type == "cpu" and has_packed_linear(weight.dtype)
        is_bf16 = weight.dtype == torch.bfloat16 and weight.device.type == "cpu"
        self.bf16_bits = self.weight.view(torch.int16).numpy().view(np.uint16) if is_bf16 else None
        self.bias_array = np.zeros(len(weight), np.float32) if bias is None else bias.detach().float().cpu().numpy()
        self.uses_panels = uses_panels() and weight.dtype == torch.float32 and weight.device.type == "cpu"
        self.transposed: Tensor | None = None
        self.packed_weight: Tensor | None = None
        self.panels: np.ndarray | None = None

    def forward(self, x: Tensor) -> Tensor:
        rows = x.numel() // x.shape[-1]
        if rows == 1 and self.bf16_bits is not None:
            product = torch.empty(*x.shape[:-1], len(self.bf16_bits))
            times_vector(self.bf16_bits, x.float().reshape(-1).numpy(), self.bias_array, product.view(-1).numpy())
            return product.to(x.dtype)
        if rows == 1 and x.dtype == torch.float32 and self.is_wide:
            if self.transposed is None:
                self.transposed = self.weight.T.contiguous()
            flat = x.reshape(1, -1)
            product = flat @ self.transposed if self.bias is None else torch.addmm(self.bias, flat, self.transposed)
            return product.view(*x.shape[:-1], -1)
        if rows == 1 and x.dtype == torch.float32:
            return nn.functional.linear(x, self.weight, self.bias)
        if self.uses_panels and x.dtype == torch.float32:
            return self.forward_panels(x.reshape(rows, -1).contiguous()).view(*x.shape[:-1], -1)
        if not self.can_pack:
            return nn.functional.linear(x, self.weight, self.bias)
        if self.packed_weight is None:
            self.packed_weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, PACKED_ROWS)
        return torch.ops.mkldnn._linear_pointwise(x, self.packed_weight, self.bias, "none", [], "")

    def forward_panels(self, x: Tensor) -> Tensor:
        """(N, D) to (N, O)."""
        if self.panels is None:
            self.panels = fp32_panels.panels_of(self.weight.numpy())
        count = -(-len(self.weight) // fp32_panels.LANES)
        bias = np.pad(self.bias_array, (0, count * fp32_panels.LANES - len(self.bias_array)))
        y, panels = torch.empty(len(x), len(self.weight)), self.panels

        def work(first: int, stop: int) -> None:
            fp32_panels.times_panels(x.numpy(), panels, bias, y.numpy(), first, stop)

        run_in_threads(work, count, y.numel() * x.shape[1])
        return y


@cache
def uses_panels() -> bool:
    return has_avx2() and not machine.has_avx512()


@cache
def has_packed_linear(kind: torch.dtype) -> bool:
    """Whether this build of PyTorch has the operator, and it multiplies correctly."""
    weight, x = torch.eye(32, dtype=kind), torch.arange(64, dtype=torch.float32).view(2, 32).to(kind)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_ROWS)
        return torch.equal(torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], ""), x)
    except (RuntimeError, AttributeError, NotImplementedError, TypeError):
        return False


def for_inference(model: Kind, precision: Precision) -> Kind:
    """A copy for inference, in which every Linear is a PackedLinear or an Int8Linear. Except in bf16 it shares all other weights with the model.
    Where bf16 is emulated, the rounded weights are computed with in float32: emulated products take 5 times as long (MiniLM, AVX2)."""
    keep_freed_memory()  # every step of decoding allocates the same blocks again
    shared = {id(p): nn.Parameter(p.detach(), requires_grad=False) for p in model.parameters()} if precision != "bf16" else {}
    inference_copy = copy.deepcopy(model, shared).eval().requires_grad_(False).to(DTYPES[precision])
    if precision == "bf16" and not machine.has_bf16() and next(model.parameters()).device.type == "cpu":
        warn_of_emulated_bf16()
        inference_copy = inference_copy.float()
    replace_linears(inference_copy, Int8Linear if precision == "int8" else PackedLinear)
    return inference_copy


@cache
def warn_of_emulated_bf16() -> None:
    say("this machine only emulates bfloat16: the weights are rounded to bf16 and computed in fp32, so bf16 is no faster than fp32 here")


def replace_linears(part: nn.Module, kind: type[PackedLinear] | type[Int8Linear]) -> None:
    """Put a layer of this kind in the place of every Linear inside."""
    if isinstance(part, FastAttention) and len({one.weight.shape for one in part.projections}) == 1:
        part.fused_projection = kind(*part.joined_projections())
    for name, child in part.named_children():
        if kind is Int8Linear and isinstance(child, Block) and can_be_int8(child):
            setattr(part, name, Int8Block(child))
        elif isinstance(child, nn.Linear):
            setattr(part, name, kind(child.weight, child.bias))
        else:
            replace_linears(child, kind)
