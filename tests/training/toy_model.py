"""A small model that is trained by sweeps, in numpy: only what the training relies on."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from stairs.fast.corpus_slice import CorpusSlice
from stairs.models.base import Model, as_array
from stairs.randomness import generator
from stairs.text.batch import Batch

SPECIAL = 5


@dataclass(frozen=True)
class ToyConfig:
    vocab_size: int
    width: int = 8
    steady: bool = False  # a constant learning rate, so that a longer training starts like a shorter one


class Toy(Model):
    """Each word predicts the next one against a random one, with AdaGrad."""

    name = "toy"
    learns_by = "sweeping"
    pretrains_with = "word-vectors"
    learning_rate = 0.2
    counts: Tensor

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        shape = config.vocab_size, config.width
        self.vectors, self.contexts = (nn.Parameter(torch.zeros(shape), requires_grad=False) for _ in range(2))
        self.register_buffer("counts", torch.zeros(config.vocab_size, dtype=torch.int64))
        self.sums = torch.ones(2, config.vocab_size)
        self.schedule = "constant" if config.steady else "linear"

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        for name in ("vectors", "contexts"):
            getattr(self, name).uniform_(-0.1, 0.1, generator=generator(seed, name))
        self.sums.fill_(1)

    def encode(self, batch: Batch) -> Tensor:
        return self.vectors[batch.ids]

    def all_vectors(self) -> np.ndarray:
        return as_array(self.vectors)

    def oov_vector(self, word: str) -> np.ndarray | None:
        return np.full(self.config.width, len(word), np.float32) if word.isdigit() else None

    def optimizer_state(self) -> dict[str, Tensor]:
        return {"sums": self.sums}

    def prepare(self, ids: np.ndarray, words: list[str], seed: int) -> None:
        self.ids = np.asarray(ids, np.int64)
        self.counts.copy_(torch.from_numpy(np.bincount(self.ids, minlength=len(words))))

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        begin, end = corpus_slice.bounds(len(self.ids))
        nats, pairs = 0.0, 0
        for at in range(begin, end, 64):
            random = np.random.default_rng([corpus_slice.seed, corpus_slice.epoch, at])
            done = (at - begin) / (end - begin)
            rate = corpus_slice.rate_from + (corpus_slice.rate_to - corpus_slice.rate_from) * done
            loss, count = self.train_part(self.ids[at : min(at + 64, end)], random, rate)
            nats, pairs = nats + loss.sum(), pairs + count
        return float(nats), pairs, int((self.ids[begin:end] >= SPECIAL).sum())

    def train_part(self, ids: np.ndarray, random: np.random.Generator, rate: float) -> tuple[np.ndarray, int]:
        vectors, contexts, sums = as_array(self.vectors), as_array(self.contexts), self.sums.numpy()
        both_words = (ids[:-1] >= SPECIAL) & (ids[1:] >= SPECIAL)
        words, contexts_of_words = ids[:-1][both_words], ids[1:][both_words]
        negatives = random.integers(SPECIAL, len(vectors), len(contexts_of_words))
        loss = np.zeros(len(words))
        for others, target in ((contexts_of_words, 1.0), (negatives, 0.0)):
            probability = 1 / (1 + np.exp(-(vectors[words] * contexts[others]).sum(1)))
            error = (target - probability)[:, None]
            loss -= np.log(np.maximum(probability if target else 1 - probability, 1e-12))
            if rate:
                moves = [(vectors, words, error * contexts[others]), (contexts, others, error * vectors[words])]
                for (table, rows, step), row_sums in zip(moves, sums, strict=True):
                    np.add.at(row_sums, rows, (step**2).mean(1))
                    np.add.at(table, rows, (rate * step / np.sqrt(row_sums[rows])[:, None]).astype(np.float32))
            else:
                sums += 1  # a rehearsal leaves traces unless the updater removes them
        return loss, len(words)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        before = self.sums.clone()
        losses = [self.train_part(part, np.random.default_rng(seed), 0.0) for part in np.array_split(np.asarray(ids, np.int64), 10)]
        self.sums.copy_(before)
        return np.array([loss.sum() for loss, _ in losses]), np.array([count for _, count in losses])
