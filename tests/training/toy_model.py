"""A small model that learns by sweeping, in numpy: what the engine may rely on, and nothing else."""

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
    steady: bool = False  # the learning rate stays, so that a longer training begins as a shorter one does


class Toy(Model):
    """Each word predicts the next one, against one drawn at random; AdaGrad gives it a memory."""

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

    def sweep(self, stretch: CorpusSlice) -> tuple[float, int, int]:
        begin, end = stretch.bounds(len(self.ids))
        nats, pairs = 0.0, 0
        for at in range(begin, end, 64):
            random = np.random.default_rng([stretch.seed, stretch.epoch, at])
            done = (at - begin) / (end - begin)
            rate = stretch.rate_from + (stretch.rate_to - stretch.rate_from) * done
            loss, count = self.learn(self.ids[at : min(at + 64, end)], random, rate)
            nats, pairs = nats + loss.sum(), pairs + count
        return float(nats), pairs, int((self.ids[begin:end] >= SPECIAL).sum())

    def learn(self, ids: np.ndarray, random: np.random.Generator, rate: float) -> tuple[np.ndarray, int]:
        vectors, contexts, sums = as_array(self.vectors), as_array(self.contexts), self.sums.numpy()
        beside = (ids[:-1] >= SPECIAL) & (ids[1:] >= SPECIAL)
        words, near = ids[:-1][beside], ids[1:][beside]
        drawn = random.integers(SPECIAL, len(vectors), len(near))
        loss = np.zeros(len(words))
        for others, target in ((near, 1.0), (drawn, 0.0)):
            probability = 1 / (1 + np.exp(-(vectors[words] * contexts[others]).sum(1)))
            error = (target - probability)[:, None]
            loss -= np.log(np.maximum(probability if target else 1 - probability, 1e-12))
            if rate:
                moves = [(vectors, words, error * contexts[others]), (contexts, others, error * vectors[words])]
                for (table, rows, step), sum_of in zip(moves, sums, strict=True):
                    np.add.at(sum_of, rows, (step**2).mean(1))
                    np.add.at(table, rows, (rate * step / np.sqrt(sum_of[rows])[:, None]).astype(np.float32))
            else:
                sums += 1  # a rehearsal that leaves traces, if the engine does not remove them
        return loss, len(words)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        before = self.sums.clone()
        found = [self.learn(part, np.random.default_rng(seed), 0.0) for part in np.array_split(np.asarray(ids, np.int64), 10)]
        self.sums.copy_(before)
        return np.array([loss.sum() for loss, _ in found]), np.array([count for _, count in found])
