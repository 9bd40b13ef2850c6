"""How GloVe learns: the pairs of a text are counted once, and AdaGrad passes over the counts in compiled code (`kernels/glove.py`).

The counts are those of the readable loss, a step of one pair is the step of its gradient, and a sweep is AdaGrad pair by pair:
tests/models/test_glove.py. Any number of threads gives the same bits.
"""

import math
import os
import tempfile
from typing import Protocol

import numba
import numpy as np
import torch
from torch import Tensor, nn

from stairs.cache import cache_folder
from stairs.errors import BadInput
from stairs.fast.corpus_slice import CorpusSlice, token_counts
from stairs.files import check_free_space, os_errors_as_sentences
from stairs.kernels.cooccurrence import BLOCKS, CELLS, LARGEST_VOCABULARY, SPECIAL, cooccurrences
from stairs.kernels.glove import evaluate_cells, learn_round, tournament

MAX_BYTES_IN_MEMORY = 1 << 31  # of pairs; more are kept on the disk
PAIRS_PER_THREAD = 10_000  # fewer are learnt before another thread has woken up
COMMONEST, FEWEST = 0.01, 100  # share of a held-out text's pairs that it is evaluated on, and how many at least
SLICES = 100  # of the cells, in an evaluation
WEIGHTS = ("vectors", "contexts", "biases", "context_biases")


class GloVeSettings(Protocol):
    """What sweeping reads of a config."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def x_max(self) -> float: ...

    @property
    def power(self) -> float: ...


class GloVeSweeps(nn.Module):
    """The part of GloVe that counts and sweeps."""

    config: GloVeSettings
    vectors: nn.Parameter
    contexts: nn.Parameter
    counts: Tensor
    pairs: np.ndarray
    starts: np.ndarray

    def check_vocabulary(self) -> None:
        size = self.config.vocab_size
        if size > LARGEST_VOCABULARY:
            raise BadInput(f"glove has room for {LARGEST_VOCABULARY} words, got {size}; give a --vocab-size or a higher --min-count")

    def allocate(self) -> None:
        """AdaGrad's sums, and no pairs yet."""
        for name in WEIGHTS:
            self.register_buffer(f"{name}_squares", torch.ones_like(getattr(self, name)), persistent=False)
        self.pairs, self.starts = np.empty(0, np.uint64), np.zeros(CELLS + 1, np.int64)

    def all_vectors(self) -> np.ndarray:
        """(V, D)"""
        return (self.vectors + self.contexts).detach().numpy()

    def prepare(self, ids: np.ndarray, words: list[str], seed: int) -> None:
        """Count the pairs of the text."""
        self.counts.copy_(torch.from_numpy(token_counts(ids, self.config.vocab_size)))
        self.pairs, self.starts = cooccurrences(ids, self.counts.numpy(), self.config.window, seed, allocate)
        if not len(self.pairs):
            raise BadInput("no two words of the vocabulary stand in one sentence, so nothing can be counted; give more text or a lower --min-count")

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        """The rounds of the epoch in its own order, as far as they belong to the slice."""
        begin, stop = corpus_slice.bounds(len(self.pairs))
        loss, steps, done = 0.0, 0, 0
        for games in round_order(corpus_slice.seed, corpus_slice.epoch):
            cells = games[:, 0] * (games[:, 0] + 1) // 2 + games[:, 1]
            starts, sizes = self.starts[cells], self.starts[cells + 1] - self.starts[cells]
            offsets = done + np.cumsum(sizes) - sizes  # of each cell's first pair in this epoch
            lows, highs = (np.clip(border - offsets, 0, sizes) for border in (begin, stop))
            done += int(sizes.sum())
            if pairs := int((highs - lows).sum()):
                numba.set_num_threads(min(corpus_slice.threads, numba.config.NUMBA_NUM_THREADS, 1 + pairs // PAIRS_PER_THREAD))
                progress = min(max((offsets[0] - begin) / max(stop - begin, 1), 0.0), 1.0)
                rate = corpus_slice.rate_from + (corpus_slice.rate_to - corpus_slice.rate_from) * progress
                losses, made = learn_round(self.pairs, games, starts + lows, starts + highs, *self.weighting(), np.float32(rate), *self.arrays())
                loss, steps = loss + float(losses.sum()), steps + int(made.sum())
        return loss, steps, int(self.counts[SPECIAL:].sum()) * (stop - begin) // len(self.pairs)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The loss on the commonest pairs of another text, its counts scaled up to the size of the training text.

        Only on those, since most pairs of a short text are there by chance: of a hundred that may well occur one does, and its count means little.
        """
        counts = token_counts(ids, self.config.vocab_size)
        pairs, starts = cooccurrences(ids, counts, self.config.window, seed, allocate)
        log_scale = math.log(max(int(self.counts[SPECIAL:].sum()), 1) / max(int(counts[SPECIAL:].sum()), 1))
        losses, steps = evaluate_cells(pairs, starts, commonest_bound(pairs), np.float32(log_scale), *self.weighting(), *self.arrays()[:4])
        slices = np.arange(CELLS) % SLICES
        return np.bincount(slices, losses, SLICES), np.bincount(slices, steps, SLICES).astype(np.int64)

    def optimizer_state(self) -> dict[str, Tensor]:
        return {f"{name}_squares": getattr(self, f"{name}_squares") for name in WEIGHTS}

    def arrays(self) -> list[np.ndarray]:
        """The weights and AdaGrad's sums as the kernel takes them: the same memory."""
        return [tensor.detach().numpy() for tensor in (*(getattr(self, name) for name in WEIGHTS), *self.optimizer_state().values())]

    def weighting(self) -> tuple[np.float32, np.float32]:
        """ln x_max and power, of f."""
        return np.float32(math.log(self.config.x_max)), np.float32(self.config.power)


def round_order(seed: int, epoch: int) -> list[np.ndarray]:
    """The rounds of an epoch: the blocks play under other numbers each time."""
    random = np.random.default_rng([seed, epoch])
    names, rounds = random.permutation(BLOCKS), tournament()
    return [np.sort(names[rounds[i]], 1)[:, ::-1].copy() for i in random.permutation(len(rounds))]


def commonest_bound(pairs: np.ndarray) -> np.float32:
    """The least ln X of the commonest pairs."""
    log_counts = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    count = max(int(COMMONEST * len(pairs)), FEWEST)
    return np.float32(-np.inf) if count >= len(pairs) else np.partition(log_counts, -count)[-count]


def allocate(pairs: int) -> np.ndarray:
    """An array for so many pairs: in memory, or in an unnamed file that goes when it is no longer needed."""
    if 8 * pairs <= MAX_BYTES_IN_MEMORY:
        return np.empty(pairs, np.uint64)
    folder = cache_folder()
    check_free_space(folder, 8 * pairs, "the counted pairs")
    with os_errors_as_sentences(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 8 * pairs)
            return np.memmap(file, np.uint64, shape=(pairs,))
