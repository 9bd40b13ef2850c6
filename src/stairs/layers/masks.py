"""Attention masks: bool, True where a position may attend, (B, T, S) or broadcastable to it, combined with &."""

import torch
from torch import Tensor


def padding(real: Tensor) -> Tensor:
    """Every position may attend to the real ones: (B, S) -> (B, 1, S)."""
    return real[:, None, :]


def causal(length: int, device: torch.device | str | None = None) -> Tensor:
    """Each position may attend to itself and those before it: (T, T)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def prefix(length: int, known: int | Tensor, device: torch.device | str | None = None) -> Tensor:
    """All may attend to the first `known` positions, beyond them only back: (T, T), or (B, T, T) for a number per row."""
    positions = torch.arange(length, device=device)
    if isinstance(known, Tensor):
        return causal(length, device) | (positions < known[:, None, None])
    return causal(length, device) | (positions < known)


def window(length: int, radius: int, device: torch.device | str | None = None) -> Tensor:
    """Each position may attend to those at most `radius` away, itself included: (T, T)."""
    positions = torch.arange(length, device=device)
    return (positions[:, None] - positions).abs() <= radius


def as_floats(mask: Tensor) -> Tensor:
    """What is added to the scores: 0 where a position may attend, -inf elsewhere. A mask of floats stays."""
    return mask if mask.is_floating_point() else torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -torch.inf)
