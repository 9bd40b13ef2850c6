"""Bring features to a scale that one learning rate fits: mean 0 and deviation 1, or whitened.

    standardized = (x - mean) / deviation                 fitted once to examples, and kept with the run
    whitened     = standardized V (S + faint)^-1/2 V^T    with V S V^T their covariance (Kessy, Lewin & Strimmer 2018: ZCA-cor)

The last V^T turns the whitened numbers back to where they stood, so that those of several layers may be added.
"""

import torch
from torch import Tensor, nn

SMALLEST = 1e-6  # deviation of a feature
FAINT = 1e-3  # share of the mean strength of a direction, below which it is not made stronger


class Standardize(nn.Module):
    middle: Tensor
    spread: Tensor
    turn: Tensor | None

    def __init__(self, width: int, whitened: bool) -> None:
        super().__init__()
        self.register_buffer("middle", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))
        self.register_buffer("turn", torch.eye(width) if whitened else None)

    def forward(self, features: Tensor) -> Tensor:
        found = (features - self.middle) / self.spread
        return found if self.turn is None else found @ self.turn

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.middle.copy_(features.mean(0))
        self.spread.copy_(features.std(0).clamp(min=SMALLEST))
        if self.turn is not None:
            strengths, directions = torch.linalg.eigh(torch.cov(((features - self.middle) / self.spread).double().T))
            self.turn.copy_((directions / (strengths + FAINT * strengths.mean()).sqrt()) @ directions.T)

    def folded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Weight and bias of a linear layer that does the same to features as they come."""
        weight = (weight if self.turn is None else weight @ self.turn.T) / self.spread
        return weight.detach(), (bias - weight @ self.middle).detach()
