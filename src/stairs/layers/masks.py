"""Who may look at whom: bool, True = may look, (B, T, S) or broadcastable to it, combined with &."""

import torch
from torch import Tensor


def padding(real: Tensor) -> Tensor:
    """Everyone may look at what is real: (B, S) -> (B, 1, S)."""
    return real[:, None, :]


def causal(length: int, device: torch.device | str | None = None) -> Tensor:
    """Each position may look at itself and what stands before it: (T, T)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def prefix(length: int, known: int | Tensor, device: torch.device | str | None = None) -> Tensor:
    """All may look at the first `known` positions, beyond them only back: (T, T), or (B, T, T) for a number per row."""
    places = torch.arange(length, device=device)
    if isinstance(known, Tensor):
        return causal(length, device) | (places < known[:, None, None])
    return causal(length, device) | (places < known)


def window(length: int, radius: int, device: torch.device | str | None = None) -> Tensor:
    """Each position may look at those at most `radius` away, itself included: (T, T)."""
    places = torch.arange(length, device=device)
    return (places[:, None] - places).abs() <= radius
