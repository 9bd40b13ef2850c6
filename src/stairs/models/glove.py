"""GloVe: vectors whose products are the logarithms of how often words stand near one another.

Pennington, Socher & Manning 2014, "GloVe: Global Vectors for Word Representation":

    X[i, j] = sum of 1 / distance over all places where j stands within the window of i
    J       = sum over i, j with X[i, j] > 0 of  f(X[i, j]) (w_i·c_j + b_i + b'_j - ln X[i, j])^2
    f(x)    = (x / x_max)^power, and 1 from `x_max` on: rare pairs are mostly noise

`vectors` are the w and `contexts` the c. X is symmetric, so both learn the same, and a word's vector is w + c.

Departures: the window ends with the sentence; a step of AdaGrad counts its own gradient only from the next step on, and J is halved, both as in the
authors' program; gradients are not clipped, as they are there at 100; the pairs come in an order in which several threads never meet
(`fast/glove_sweep.py`). `x_max` is 10 and not 100 except in `--size paper`, for smaller texts; there are 15 epochs, where the paper has 50, and 100
for a width of 300, in `--size paper` too.
"""

import torch
from torch import Tensor, nn

from stairs.fast.glove_sweep import WEIGHTS, GloVeSweeps
from stairs.kernels.cooccurrence import SPECIAL
from stairs.layers.word_contexts import context_mask
from stairs.models.base import Model
from stairs.models.settings import GloVeConfig
from stairs.randomness import generator
from stairs.text.batch import Batch


class GloVe(GloVeSweeps, Model):
    """Counts the pairs once, then fits vectors to the counts."""

    name = "glove"
    config: GloVeConfig
    encodes = is_thread_invariant = True
    learns_by, pretrains_with = "sweeping", "word-vectors"
    learning_rate, schedule, epochs = 0.05, "constant", 15.0  # AdaGrad has its own schedule; an epoch is only a pass over the counts

    def __init__(self, config: GloVeConfig) -> None:
        super().__init__(config)
        self.check_vocabulary()
        self.vectors = nn.Parameter(torch.zeros(config.vocab_size, config.width))
        self.contexts = nn.Parameter(torch.zeros(config.vocab_size, config.width))
        self.biases = nn.Parameter(torch.zeros(config.vocab_size))
        self.context_biases = nn.Parameter(torch.zeros(config.vocab_size))
        self.register_buffer("counts", torch.zeros(config.vocab_size, dtype=torch.int64))
        self.allocate()
        self.initialize(0)

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        for name in WEIGHTS:
            getattr(self, name).zero_()
            getattr(self, f"{name}_squares").fill_(1)
        for name in ("vectors", "contexts"):
            getattr(self, name)[SPECIAL:].uniform_(-0.5 / self.config.width, 0.5 / self.config.width, generator=generator(seed, name))

    def encode(self, batch: Batch) -> Tensor:
        return self.vectors[batch.ids] + self.contexts[batch.ids]

    def loss(self, batch: Batch) -> Tensor:
        """Half the mean of f(X) error^2 over the pairs of words in the batch, X being counted in the batch itself."""
        words, contexts, counts = self.pairs_of(batch)
        products = (self.vectors[words] * self.contexts[contexts]).sum(-1)
        error = products + self.biases[words] + self.context_biases[contexts] - counts.log()
        weight = (counts / self.config.x_max).clamp(max=1) ** self.config.power
        return (weight * error**2).sum() / 2 / max(len(words), 1)

    def pairs_of(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """i, j and X[i, j] of all pairs of words in the batch that stand near one another, each (N,)."""
        row, position, other = context_mask(batch.ids, batch.real, self.config.window).nonzero(as_tuple=True)
        size = self.config.vocab_size
        pairs, which = torch.unique(batch.ids[row, position] * size + batch.ids[row, other], return_inverse=True)
        counts = torch.zeros(len(pairs)).index_add(0, which, 1 / (position - other).abs())
        return pairs // size, pairs % size, counts
