"""GloVe: vectors whose products are the logarithms of how often words stand near one another.

Pennington, Socher & Manning 2014, "GloVe: Global Vectors for Word Representation":

    X[i, j] = sum of 1 / distance over all places where j stands within the window of i
    J       = sum over i, j with X[i, j] > 0 of  f(X[i, j]) (w_i·c_j + b_i + b'_j - ln X[i, j])^2
    f(x)    = (x / x_max)^power, and 1 from `x_max` on: rare pairs are mostly chance

`vectors` are the w and `contexts` the c. X is symmetric, so both learn the same, and a word's vector is w + c.

Departures: the window ends with the sentence; the step of AdaGrad counts itself only from the next step on, and J is halved, both as in the
authors' program; gradients are not clipped, as they are there at 100; the pairs come in an order in which several threads never meet
(`kernels/glove.py`). `x_max` is 10 and not 100 except in `--size paper`, for smaller texts; there are 15 epochs, where the paper makes 50, and
100 for a width of 300, in `--size paper` too.
"""

import math
import os
import tempfile

import numba
import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.fast.corpus_slice import CorpusSlice
from stairs.files import cache_folder, check_free_space, os_errors_as_sentences
from stairs.kernels.cooccurrence import BLOCKS, CELLS, LARGEST_VOCABULARY, SPECIAL, cooccurrences
from stairs.kernels.glove import evaluate_cells, learn_round, tournament
from stairs.layers.word_contexts import context_mask, token_counts
from stairs.models.base import Model, as_array
from stairs.models.settings import GloVeConfig
from stairs.randomness import generator
from stairs.text.batch import Batch

MOST_IN_MEMORY = 1 << 31  # bytes of pairs; more are kept on the disk
PAIRS_PER_THREAD = 10_000  # fewer are learnt before another thread has woken up
COMMONEST, FEWEST = 0.01, 100  # share of a held-out text's pairs on which it is judged, and how many at least
SLICES = 100  # of the cells, when it is judged
WEIGHTS = ("vectors", "contexts", "biases", "context_biases")


class GloVe(Model):
    """Counts once, then learns the counts by heart, as far as so few numbers can."""

    name = "glove"
    encodes = True
    learns_by = "sweeping"
    pretrains_with = "word-vectors"
    learning_rate = 0.05
    schedule = "constant"  # AdaGrad has its own
    is_thread_invariant = True
    epochs = 15.0  # each is only a pass over the counts
    config: GloVeConfig
    counts: Tensor

    def __init__(self, config: GloVeConfig) -> None:
        super().__init__(config)
        if config.vocab_size > LARGEST_VOCABULARY:
            raise BadInput(f"glove has room for {LARGEST_VOCABULARY} words, got {config.vocab_size}; give a --vocab-size or a higher --min-count")
        self.vectors = nn.Parameter(torch.zeros(config.vocab_size, config.width))
        self.contexts = nn.Parameter(torch.zeros(config.vocab_size, config.width))
        self.biases = nn.Parameter(torch.zeros(config.vocab_size))
        self.context_biases = nn.Parameter(torch.zeros(config.vocab_size))
        for name in WEIGHTS:
            self.register_buffer(f"{name}_squares", torch.ones_like(getattr(self, name)), persistent=False)
        self.register_buffer("counts", torch.zeros(config.vocab_size, dtype=torch.int64))
        self.pairs, self.starts = np.empty(0, np.uint64), np.zeros(CELLS + 1, np.int64)
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

    def all_vectors(self) -> np.ndarray:
        """(V, D)"""
        return as_array(self.vectors + self.contexts)

    def oov_vector(self, word: str) -> None:
        """It knows no characters."""

    def loss(self, batch: Batch) -> Tensor:
        """Half the mean of f(X) error^2 over the pairs of words in the batch, X being counted in the batch itself."""
        words, contexts, counts = self.pairs_of(batch)
        products = (self.vectors[words] * self.contexts[contexts]).sum(-1)
        error = products + self.biases[words] + self.context_biases[contexts] - counts.log()
        weight = (counts / self.config.x_max).clamp(max=1) ** self.config.power
        return (weight * error**2).sum() / 2 / max(len(words), 1)

    def pairs_of(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """i, j and X[i, j] of all pairs of words in the batch that stand near one another, each (N,)."""
        row, place, other = context_mask(batch.ids, batch.real, self.config.window).nonzero(as_tuple=True)
        size = self.config.vocab_size
        found, which = torch.unique(batch.ids[row, place] * size + batch.ids[row, other], return_inverse=True)
        counts = torch.zeros(len(found)).index_add(0, which, 1 / (place - other).abs())
        return found // size, found % size, counts

    def prepare(self, ids: np.ndarray, words: list[str], seed: int) -> None:
        """Count the pairs of the text."""
        self.counts.copy_(torch.from_numpy(token_counts(ids, self.config.vocab_size)))
        self.pairs, self.starts = cooccurrences(ids, as_array(self.counts), self.config.window, seed, allocate)
        if not len(self.pairs):
            raise BadInput("no two words of the vocabulary stand in one sentence, so nothing can be counted; give more text or a lower --min-count")

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        """The rounds of the epoch in an order of its own, as far as they belong to the stretch."""
        begin, stop = corpus_slice.bounds(len(self.pairs))
        loss, steps, done = 0.0, 0, 0
        for games in round_order(corpus_slice.seed, corpus_slice.epoch):
            cells = games[:, 0] * (games[:, 0] + 1) // 2 + games[:, 1]
            starts, sizes = self.starts[cells], self.starts[cells + 1] - self.starts[cells]
            places = done + np.cumsum(sizes) - sizes  # of each cell's first pair in this epoch
            lows, highs = (np.clip(border - places, 0, sizes) for border in (begin, stop))
            done += int(sizes.sum())
            if pairs := int((highs - lows).sum()):
                numba.set_num_threads(min(corpus_slice.threads, numba.config.NUMBA_NUM_THREADS, 1 + pairs // PAIRS_PER_THREAD))
                passed = min(max((places[0] - begin) / max(stop - begin, 1), 0.0), 1.0)
                rate = corpus_slice.rate_from + (corpus_slice.rate_to - corpus_slice.rate_from) * passed
                losses, made = learn_round(self.pairs, games, starts + lows, starts + highs, *self.weighting(), np.float32(rate), *self.arrays())
                loss, steps = loss + float(losses.sum()), steps + int(made.sum())
        return loss, steps, int(self.counts[SPECIAL:].sum()) * (stop - begin) // len(self.pairs)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The loss on the commonest pairs of another text, its counts scaled up to the size of the text that was learnt from.

        Only on those, since a short text has most of its pairs by chance: of a hundred that may well occur one does, and its count says nothing.
        """
        counts = token_counts(ids, self.config.vocab_size)
        pairs, starts = cooccurrences(ids, counts, self.config.window, seed, allocate)
        larger = math.log(max(int(self.counts[SPECIAL:].sum()), 1) / max(int(counts[SPECIAL:].sum()), 1))
        losses, judged = evaluate_cells(pairs, starts, commonest_bound(pairs), np.float32(larger), *self.weighting(), *self.arrays()[:4])
        slices = np.arange(CELLS) % SLICES
        return np.bincount(slices, losses, SLICES), np.bincount(slices, judged, SLICES).astype(np.int64)

    def optimizer_state(self) -> dict[str, Tensor]:
        return {f"{name}_squares": getattr(self, f"{name}_squares") for name in WEIGHTS}

    def arrays(self) -> list[np.ndarray]:
        """The weights and AdaGrad's sums as the kernel takes them: the same memory."""
        return [as_array(getattr(self, name)) for name in WEIGHTS] + [as_array(sums) for sums in self.optimizer_state().values()]

    def weighting(self) -> tuple[np.float32, np.float32]:
        return np.float32(math.log(self.config.x_max)), np.float32(self.config.power)


def round_order(seed: int, epoch: int) -> list[np.ndarray]:
    """The rounds of an epoch: the blocks play under other numbers each time."""
    random = np.random.default_rng([seed, epoch])
    names, rounds = random.permutation(BLOCKS), tournament()
    return [np.sort(names[rounds[i]], 1)[:, ::-1].copy() for i in random.permutation(len(rounds))]


def commonest_bound(pairs: np.ndarray) -> np.float32:
    """The least ln X of the commonest pairs."""
    log_counts = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    kept = max(int(COMMONEST * len(pairs)), FEWEST)
    return np.float32(-np.inf) if kept >= len(pairs) else np.partition(log_counts, -kept)[-kept]


def allocate(pairs: int) -> np.ndarray:
    """An array for so many pairs: in memory, or in a file without a name that goes when it is no longer needed."""
    if 8 * pairs <= MOST_IN_MEMORY:
        return np.empty(pairs, np.uint64)
    folder = cache_folder()
    check_free_space(folder, 8 * pairs, "the counted pairs")
    with os_errors_as_sentences(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 8 * pairs)
            return np.memmap(file, np.uint64, shape=(pairs,))
