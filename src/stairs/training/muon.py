"""Muon (Jordan et al. 2024): gradient descent by orthogonal steps, for the matrices inside the blocks of a Transformer.

    M_t = mu M_{t-1} + G_t                                     momentum
    O_t = the orthogonal matrix nearest to G_t + mu M_t         Nesterov; by a few steps of a Newton-Schulz iteration
    W_t = W_{t-1} - lr sqrt(max(1, rows / columns)) O_t

A gradient is large in few directions. Its nearest orthogonal matrix has the same directions, all of the same size, so that rare ones are learnt as
fast. The iteration needs no singular values, only products:

    X <- a X + (b A + c A A) X  with A = X X^T                  a, b, c as in the paper; X starts at the matrix over its Frobenius norm

Matrices of one shape are multiplied as one batch. Everything else, embeddings, norms, biases and the output layer, is AdamW's.

Departures: the iteration is in bfloat16 only where the model is trained in it, since ordinary processors only emulate it, and the momentum is always
float32; three steps of the iteration instead of five, which at these sizes are as good and cost less; weight decay by AdamW's learning rate, so that
both decay alike.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
ITERATIONS = 3
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
BLOCKS = ("blocks", "decoder_blocks")  # the names of the lists of blocks in a model


def block_matrices(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The weights of linear layers inside blocks, by name."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear) and set(BLOCKS) & set(name.split(".")) and layer.weight.requires_grad:
            yield f"{name}.weight", layer.weight


def orthogonalize(matrices: Tensor, iterations: int = ITERATIONS, dtype: torch.dtype = torch.float32) -> Tensor:
    """About the nearest orthogonal matrix of each, (N, rows, columns); singular values end between 0.5 and 1.5."""
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x: Tensor = matrices.mT if is_tall else matrices  # the smaller product
    x = (x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)).to(dtype)
    a, b, c = COEFFICIENTS
    for _ in range(iterations):
        products = x @ x.mT
        x = a * x + (b * products + c * products @ products) @ x
    return x.mT if is_tall else x


class Muon(torch.optim.Optimizer):
    """For matrices only. Of a group, `lr` is Muon's learning rate and `lr_scale` what it is as a multiple of AdamW's."""

    dtype = torch.float32  # of the iteration

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        super().__init__(groups, {"lr": 0.0, "lr_scale": 1.0, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]  # nobody computes the loss again
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            for shape in dict.fromkeys(weight.shape for weight in weights):
                decay = 1 - group["weight_decay"] * group["lr"] / group["lr_scale"]
                self.step_together([weight for weight in weights if weight.shape == shape], group["lr"], decay)

    def step_together(self, weights: list[Tensor], lr: float, decay: float) -> None:
        """One step of weights of one shape."""
        gradients = [weight.grad.float() for weight in weights if weight.grad is not None]
        for weight in weights:
            self.state[weight].setdefault("momentum", torch.zeros_like(weight, dtype=torch.float32))
        momenta = [self.state[weight]["momentum"] for weight in weights]
        torch._foreach_mul_(momenta, MOMENTUM)
        torch._foreach_add_(momenta, gradients)
        rows, columns = weights[0].shape
        steps = orthogonalize(torch.stack(torch._foreach_add(gradients, momenta, alpha=MOMENTUM)), dtype=self.dtype)
        torch._foreach_mul_(weights, decay)
        torch._foreach_add_(weights, list(steps.to(weights[0].dtype).unbind()), alpha=-lr * max(1.0, rows / columns) ** 0.5)
