"""The output layer, from a vector to a probability for every word of the vocabulary; in most small models it is most of the work.

    p(w | h) = exp(h·W_w + b_w) / sum over all words v of exp(h·W_v + b_v)

`linear_cross_entropy` is exact: it goes over the positions in chunks and makes each chunk's gradient at once, so that the matrix of all logits,
positions times vocabulary, never exists. `sampled_softmax_loss` (Bengio & Senécal 2008, Jean et al. 2015) puts a few words drawn at random in
place of the whole vocabulary, each logit less the log of its expected number of draws; words are numbered by falling count, so they are drawn
by Zipf's law.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

LOGITS_AT_ONCE = 1 << 22  # more leave the caches
ROWS_AT_LEAST = 256  # fewer keep the matrix product waiting for memory


def linear_cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Sum of -ln p(target) over positions: hidden (N, D), weight (V, D), bias (V,), targets (N,). `label_smoothing`
    (Szegedy et al. 2016) is the share of each target that is spread evenly over the vocabulary."""
    if torch.is_autocast_enabled(hidden.device.type):
        hidden = hidden.to(torch.get_autocast_dtype(hidden.device.type))
    return LinearCrossEntropy.apply(hidden, weight, bias, targets, label_smoothing)


@torch.no_grad()
def linear_nll(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """-ln p(target) at each position (N,), without gradient."""
    matrix = weight.to(hidden.dtype)
    nll = [nll_and_probabilities(part, matrix, bias, targets[rows])[0] for rows, part in logit_chunks(hidden, len(weight))]
    return torch.cat(nll) if nll else targets.new_zeros(0, dtype=torch.float32)


class LinearCrossEntropy(torch.autograd.Function):
    """The gradient of a chunk is computed along with its probabilities; `backward` only scales it."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float) -> Tensor:
        if not any(ctx.needs_input_grad) and not smoothing:
            return linear_nll(hidden, weight, bias, targets).sum()
        matrix = weight.to(hidden.dtype)
        total = hidden.new_zeros((), dtype=torch.float32)
        by_hidden, by_weight = torch.empty_like(hidden), None
        by_bias = None if bias is None else torch.zeros_like(bias)
        for rows, part in logit_chunks(hidden, len(weight)):
            own = targets[rows]
            nll, slope = nll_and_probabilities(part, matrix, bias, own, smoothing)
            total += nll.sum()
            slope[torch.arange(len(own), device=own.device), own] -= 1 - smoothing  # d nll / d logits = p - [word is the target]
            if smoothing:
                slope -= smoothing / len(weight)
            if by_bias is not None:
                by_bias += slope.sum(0)
            slope = slope.to(hidden.dtype)
            torch.mm(slope, matrix, out=by_hidden[rows])
            if by_weight is None:
                by_weight = (slope.T @ part).to(weight.dtype)
            elif by_weight.dtype == slope.dtype:
                by_weight.addmm_(slope.T, part)
            else:
                by_weight += slope.T @ part
        ctx.save_for_backward(by_hidden, torch.zeros_like(weight) if by_weight is None else by_weight, by_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        # In place, since it is large; PyTorch notices and refuses a second backward pass.
        scaled = [None if saved is None else saved.mul_(slopes[0].to(saved.dtype)) for saved in ctx.saved_tensors]
        return *scaled, None, None


def logit_chunks(hidden: Tensor, vocabulary: int) -> Iterator[tuple[slice, Tensor]]:
    rows = max(LOGITS_AT_ONCE // max(vocabulary, 1), ROWS_AT_LEAST)
    for start in range(0, len(hidden), rows):
        chunk = slice(start, start + rows)
        yield chunk, hidden[chunk]


def nll_and_probabilities(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """-ln p(target) (N,), with smoothing the mean of -ln p over the smoothed target, and p of all words (N, V)."""
    logits = linear(hidden, weight, None if bias is None else bias.to(hidden.dtype)).float()
    target_logits, top = logits.gather(-1, targets[:, None])[:, 0], logits.amax(-1)
    probabilities = logits.softmax(-1)
    log_total = top - probabilities.amax(-1).log()  # ln of the sum of exp(logits), in half the time of logsumexp
    if smoothing:
        target_logits = (1 - smoothing) * target_logits + smoothing * logits.mean(-1)
    return log_total - target_logits, probabilities


def sampled_softmax_loss(
    hidden: Tensor, vectors: Callable[[Tensor], Tensor], bias: Tensor, targets: Tensor, samples: int, random: torch.Generator | None = None
) -> Tensor:
    """`linear_cross_entropy`, estimated: its sum over all words is over the target and `samples` drawn words, the same for all positions. `vectors`
    gives the rows of the weight for some ids."""
    size = len(bias)
    drawn = sample_zipf(size, samples, hidden.device, random).unique()  # a frequent word is drawn many times, and one row is enough
    rows = vectors(torch.cat([targets, drawn])).to(hidden.dtype)
    target_logits = ((hidden * rows[: len(targets)]).sum(-1) + bias[targets]).float()
    inclusion = -torch.expm1(samples * torch.log1p(-zipf_probability(drawn, size)))  # the probability of being drawn at all
    others = (hidden @ rows[len(targets) :].T).float() + (bias[drawn] - inclusion.log())
    others = others.masked_fill(drawn == targets[:, None], -torch.inf)  # the target itself is counted already
    return (torch.logaddexp(target_logits, others.logsumexp(1)) - target_logits).sum()


def sample_zipf(size: int, count: int, device: torch.device, random: torch.Generator | None = None) -> Tensor:
    """Ids drawn with `zipf_probability`."""
    drawn = torch.exp(torch.rand(count, generator=random, dtype=torch.float64) * math.log(size + 1)).long() - 1
    return drawn.clamp(0, size - 1).to(device)


def zipf_probability(ids: Tensor, size: int) -> Tensor:
    return ((ids + 2.0) / (ids + 1.0)).log() / math.log(size + 1)
