"""What models of word vectors share: which words are near one another, the loss of a binary choice, and words made of subwords."""

import torch
import torch.nn.functional as F
from torch import Tensor

from stairs.kernels.cooccurrence import BEGIN, END, SPECIAL
from stairs.layers.masks import padding


class BinaryNLL(torch.autograd.Function):
    """-ln of the probability sigmoid(score) of a target of 1, or 1 - sigmoid(score) of 0; its gradient is the error, target - sigmoid(score)."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, score: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(score, target)
        return F.softplus(score) - target * score

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        score, target = ctx.saved_tensors  # type: ignore[attr-defined]
        error = target - score.sigmoid()
        return -error * gradient, None


def context_mask(ids: Tensor, real: Tensor, reach: Tensor | int) -> Tensor:
    """Which words stand at most `reach` (a number, or one for each centre) from a centre and in its sentence, itself excluded: (B, T, T)."""
    positions = torch.arange(ids.shape[1], device=ids.device)
    is_word = real & (ids >= SPECIAL)
    sentence = ((ids == BEGIN) | (ids == END)).cumsum(1)
    distance = (positions[:, None] - positions).abs()
    within = distance <= (reach[:, :, None] if isinstance(reach, Tensor) else reach)
    return within & (distance > 0) & is_word[:, :, None] & padding(is_word) & (sentence[:, :, None] == sentence[:, None, :])


def full_gradient_mean(mean: Tensor, count: Tensor) -> Tensor:
    """The mean, each part of which takes the whole gradient and not its share: the gradient is `count` times as large."""
    return mean * count[..., None] - (mean * (count[..., None] - 1)).detach()


def mean_of_subwords(words: Tensor, subwords: Tensor, starts: Tensor, subword_ids: Tensor, ids: Tensor) -> Tensor:
    """The mean of a word's own row of `words` and of the rows of `subwords` that its n-grams have, (..., D). Those of word w are
    subword_ids[starts[w] + 1 : starts[w + 1]], counted on from the rows of `words`."""
    flat = ids.flatten()
    counts = starts[flat + 1] - starts[flat] - 1
    listed = torch.repeat_interleave(starts[flat] + 1 + counts - counts.cumsum(0), counts) + torch.arange(int(counts.sum()))
    rows = subwords[subword_ids[listed].long() - len(words)]
    sums = words[flat].index_add(0, torch.repeat_interleave(counts), rows)
    return (sums / (counts + 1)[:, None]).reshape(*ids.shape, -1)
