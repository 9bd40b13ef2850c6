"""NNLM: the next word from the vectors of the last n-1 words.

Bengio, Ducharme, Vincent & Janvin 2003, "A Neural Probabilistic Language Model":

    x = (C(w_{t-1}), ..., C(w_{t-n+1}))          the words' vectors side by side
    y = b + W x + U tanh(d + H x)                p(w_t | the words before) = softmax(y)

`vectors` is C, `hidden` is H and d, `output` is U, W and b in one matrix: [U W] (tanh(d + H x), x).

Departures: begin marks precede the first word of a text; with a large vocabulary it may be trained with a sampled softmax; b starts at the logarithm
of the words' shares of the training text. It is trained by AdamW in batches with a learning rate that rises and falls, in `--size paper` too; the
paper used stochastic gradient descent, a rate of 0.001 / (1 + rt) and a weight decay of 0.0001 on all but biases. It reads subwords
unless `--tokenizer words` is given, and its predictions are not mixed with those of trigrams.
"""

import torch
from torch import Tensor, nn

from stairs.fast import recurrent_decoder
from stairs.layers.initial import initialize
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll, sampled_softmax_loss
from stairs.models.base import Model
from stairs.models.settings import NNLMConfig
from stairs.text.batch import IGNORE_INDEX, Batch

LARGE = 32_768  # words from which on the full softmax is slow to train


class NNLM(Model):
    """Words that occur in the same contexts get similar vectors, so that a new sentence is predicted from similar ones."""

    name = "nnlm"
    config: NNLMConfig
    encodes = predicts = generates = True
    learning_rate = 1e-2
    decode_step = recurrent_decoder.decode_window

    def __init__(self, config: NNLMConfig) -> None:
        super().__init__(config)
        words = config.order - 1
        self.vectors = nn.Embedding(config.vocab_size, config.width)
        self.hidden = nn.Linear(words * config.width, config.hidden)
        self.output = nn.Linear(config.hidden + (words * config.width if config.direct else 0), config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        self.initialize_new()

    def initialize(self, seed: int) -> None:
        initialize(self, seed, deviation=0.05)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        self.output.bias.copy_(log_shares)

    def encode(self, batch: Batch) -> Tensor:
        """A token's own vector beside the hidden layer after it, (B, T, D)."""
        x, h = self.layers(self.contexts(batch))
        return torch.cat([x[..., -self.config.width :], h], -1)

    def predict(self, batch: Batch) -> Tensor:
        return self.output(self.features(self.contexts(batch)))

    def loss(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        features, targets = self.features(self.contexts(batch)[has_target]), batch.targets[has_target]
        if self.training and self.samples_words:
            total = sampled_softmax_loss(features, self.rows, self.output.bias, targets, self.config.samples)
        else:
            total = linear_cross_entropy(features, self.output.weight, self.output.bias, targets)
        return total / len(targets)

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of the output layer."""
        return nn.functional.embedding(ids, self.output.weight)

    @torch.no_grad()
    def log_likelihood(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        nll = linear_nll(self.features(self.contexts(batch)[has_target]), self.output.weight, self.output.bias, batch.targets[has_target])
        return torch.zeros(has_target.shape, device=has_target.device).masked_scatter(has_target, -nll)

    def contexts(self, batch: Batch) -> Tensor:
        """The last n-1 words at every position, (B, T, n-1)."""
        words = self.config.order - 1
        ids = batch.ids.where(batch.real, self.config.begin)
        before = ids.new_full((len(ids), words - 1), self.config.begin)
        return torch.cat([before, ids], 1).unfold(1, words, 1)

    def layers(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        """x and tanh(d + H x)."""
        x = self.vectors(contexts).flatten(-2)
        return x, torch.tanh(self.hidden(x))

    def features(self, contexts: Tensor) -> Tensor:
        """The input of the output layer."""
        x, h = self.layers(contexts)
        h = self.dropout(h)
        return torch.cat([h, x.to(h.dtype)], -1) if self.config.direct else h

    @property
    def samples_words(self) -> bool:
        config = self.config
        return config.softmax == "sampled" or (config.softmax == "auto" and config.vocab_size > LARGE)
