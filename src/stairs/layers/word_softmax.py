"""The softmax of ELMo over the most frequent words; all others are predicted as one, the unknown word.

    p(w | h) = softmax(h tokens^T + b)
    tokens_w = a row of a table, or with `--softmax cnn` CNN(characters of w) + M c_w         Jozefowicz et al. 2016; c_w is short

Words that are spelled almost alike get almost the same CNN(characters); the correction M c_w is what tells them apart (`inspection/look_alikes.py`).

In training it is over all words, or over a sample of them (`layers/vocabulary.py`); with `cnn` always over a sample.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from stairs.layers.characters import CharacterCNN
from stairs.layers.vocabulary import linear_cross_entropy, sampled_softmax_loss

LARGE = 8192  # words from which on the full softmax is slow to train


class SoftmaxConfig(Protocol):
    """The settings of the softmax; configs themselves belong to models/, which lies above."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def output_vocab(self) -> int: ...

    @property
    def unknown(self) -> int: ...

    @property
    def softmax(self) -> str: ...

    @property
    def samples(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def correction_width(self) -> int: ...


class WordSoftmax(nn.Module):
    """What a model with this softmax inherits; the parts are the model's own, so that its weights keep their names."""

    vocabulary_characters: Tensor | None  # (V, C), with `--softmax cnn`

    def add_softmax(self, config: SoftmaxConfig, new_cnn: Callable[[], CharacterCNN]) -> None:
        self.softmax_config = config
        self.output_vocab = min(config.output_vocab, config.vocab_size)
        if config.softmax == "cnn":
            self.output_characters = new_cnn()
            if config.correction_width:
                self.output_correction = nn.Embedding(self.output_vocab, config.correction_width)
                self.output_projection = nn.Linear(config.correction_width, config.width, bias=False)
        else:
            self.output_words = nn.Embedding(self.output_vocab, config.width)
        self.output_bias = nn.Parameter(torch.zeros(self.output_vocab))
        self.register_buffer("vocabulary_characters", None, persistent=False)

    @torch.no_grad()
    def start_at_unigram(self, log_shares: Tensor) -> None:
        """A word outside the output vocabulary counts as the unknown one."""
        self.output_bias.copy_(log_shares[: self.output_vocab])
        rest, unknown = log_shares[self.output_vocab :], self.softmax_config.unknown
        if len(rest):
            self.output_bias[unknown] = torch.logaddexp(log_shares[unknown], rest.logsumexp(0))

    def output_targets(self, targets: Tensor) -> Tensor:
        """A target outside the output vocabulary is the unknown word."""
        return targets.where(targets < self.output_vocab, self.softmax_config.unknown)

    def set_vocabulary(self, characters: Tensor) -> None:
        """The characters of every word of the output vocabulary, (V, C), for `--softmax cnn`."""
        self.vocabulary_characters = characters

    def output_vectors(self, ids: Tensor) -> Tensor:
        """tokens_w of words of the output vocabulary, (N,) to (N, D)."""
        if self.softmax_config.softmax != "cnn":
            return self.output_words(ids)
        words, inverse = torch.unique(ids, return_inverse=True)
        spelled = self.vectors_from_characters(words)
        return (spelled + self.output_projection(self.output_correction(words)) if self.softmax_config.correction_width else spelled)[inverse]

    def vectors_from_characters(self, ids: Tensor) -> Tensor:
        """The same without the correction, with `--softmax cnn`."""
        assert self.vocabulary_characters is not None, "the task sets the vocabulary"
        return self.output_characters(self.vocabulary_characters[ids])

    @property
    def output_weight(self) -> Tensor:
        """tokens, of the whole output vocabulary."""
        if self.softmax_config.softmax != "cnn":
            return self.output_words.weight
        return torch.cat([self.output_vectors(part) for part in torch.arange(self.output_vocab, device=self.output_bias.device).split(LARGE)])

    def nll(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Sum of -ln p(target): hidden (N, D), targets (N,) of the whole vocabulary; in training it may be estimated."""
        targets = self.output_targets(targets)
        if self.training and self.samples_words:
            return sampled_softmax_loss(hidden, self.output_vectors, self.output_bias, targets, self.softmax_config.samples)
        return linear_cross_entropy(hidden, self.output_weight, self.output_bias, targets)

    @property
    def samples_words(self) -> bool:
        config = self.softmax_config
        return config.softmax in ("sampled", "cnn") or (config.softmax == "auto" and self.output_vocab > LARGE)
