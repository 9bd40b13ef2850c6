"""One stretch of a sweep over the text: the unit in which word vectors learn.

Steps that learn by sweeping (`cbow`, `skipgram`, `glove`) read the text from one end to the other, `slices` parts in an epoch. The fit hands a
model one `CorpusSlice` at a time, so that a run can be stopped, saved, judged and averaged over workers between any two of them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class CorpusSlice:
    index: int  # which part of the epoch, counted from 0
    slices: int  # parts in an epoch
    epoch: int  # counted from 0
    rate_from: float  # learning rate at the first word of the stretch ...
    rate_to: float  # ... and at its last: it falls along a straight line between them
    seed: int
    threads: int
    deterministic: bool  # the same bits with any number of threads
    rank: int = 0
    world_size: int = 1

    def bounds(self, length: int) -> tuple[int, int]:
        """Where, among `length` places, this worker's share of this part of the text begins and ends."""
        parts = self.slices * self.world_size
        part = self.index * self.world_size + self.rank
        return length * part // parts, length * (part + 1) // parts


class SweepingModel(Protocol):
    """What is asked of a model that learns by sweeping. Its learning rate falls along a straight line unless `schedule` says "constant"."""

    learning_rate: float
    schedule: str
    counts: Tensor  # (V,) how often each id stands in the text it learnt from; all 0 if nobody knows

    def prepare(self, ids: np.ndarray, words: list[str], seed: int) -> None:
        """Count what is needed of the text; before the first sweep of a process, and again when the text is another one."""

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        """Learn from one stretch: sum of the loss in nats, number of pairs, number of words read. With a rate of 0 no weight changes."""

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the loss and number of pairs of each of about a hundred slices of a held-out text, the weights unchanged. It needs no `prepare`:
        what it must know of the text that was learnt from is in `counts`."""

    def optimizer_state(self) -> dict[str, Tensor]:
        """What learning remembers besides the weights, such as AdaGrad's sums: the tensors themselves, since a checkpoint is read into them."""

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The vector (D,) of a word outside the vocabulary, by its characters; None if the model knows no characters."""
