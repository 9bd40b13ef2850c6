"""One slice of a sweep over the text: the unit in which word vectors learn.

Models that learn by sweeping (`cbow`, `skipgram`, `glove`) read the text from one end to the other, in `slices` parts an epoch. Training hands a
model one `CorpusSlice` at a time, so that a run can be stopped, saved, evaluated and averaged over workers between any two of them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

COUNTED_AT_ONCE = 1 << 24  # tokens
FINAL_LR_FACTOR = 1e-4  # share of the learning rate that is left at the end of all sweeps


@dataclass(frozen=True)
class CorpusSlice:
    index: int  # which part of the epoch, counted from 0
    slices: int  # parts in an epoch
    epoch: int  # counted from 0
    rate_from: float  # learning rate at the first word of the slice ...
    rate_to: float  # ... and at its last: it falls linearly between them
    seed: int
    threads: int
    deterministic: bool  # the same bits with any number of threads
    rank: int = 0
    world_size: int = 1

    def bounds(self, length: int) -> tuple[int, int]:
        """Where, among `length` positions, this rank's share of this part of the text begins and ends."""
        parts = self.slices * self.world_size
        part = self.index * self.world_size + self.rank
        return length * part // parts, length * (part + 1) // parts


class SweepingModel(Protocol):
    """What training needs of a model that learns by sweeping. Its learning rate falls linearly unless `schedule` says "constant"."""

    learning_rate: float
    schedule: str
    counts: Tensor  # (V,) how often each id occurs in the training text; all 0 if unknown

    def prepare(self, ids: np.ndarray, words: list[str], seed: int) -> None:
        """Count what is needed of the text; before the first sweep of a process, and again for another text."""

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        """Learn from one slice: sum of the loss in nats, number of pairs, number of words read. With a rate of 0 no weight changes."""

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the loss and number of pairs of each of about a hundred slices of a held-out text, the weights unchanged. It needs no `prepare`:
        what it must know of the training text is in `counts`."""

    def optimizer_state(self) -> dict[str, Tensor]:
        """What learning remembers besides the weights, such as AdaGrad's sums: the tensors themselves, since a checkpoint is read into them."""

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The vector (D,) of a word outside the vocabulary, from its subwords; None if the model has none."""


def token_counts(ids: np.ndarray, vocab_size: int) -> np.ndarray:
    """How often each id occurs, (V,)."""
    parts = (np.bincount(ids[start : start + COUNTED_AT_ONCE], minlength=vocab_size) for start in range(0, len(ids), COUNTED_AT_ONCE))
    return sum(parts, np.zeros(vocab_size, np.int64))
