"""Bring features to one scale, so that one learning rate fits all: mean 0 and deviation 1, or whitened.

    standardized = (x - mean) / deviation                 fitted once to examples, and stored with the run
    whitened     = standardized V (S + ridge)^-1/2 V^T    with V S V^T their covariance (Kessy, Lewin & Strimmer 2018: ZCA-cor)

The last V^T rotates the whitened features back, so that those of several layers can be added.
"""

import torch
from torch import Tensor, nn

MIN_DEVIATION = 1e-6
RIDGE = 1e-3  # as a share of the mean eigenvalue: directions with much less variance than this are not amplified to 1
MIN_VARIANCE = 1e-6  # where all features are alike, as of texts that have unknown words only


class Standardize(nn.Module):
    mean: Tensor
    deviation: Tensor
    whitening: Tensor | None

    def __init__(self, width: int, whiten: bool) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))
        self.register_buffer("whitening", torch.eye(width) if whiten else None)

    def forward(self, features: Tensor) -> Tensor:
        standardized = (features - self.mean) / self.deviation
        return standardized if self.whitening is None else standardized @ self.whitening

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=MIN_DEVIATION))
        if self.whitening is not None:
            eigenvalues, eigenvectors = torch.linalg.eigh(torch.cov(((features - self.mean) / self.deviation).double().T))
            self.whitening.copy_((eigenvectors / (eigenvalues + RIDGE * eigenvalues.mean()).clamp(min=MIN_VARIANCE).sqrt()) @ eigenvectors.T)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Weight and bias of a linear layer that does the same to features that are not standardized."""
        weight = (weight if self.whitening is None else weight @ self.whitening.T) / self.deviation
        return weight.detach(), (bias - weight @ self.mean).detach()
