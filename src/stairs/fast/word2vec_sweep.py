"""How word2vec learns: compiled sweeps over the text (`kernels/word2vec.py`), not gradients of its `loss`.

A sweep takes the step that the gradient of the loss asks for, and adds up the same loss: tests/models/test_word2vec.py. The rows of both matrices
start at cache lines; the parameters are views of them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from stairs.fast.corpus_slice import CorpusSlice, token_counts
from stairs.kernels import word2vec as kernel
from stairs.kernels.cooccurrence import SPECIAL
from stairs.kernels.huffman import huffman_paths
from stairs.kernels.sampling import alias_table, keep_limits, stream, uniform_rows
from stairs.kernels.word2vec_update import Targets
from stairs.randomness import generator
from stairs.text.subwords import subword_buckets

SLICES = 100  # of held-out text
CACHE_LINE = 64  # bytes
LINE_NUMBERS = CACHE_LINE // 4


class Word2VecSettings(Protocol):
    """What sweeping reads of a config."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def negatives(self) -> int: ...

    @property
    def subsample(self) -> float: ...

    @property
    def softmax(self) -> str: ...

    @property
    def buckets(self) -> int: ...

    @property
    def power(self) -> float: ...

    @property
    def subwords(self) -> str: ...

    @property
    def subword_lengths(self) -> tuple[int, int] | None: ...


class Word2VecSweeps(nn.Module):
    """The part of Word2Vec that learns by sweeping."""

    config: Word2VecSettings
    vectors: nn.Parameter
    contexts: nn.Parameter
    ngrams: nn.Parameter
    counts: Tensor
    subword_starts: Tensor
    subword_ids: Tensor
    predicts_centre_from_mean: bool
    ids: np.ndarray  # the text that is swept over
    tables: tuple[np.ndarray, Targets]

    # Storage

    def allocate(self) -> None:
        """Make the matrices, and the parameters that are views of them."""
        self.storage = self.new_storage()
        for name, view in self.views().items():
            self.register_parameter(name, nn.Parameter(view))

    def new_storage(self) -> list[np.ndarray]:
        """Both matrices; the rows of the n-grams follow those of the words."""
        size, buckets, width = self.config.vocab_size, self.config.buckets if self.config.subwords else 0, self.config.width
        return [aligned_zeros(size + buckets, width), aligned_zeros(size, width)]

    def views(self) -> dict[str, Tensor]:
        inputs, contexts = (torch.from_numpy(matrix)[:, : self.config.width] for matrix in self.storage)
        views = {"vectors": inputs[: len(contexts)], "contexts": contexts, "ngrams": inputs[len(contexts) :]}
        return {name: view for name, view in views.items() if len(view)}

    def matrices(self) -> list[np.ndarray]:
        """As the kernel takes them. Parameters that have moved elsewhere are copied back."""
        if any(getattr(self, name).data_ptr() != view.data_ptr() for name, view in self.views().items()):
            self.storage = self.new_storage()
            for name, view in self.views().items():
                view.copy_(getattr(self, name).detach())
                getattr(self, name).data = view
        return self.storage

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        """Uniform within 2 / width of 0; the context matrix 0."""
        inputs, contexts = self.matrices()
        size, width = self.vectors.shape
        for name, rows in (("vectors", inputs[:size]), ("grams", inputs[size:])):
            uniform_rows(rows, width, np.float32(2 / width), np.uint64(generator(seed, name).initial_seed()))
        inputs[:SPECIAL] = 0
        contexts[:] = 0

    # Words

    def set_vocabulary(self, words: Sequence[str]) -> None:
        """Find the n-grams of the words. The subwords of a word are its own row and theirs, counted on from the rows of `vectors`."""
        if self.config.subword_lengths is not None:
            size = self.config.vocab_size
            starts, ngrams = subword_buckets(["", "", "", "", "", *words[SPECIAL:]], self.config.subword_lengths, self.config.buckets)
            self.subword_ids = torch.from_numpy(np.insert(ngrams + np.int32(size), starts[:-1], np.arange(size, dtype=np.int32)))
            self.subword_starts = torch.from_numpy(starts + np.arange(size + 1))

    def all_vectors(self) -> np.ndarray:
        """The vector of every word, (V, D)."""
        vectors = np.empty(self.vectors.shape, np.float32)
        kernel.compose_words(self.matrices()[0], self.subword_starts.numpy(), self.subword_ids.numpy(), vectors)
        return vectors

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The mean of its n-grams."""
        if self.config.subword_lengths is None:
            return None
        _, ngrams = subword_buckets([word], self.config.subword_lengths, self.config.buckets)
        return self.ngrams[ngrams].mean(0).detach().numpy() if len(ngrams) else None

    # Sweeps

    def prepare(self, ids: np.ndarray, words: Sequence[str], seed: int) -> None:
        self.ids = ids
        self.counts.copy_(torch.from_numpy(token_counts(ids, self.config.vocab_size)))
        self.set_vocabulary(words)
        self.tables = self.new_tables()

    def new_tables(self) -> tuple[np.ndarray, Targets]:
        """What the kernel must know of the counts: which occurrences are kept, and which rows each word is compared with."""
        config, counts = self.config, self.counts.numpy().copy()
        counts[:SPECIAL] = 0
        limits = keep_limits(counts, config.subsample)
        if config.softmax == "hierarchical":
            paths = word_paths(self.counts.numpy())
            return limits, Targets(np.zeros((1, 2), np.uint32), 0, *paths, int(np.diff(paths[0]).max()), np.zeros(0, np.float32))
        no_paths = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.float32)
        shifts = noise_shifts(counts, config.power, config.negatives) if config.softmax == "nce" else np.zeros(0, np.float32)
        return limits, Targets(alias_table(negative_weights(counts, config.power)), config.negatives, *no_paths, config.negatives + 1, shifts)

    @property
    def kernel(self) -> Callable[..., tuple[float, int]]:
        if self.predicts_centre_from_mean:
            return kernel.cbow
        return kernel.skipgram_by_parts if self.config.subwords else kernel.skipgram

    def run(
        self, ids: np.ndarray, edges: np.ndarray, rates: tuple[float, float], seed: int, threads: int, tables: tuple[np.ndarray, Targets]
    ) -> np.ndarray:
        """Loss in nats, pairs and words of each part of a text, (parts, 3)."""
        limits, targets = tables
        inputs, contexts = self.matrices()
        arguments = (inputs.ravel(), contexts.ravel(), inputs.shape[1], targets, self.config.window)
        composes = self.predicts_centre_from_mean or self.config.subwords
        subwords = (self.subword_starts.numpy(), self.subword_ids.numpy()) if composes else ()
        return kernel.sweep(self.kernel, ids, edges, limits, rates, seed, threads, *arguments, *subwords)

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        edges = kernel.edges(self.ids, *corpus_slice.bounds(len(self.ids)))
        seed = int(stream(corpus_slice.seed, corpus_slice.epoch))
        threads = 1 if corpus_slice.deterministic else corpus_slice.threads
        loss, pairs, words = self.run(self.ids, edges, (corpus_slice.rate_from, corpus_slice.rate_to), seed, threads, self.tables).sum(0)
        return float(loss), int(pairs), int(words)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """With a rate of 0 nothing is learnt."""
        edges = np.unique([kernel.border(ids, int(at)) for at in np.linspace(0, len(ids), SLICES + 1)])  # between sentences
        totals = self.run(ids, edges, (0.0, 0.0), seed, torch.get_num_threads(), self.new_tables())
        return totals[:, 0], totals[:, 1].astype(np.int64)


def negative_weights(counts: np.ndarray, power: float) -> np.ndarray:
    """How often a word is drawn as a negative: count^power; all words alike if nothing was counted."""
    weights = counts.astype(np.float64)
    weights[:SPECIAL] = 0
    if not weights.any():
        weights[SPECIAL:] = 1
    return np.where(weights > 0, weights**power, 0)


def noise_shifts(counts: np.ndarray, power: float, negatives: int) -> np.ndarray:
    """ln(k q(w)) - ln p(w) of each word, for noise-contrastive estimation: k negatives are drawn by q, and p is the word's share of the text."""
    counts = counts.astype(np.float64)
    counts[:SPECIAL] = 0
    weights = negative_weights(counts, power)
    is_counted = (counts > 0) & (weights > 0)
    shifts = np.zeros(len(counts))
    shifts[is_counted] = np.log(negatives * weights[is_counted] / weights.sum()) - np.log(counts[is_counted] / counts.sum())
    return shifts.astype(np.float32)


def word_paths(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every word's path down the Huffman tree: where it starts, its nodes, and the code at each."""
    return huffman_paths(counts, np.argsort(counts[SPECIAL:], kind="stable") + SPECIAL)


def aligned_zeros(rows: int, width: int) -> np.ndarray:
    """A matrix of zeros whose rows start at cache lines, so that reading a row touches as few of them as possible."""
    padded = -(-width // LINE_NUMBERS) * LINE_NUMBERS
    raw = np.zeros(rows * padded + LINE_NUMBERS, np.float32)
    skip = -raw.ctypes.data % CACHE_LINE // raw.itemsize
    return raw[skip : skip + rows * padded].reshape(rows, padded)
