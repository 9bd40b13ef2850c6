"""What steps that learn word vectors share: the error, who stands near whom, how often each word occurs, and matrices laid out for kernels."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from stairs.kernels.cooccurrence import BEGIN, END, SPECIAL
from stairs.kernels.huffman import huffman_paths
from stairs.layers.masks import padding

AT_A_TIME = 1 << 24
LINE = 64  # bytes that memory gives at a time
NUMBERS = LINE // 4


class BinaryNLL(torch.autograd.Function):
    """-ln of the chance that a score gives to its target; it pushes the score by the error."""

    @staticmethod
    def forward(saved: Any, score: Tensor, target: Tensor) -> Tensor:
        saved.save_for_backward(score, target)
        return F.softplus(score) - target * score

    @staticmethod
    def backward(saved: Any, gradient: Tensor) -> tuple[Tensor, None]:
        score, target = saved.saved_tensors
        error = target - score.sigmoid()
        return -error * gradient, None


def context_mask(ids: Tensor, real: Tensor, reach: Tensor | int) -> Tensor:
    """Which words stand at most `reach` (a number, or one per centre) from a centre and in its sentence, itself excluded: (B, T, T)."""
    places = torch.arange(ids.shape[1], device=ids.device)
    word = real & (ids >= SPECIAL)
    sentence = ((ids == BEGIN) | (ids == END)).cumsum(1)
    distance = (places[:, None] - places).abs()
    within = distance <= (reach[:, :, None] if isinstance(reach, Tensor) else reach)
    return within & (distance > 0) & word[:, :, None] & padding(word) & (sentence[:, :, None] == sentence[:, None, :])


def full_gradient_mean(mean: Tensor, count: Tensor) -> Tensor:
    """The mean, whose every part takes the whole change: its gradient is `format_tokens` times as large."""
    return mean * count[..., None] - (mean * (count[..., None] - 1)).detach()


def token_counts(ids: np.ndarray, size: int) -> np.ndarray:
    """How often each id stands in the text."""
    counts = np.zeros(size, np.int64)
    for at in range(0, len(ids), AT_A_TIME):
        counts += np.bincount(ids[at : at + AT_A_TIME], minlength=size)
    return counts


def negative_weights(counts: np.ndarray, power: float) -> np.ndarray:
    """How often a word is drawn: count^power; if nothing was counted, all words alike."""
    counted = counts.astype(np.float64)
    counted[:SPECIAL] = 0
    if not counted.any():
        counted[SPECIAL:] = 1
    return np.where(counted > 0, counted**power, 0)


def word_paths(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every word's way down the Huffman tree of all words: where it begins, its nodes, and the target at each."""
    return huffman_paths(counts, np.argsort(counts[SPECIAL:], kind="stable") + SPECIAL)


def aligned_zeros(rows: int, width: int) -> np.ndarray:
    """A matrix of zeros whose rows begin at lines of memory, so that a row is read in as few of them as can be."""
    wide = -(-width // NUMBERS) * NUMBERS
    raw = np.zeros(rows * wide + NUMBERS, np.float32)
    skipped = -raw.ctypes.data % LINE // raw.itemsize
    return raw[skipped : skipped + rows * wide].reshape(rows, wide)
