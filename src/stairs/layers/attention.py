"""Attention: each query takes the mean of the values, weighted by how well their keys match it.

    attend(Q, K, V) = softmax(score(Q, K)) V

Scores, by their names in `make_score`; D is the width of the vectors that are multiplied, and those with W and U take a query and keys of different
widths:

    dot               q k                                   Luong et al. 2015
    scaled            q k / sqrt(D)                         Vaswani et al. 2017
    additive          v tanh(q W + k U)                     Bahdanau et al. 2015
    bilinear          q W k                                 Luong et al. 2015, their "general"
    scaled-bilinear   q W k / sqrt(D)
    projected         (q W) (k U)                           a single head of Vaswani's, without the division
    scaled-projected  (q W) (k U) / sqrt(D)                 a single head of Vaswani's

and `uniform`: equal weights, an average.

Why to divide. Products of random vectors grow with sqrt(D), and a softmax of large numbers gives everything to the largest. Of the scores [a, a, 2a]
it takes exp(2a) / (2 exp(a) + exp(2a)) of the last, and its Jacobian diag(y) - y y^T vanishes, so that nothing is learnt:

>>> def softmax(*scores: float) -> Tensor:
...     return torch.tensor(scores, dtype=torch.float64).softmax(0)
>>> print(*(f"{share:.3f}" for share in softmax(3, 1, -3)))
0.879 0.119 0.002
>>> for a in (1, 10, 100):
...     y = softmax(a, a, 2 * a)
...     print(f"a = {a}: {y[2]:.6f} of the last, largest derivative {(y.diag() - y.outer(y)).abs().max():.1e}")
a = 1: 0.576117 of the last, largest derivative 2.4e-01
a = 10: 0.999909 of the last, largest derivative 9.1e-05
a = 100: 1.000000 of the last, largest derivative 3.7e-44
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from stairs.layers.dropout import dropout
from stairs.layers.score_names import ScoreName, check_score_widths

Score = Callable[[Tensor, Tensor], Tensor]  # (..., T, D), (..., S, D) -> (..., T, S)


def dot(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-1, -2)


def scaled_dot(query: Tensor, key: Tensor) -> Tensor:
    """A query of width 64 whose products with the keys of two words, Thinking and Machines, are 112 and 96:

    >>> thinking, keys = torch.ones(1, 64), torch.tensor([[112 / 64], [96 / 64]]).expand(2, 64)
    >>> dot(thinking, keys).tolist(), scaled_dot(thinking, keys).tolist()
    ([[112.0, 96.0]], [[14.0, 12.0]])
    >>> print(*(f"{share:.2f}" for share in weigh(thinking, keys)[0]))
    0.88 0.12
    """
    return dot(query, key) / math.sqrt(query.shape[-1])


def uniform(query: Tensor, key: Tensor) -> Tensor:
    return query.new_zeros(*query.shape[:-1], key.shape[-2])


class Additive(nn.Module):
    """v tanh(qW + kU)."""

    def __init__(self, query_width: int, key_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)
        self.value = nn.Linear(width, 1, bias=False)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.compare(query, self.key(key))

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        return self.value(torch.tanh(self.query(query)[..., :, None, :] + projected[..., None, :, :]))[..., 0]


class Bilinear(nn.Module):
    """qWk, or qWk / sqrt(D)."""

    def __init__(self, query_width: int, key_width: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, key_width, bias=False)
        self.product = scaled_dot if scaled else dot

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.product(self.query(query), key)


class Projected(nn.Module):
    """<qW, kU>, or <qW, kU> / sqrt(D)."""

    def __init__(self, query_width: int, key_width: int, width: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)
        self.product = scaled_dot if scaled else dot

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.compare(query, self.key(key))

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        return self.product(self.query(query), projected)


def make_score(name: ScoreName, query_width: int, key_width: int) -> Score:
    """The score with this name; one that compares in a space of its own makes it as wide as the query."""
    check_score_widths(name, query_width, key_width)
    makers: dict[ScoreName, Callable[[], Score]] = {
        "dot": lambda: dot,
        "scaled": lambda: scaled_dot,
        "additive": lambda: Additive(query_width, key_width, query_width),
        "bilinear": lambda: Bilinear(query_width, key_width),
        "scaled-bilinear": lambda: Bilinear(query_width, key_width, scaled=True),
        "projected": lambda: Projected(query_width, key_width, query_width),
        "scaled-projected": lambda: Projected(query_width, key_width, query_width, scaled=True),
    }
    return makers[name]()


def project_keys(score: Score, key: Tensor) -> Tensor:
    """The part of a score that depends on the keys alone, computed once for keys that many queries read; `compare` does the rest."""
    return score.key(key) if isinstance(score, Additive | Projected) else key


def weigh(query: Tensor, key: Tensor, *, score: Score = scaled_dot, mask: Tensor | None = None) -> Tensor:
    """How much each query takes of each value: softmax(score), zeros for a query that may attend to nothing. A mask of floats is added to the scores;
    -inf in it masks."""
    scores = score(query, key)
    if mask is None:
        return scores.softmax(-1)
    if mask.is_floating_point():
        scores, mask = scores + mask, mask > -math.inf
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0.0)


def attend(
    query: Tensor, key: Tensor, value: Tensor, *, score: Score = scaled_dot, mask: Tensor | None = None, dropout_rate: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(score) `value`, and the weights. A query that may attend to nothing gets zeros, as in PyTorch's fused kernel."""
    weights = weigh(query, key, score=score, mask=mask)
    mixed = (dropout(weights, dropout_rate) if dropout_rate else weights) @ value
    return mixed, weights
