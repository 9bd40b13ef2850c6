"""Randomness without state: every random number is a function of the seed, the name of its stream and a few counters.

    generator(seed, "sample", position)        the same numbers for the same three values, whatever was drawn before

A resumed training therefore needs no generator's state, and two streams never depend on each other. `generator` is PyTorch's, `numpy_generator`
NumPy's; compiled loops draw from `kernels/sampling.py`, which scrambles a seed and a position in the text in the same spirit. The names of streams
decide the weights: renaming one changes every result.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, stream: str, *counters: int) -> int:
    """A seed of 63 bits for one use of randomness."""
    return int.from_bytes(hashlib.blake2b(":".join(map(str, (seed, stream, *counters))).encode(), digest_size=8).digest()) >> 1


def generator(seed: int, stream: str, *counters: int) -> "torch.Generator":
    import torch

    return torch.Generator().manual_seed(derive_seed(seed, stream, *counters))


def numpy_generator(seed: int, stream: str, *counters: int) -> np.random.Generator:
    return np.random.default_rng(derive_seed(seed, stream, *counters))
