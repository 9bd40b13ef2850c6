"""Linear layers whose weights are laid out for answering, not for training: the same numbers, read in the order the processor likes.

For one vector in float32 a transposed copy of a wide matrix is read at the speed of the memory, in bfloat16 the matrix as it is. For several
vectors oneDNN's own layout is fastest where there is AVX-512. It is reached by a private operator of PyTorch, so it is tried once on a small matrix,
and where it fails the plain product does the work. With AVX2 the product in float32 is ours (`kernels/fp32_panels.py`; 1536 x 384, 2 / 12 / 64 / 510
rows, GFLOP/s: plain 13 / 58 / 58 / 82, oneDNN 18 / 63 / 62 / 87, ours 35 / 109 / 98 / 100).
"""

import copy
from functools import cache
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from stairs import machine
from stairs.fast.int8 import Int8, Int8Block, fits
from stairs.fast.threads import in_parts
from stairs.kernels import fp32_panels
from stairs.kernels.allocator import keep_freed_memory
from stairs.kernels.bf16_gemv import times_vector
from stairs.kernels.instruction_set import has_avx2
from stairs.layers.attention import Attention
from stairs.layers.block import Block
from stairs.progress import say

Precision = Literal["fp32", "bf16", "int8"]
Kind = TypeVar("Kind", bound=nn.Module)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}
SEVERAL = 8  # rows to lay out for; the layout serves any number


class Packed(nn.Module):
    """y = x W^T + b, without gradient."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = weight.detach()
        self.bias = None if bias is None else bias.detach()
        self.wide = weight.shape[0] > weight.shape[1]
        self.can_lay_out = weight.device.type == "cpu" and can_lay_out(weight.dtype)
        halved = weight.dtype == torch.bfloat16 and weight.device.type == "cpu"
        self.halves = self.weight.view(torch.int16).numpy().view(np.uint16) if halved else None
        self.added = np.zeros(len(weight), np.float32) if bias is None else bias.detach().float().cpu().numpy()
        self.in_panels = uses_panels() and weight.dtype == torch.float32 and weight.device.type == "cpu"
        self.transposed: Tensor | None = None
        self.laid_out: Tensor | None = None
        self.panels: np.ndarray | None = None

    def forward(self, x: Tensor) -> Tensor:
        rows = x.numel() // x.shape[-1]
        if rows == 1 and self.halves is not None:
            product = torch.empty(*x.shape[:-1], len(self.halves))
            times_vector(self.halves, x.float().reshape(-1).numpy(), self.added, product.view(-1).numpy())
            return product.to(x.dtype)
        if rows == 1 and x.dtype == torch.float32 and self.wide:
            if self.transposed is None:
                self.transposed = self.weight.T.contiguous()
            flat = x.reshape(1, -1)
            product = flat @ self.transposed if self.bias is None else torch.addmm(self.bias, flat, self.transposed)
            return product.view(*x.shape[:-1], -1)
        if rows == 1 and x.dtype == torch.float32:
            return nn.functional.linear(x, self.weight, self.bias)
        if self.in_panels and x.dtype == torch.float32:
            return self.by_panels(x.reshape(rows, -1).contiguous()).view(*x.shape[:-1], -1)
        if not self.can_lay_out:
            return nn.functional.linear(x, self.weight, self.bias)
        if self.laid_out is None:
            self.laid_out = torch.ops.mkldnn._reorder_linear_weight(self.weight, SEVERAL)
        return torch.ops.mkldnn._linear_pointwise(x, self.laid_out, self.bias, "none", [], "")

    def by_panels(self, x: Tensor) -> Tensor:
        """(N, D) to (N, O)."""
        if self.panels is None:
            self.panels = fp32_panels.panels_of(self.weight.numpy())
        count = -(-len(self.weight) // fp32_panels.LANES)
        added = np.pad(self.added, (0, count * fp32_panels.LANES - len(self.added))) if len(self.added) % fp32_panels.LANES else self.added
        y, panels = torch.empty(len(x), len(self.weight)), self.panels

        def work(first: int, stop: int) -> None:
            fp32_panels.times_panels(x.numpy(), panels, added, y.numpy(), first, stop)

        in_parts(work, count, y.numel() * x.shape[1])
        return y


@cache
def uses_panels() -> bool:
    return has_avx2() and not machine.has_avx512()


@cache
def can_lay_out(kind: torch.dtype) -> bool:
    """Whether this build of PyTorch has the operator and it multiplies rightly."""
    weight, x = torch.eye(32, dtype=kind), torch.arange(64, dtype=torch.float32).view(2, 32).to(kind)
    try:
        laid_out = torch.ops.mkldnn._reorder_linear_weight(weight, SEVERAL)
        return torch.equal(torch.ops.mkldnn._linear_pointwise(x, laid_out, None, "none", [], ""), x)
    except (RuntimeError, AttributeError, NotImplementedError, TypeError):
        return False


def packed(model: Kind, precision: Precision) -> Kind:
    """A copy for answering, in which every Linear is Packed, or Int8. Unless in bf16 it shares all other weights with the model.
    Where bf16 is emulated, weights rounded to it are computed with in float32: emulated products take 5 times as long (MiniLM, AVX2)."""
    keep_freed_memory()  # every step of an answer asks for the same blocks again
    shared = {id(p): nn.Parameter(p.detach(), requires_grad=False) for p in model.parameters()} if precision != "bf16" else {}
    twin = copy.deepcopy(model, shared).eval().requires_grad_(False).to(DTYPES[precision])
    if precision == "bf16" and not machine.has_bf16() and next(model.parameters()).device.type == "cpu":
        tell_of_emulation()
        twin = twin.float()
    lay_out(twin, Int8 if precision == "int8" else Packed)
    return twin


@cache
def tell_of_emulation() -> None:
    say("this machine only emulates bfloat16: the weights are rounded to it and computed with in fp32, so bf16 is no faster than fp32 here")


def lay_out(part: nn.Module, kind: type[Packed] | type[Int8]) -> None:
    """Put a `kind` in the place of every Linear inside."""
    if isinstance(part, Attention) and part.key.weight.shape == part.query.weight.shape:
        three = (part.query, part.key, part.value)
        part.together = kind(torch.cat([one.weight for one in three]), torch.cat([one.bias for one in three]))
    for name, child in part.named_children():
        if kind is Int8 and isinstance(child, Block) and fits(child):
            setattr(part, name, Int8Block(child))
        elif isinstance(child, nn.Linear):
            setattr(part, name, kind(child.weight, child.bias))
        else:
            lay_out(child, kind)
