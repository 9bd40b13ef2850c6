"""Bring features to a scale that one learning rate fits: mean 0 and deviation 1, or whitened.

    standardized = (x - mean) / deviation                 fitted once to examples, and kept with the run
    whitened     = standardized V (S + faint)^-1/2 V^T    with V S V^T their covariance (Kessy, Lewin & Strimmer 2018: ZCA-cor)

The last V^T turns the whitened numbers back to where they stood, so that those of several layers may be added.
"""

import torch
from torch import Tensor, nn

MIN_DEVIATION = 1e-6  # deviation of a feature
RIDGE = 1e-3  # share of the mean strength of a direction, below which it is not made stronger


class Standardize(nn.Module):
    mean: Tensor
    deviation: Tensor
    whitening: Tensor | None

    def __init__(self, width: int, whitened: bool) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))
        self.register_buffer("whitening", torch.eye(width) if whitened else None)

    def forward(self, features: Tensor) -> Tensor:
        found = (features - self.mean) / self.deviation
        return found if self.whitening is None else found @ self.whitening

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=MIN_DEVIATION))
        if self.whitening is not None:
            strengths, directions = torch.linalg.eigh(torch.cov(((features - self.mean) / self.deviation).double().T))
            self.whitening.copy_((directions / (strengths + RIDGE * strengths.mean()).sqrt()) @ directions.T)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Weight and bias of a linear layer that does the same to features as they come."""
        weight = (weight if self.whitening is None else weight @ self.whitening.T) / self.deviation
        return weight.detach(), (bias - weight @ self.mean).detach()
