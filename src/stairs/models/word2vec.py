"""word2vec: vectors of words from the words around them.

Mikolov, Chen, Corrado & Dean 2013, "Efficient Estimation of Word Representations in Vector Space"; Mikolov, Sutskever, Chen, Corrado & Dean 2013,
"Distributed Representations of Words and Phrases and their Compositionality"; with `subwords`, Bojanowski et al. 2017. There are two
matrices, the embedding matrix `vectors` and the context matrix `contexts`. A vector x is compared with some rows c of the context matrix:

    skip-gram    x is the vector of a neighbour                     CBOW    x is the mean of all neighbours' vectors
    target       1 for the row of the word in the middle, 0 for those of `negatives` words drawn by count^power
                 or, along the middle word's way down a Huffman tree, 1 where it turns to the rarer side and 0 elsewhere
    error        = target - sigmoid(x c)          x += rate sum of error c          c += rate error x

With characters a word's vector is the mean of its own and those of its n-grams; skip-gram then takes x from the middle and c from the neighbours,
which is the same pairs, but only one x to put together.

Departures: a centre's negatives are shared by its neighbours (with characters by two of them), and in CBOW by two centres far apart, which costs
no quality and saves most of the time; as in the authors' programs, skip-gram's x is the neighbour and its target the middle, which is the
paper's the other way round, each part of a mean takes the whole change, not its share, the window's reach is drawn for each centre, a word is
kept with sqrt(t/f) + t/f when frequent ones are subsampled, where the paper has sqrt(t/f), and a negative that is the word itself is left out.
Windows end with the sentence. Negatives come from an alias table, exact where the programs' table of 100 million is rounded. Vectors begin
within 2 / width of 0, four times as far as there: of three distances, this had the lowest loss on held-out text. The rate falls linearly from
0.05 for both, where the papers begin at 0.025, over 5 epochs instead of 1 to 3, in `--size paper` too. No phrases are joined.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stairs.fast.corpus_slice import CorpusSlice
from stairs.kernels import word2vec as kernel
from stairs.kernels.sampling import alias_table, keep_limits, scatter, stream
from stairs.kernels.word2vec_update import Targets
from stairs.layers.attention import attend, uniform
from stairs.layers.word_contexts import (
    SPECIAL,
    BinaryNLL,
    aligned_zeros,
    context_mask,
    full_gradient_mean,
    negative_weights,
    token_counts,
    word_paths,
)
from stairs.models.base import Model, as_array
from stairs.models.settings import Word2VecConfig
from stairs.randomness import generator
from stairs.text.batch import Batch
from stairs.text.subwords import subword_buckets

SLICES = 100  # of held-out text


class Word2Vec(Model):
    """An embedding matrix and a context matrix."""

    encodes = True
    learns_by = "sweeping"
    pretrains_with = "word-vectors"
    learning_rate = 0.05
    schedule = "linear"
    config: Word2VecConfig
    vectors: nn.Parameter  # (V, D)
    contexts: nn.Parameter  # (V, D)
    grams: nn.Parameter  # (buckets, D), with characters
    counts: Tensor
    subword_starts: Tensor
    subword_ids: Tensor

    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__(config)
        size = config.vocab_size
        self.storage = self.new_layout()
        for name, place in self.places().items():
            self.register_parameter(name, nn.Parameter(place))
        self.register_buffer("counts", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("subword_starts", torch.arange(size + 1), persistent=False)
        self.register_buffer("subword_ids", torch.arange(size, dtype=torch.int32), persistent=False)
        self.ids: np.ndarray = np.zeros(0, np.uint16)  # the text that is swept over
        self.has_subwords = bool(config.subwords)
        self.initialize(0)

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        inputs, contexts = self.matrices()
        size, width = self.vectors.shape
        for name, rows in (("vectors", inputs[:size]), ("grams", inputs[size:])):
            scatter(rows, width, np.float32(2 / width), np.uint64(generator(seed, name).initial_seed()))
        inputs[:SPECIAL] = 0
        contexts[:] = 0

    def set_vocabulary(self, words: Sequence[str]) -> None:
        """Find the n-grams of the vocabulary: the parts of a word are its own row and theirs, which are counted on from the rows of `vectors`."""
        if self.config.subword_lengths is not None:
            size = self.config.vocab_size
            first, grams = subword_buckets(["", "", "", "", "", *words[SPECIAL:]], self.config.subword_lengths, self.config.buckets)
            self.subword_ids = torch.from_numpy(np.insert(grams + np.int32(size), first[:-1], np.arange(size, dtype=np.int32)))
            self.subword_starts = torch.from_numpy(first + np.arange(size + 1))

    def compose(self, ids: Tensor) -> Tensor:
        """The vectors of words: the mean of their parts, (..., D)."""
        if not self.config.subwords:
            return self.vectors[ids]
        assert len(self.subword_ids) > self.config.vocab_size, "spell(words) comes first"
        flat = ids.flatten()
        grams = self.subword_starts[flat + 1] - self.subword_starts[flat] - 1  # how many each word has
        places = torch.repeat_interleave(self.subword_starts[flat] + 1 + grams - grams.cumsum(0), grams) + torch.arange(int(grams.sum()))
        rows = self.grams[self.subword_ids[places].long() - self.config.vocab_size]
        sums = self.vectors[flat].index_add(0, torch.repeat_interleave(grams), rows)
        return (sums / (grams + 1)[:, None]).reshape(*ids.shape, -1)

    def encode(self, batch: Batch) -> Tensor:
        return self.compose(batch.ids)

    def all_vectors(self) -> np.ndarray:
        """What `compose` gives for every word, (V, D)."""
        found = np.empty(self.vectors.shape, np.float32)
        kernel.compose_words(self.matrices()[0], as_array(self.subword_starts), as_array(self.subword_ids), found)
        return found

    def oov_vector(self, word: str) -> np.ndarray | None:
        """The mean of its n-grams."""
        if self.config.subword_lengths is None:
            return None
        _, grams = subword_buckets([word], self.config.subword_lengths, self.config.buckets)
        return as_array(self.grams[grams].mean(0)) if len(grams) else None

    def comparison_rows(self, words: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The rows of the context matrix each word stands for, their targets, and which of them count, each (..., N)."""
        if self.config.softmax == "hierarchical":
            first, nodes, turns = (torch.as_tensor(array) for array in word_paths(as_array(self.counts)))
            steps = torch.arange(int((first[1:] - first[:-1]).max()))
            counts = first[words, None] + steps < first[words + 1, None]
            places = (first[words, None] + steps).where(counts, 0)
            return nodes[places].long(), turns[places], counts
        rows = torch.cat([words[..., None], negatives.expand(*words.shape, -1)], -1)
        targets = torch.zeros(rows.shape)
        targets[..., 0] = 1
        counts = rows != words[..., None]
        counts[..., 0] = True
        return rows, targets, counts

    def nll(self, x: Tensor, words: Tensor, negatives: Tensor) -> Tensor:
        """What it costs each x (..., D) to tell a word from its negatives, in nats, (...)."""
        rows, targets, counts = self.comparison_rows(words, negatives)
        scores = (x[..., None, :] * self.contexts[rows]).sum(-1)
        return (BinaryNLL.apply(scores, targets) * counts).sum(-1)

    def draw_negatives(self, *shape: int) -> Tensor:
        """Negatives, the same ones each time."""
        weights = torch.from_numpy(negative_weights(as_array(self.counts), self.config.power))
        return weights.multinomial(math.prod(shape) * self.config.negatives, True, generator=generator(0, "negatives")).view(*shape, -1)

    def prepare(self, ids: np.ndarray, words: Sequence[str], seed: int) -> None:
        self.ids = ids
        self.counts.copy_(torch.from_numpy(token_counts(ids, self.config.vocab_size)))
        self.set_vocabulary(words)
        self.tools = self.new_tools()

    def new_tools(self) -> tuple[np.ndarray, Targets]:
        """What the kernel must know of the counts."""
        config, counts = self.config, as_array(self.counts).copy()
        counts[:SPECIAL] = 0
        limits = keep_limits(counts, config.subsample)
        if config.softmax == "hierarchical":
            way = word_paths(as_array(self.counts))
            return limits, Targets(np.zeros((1, 2), np.uint32), 0, *way, int(np.diff(way[0]).max()))
        nowhere = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.float32)
        return limits, Targets(alias_table(negative_weights(counts, config.power)), config.negatives, *nowhere, config.negatives + 1)

    def new_layout(self) -> list[np.ndarray]:
        """Room for both matrices; the rows of the n-grams follow those of the words."""
        size, width, grams = self.config.vocab_size, self.config.width, self.config.buckets if self.config.subwords else 0
        return [aligned_zeros(size + grams, width), aligned_zeros(size, width)]

    def places(self) -> dict[str, Tensor]:
        """The part of them that each parameter is a view of."""
        inputs, contexts = (torch.from_numpy(matrix)[:, : self.config.width] for matrix in self.storage)
        found = {"vectors": inputs[: len(contexts)], "contexts": contexts, "grams": inputs[len(contexts) :]}
        return {name: place for name, place in found.items() if len(place)}

    def matrices(self) -> list[np.ndarray]:
        """As the kernel takes them. Parameters that have moved elsewhere are fetched back."""
        if any(getattr(self, name).data_ptr() != place.data_ptr() for name, place in self.places().items()):
            self.storage = self.new_layout()
            for name, place in self.places().items():
                place.copy_(getattr(self, name).detach())
                getattr(self, name).data = place
        return self.storage

    def run(self, ids: np.ndarray, edges: np.ndarray, rates: tuple[float, float], seed: int, threads: int, tools: Any) -> np.ndarray:
        """Loss in nats, pairs and words of each part of a text, (parts, 3)."""
        limits, outputs = tools
        inputs, contexts = self.matrices()
        arguments = (inputs.ravel(), contexts.ravel(), inputs.shape[1], outputs, self.config.window)
        parts = (as_array(self.subword_starts), as_array(self.subword_ids)) if self.composes else ()
        return kernel.sweep(self.kernel, ids, edges, limits, rates, seed, threads, *arguments, *parts)

    def sweep(self, corpus_slice: CorpusSlice) -> tuple[float, int, int]:
        edges = kernel.edges(self.ids, *corpus_slice.bounds(len(self.ids)))
        seed = int(stream(corpus_slice.seed, corpus_slice.epoch))
        threads = 1 if corpus_slice.deterministic else corpus_slice.threads
        loss, pairs, words = self.run(self.ids, edges, (corpus_slice.rate_from, corpus_slice.rate_to), seed, threads, self.tools).sum(0)
        return float(loss), int(pairs), int(words)

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """With a rate of 0 nothing is learnt."""
        edges = np.unique([kernel.border(ids, int(at)) for at in np.linspace(0, len(ids), SLICES + 1)])  # between sentences
        found = self.run(ids, edges, (0.0, 0.0), seed, torch.get_num_threads(), self.new_tools())
        return found[:, 0], found[:, 1].astype(np.int64)

    def optimizer_state(self) -> dict[str, Tensor]:
        """Nothing but the weights."""
        return {}


class CBOW(Word2Vec):
    """Predict each word from the average of its neighbours: attention with equal weights."""

    name = "cbow"
    kernel = staticmethod(kernel.cbow)
    composes = True

    def loss(self, batch: Batch, negatives: Tensor | None = None, reach: Tensor | None = None) -> Tensor:
        """Nats per word that has neighbours. `negatives` (B, T, k) of each word and `reach` (B, T) of its window, if somebody has drawn them."""
        ids, may = batch.ids, context_mask(batch.ids, batch.real, self.config.window if reach is None else reach)
        amount = (self.subword_starts[ids + 1] - self.subword_starts[ids]).float()  # parts of each word: all of them weigh the same
        x = self.compose(ids)
        mean, _ = attend(x, x, x, score=lambda query, key: uniform(query, key) + amount.log()[:, None, :], mask=may)
        x = full_gradient_mean(mean, (may * amount[:, None, :]).sum(-1))
        surprise = self.nll(x, ids, self.draw_negatives(*ids.shape) if negatives is None else negatives)
        asked = may.any(-1)
        return (surprise * asked).sum() / asked.sum().clamp(min=1)


class SkipGram(Word2Vec):
    """Predict each word from one neighbour at a time."""

    name = "skipgram"

    @property
    def composes(self) -> bool:
        return bool(self.config.subwords)

    @property
    def kernel(self) -> Any:
        return kernel.skipgram_by_parts if self.composes else kernel.skipgram

    def loss(self, batch: Batch, negatives: Tensor | None = None, reach: Tensor | None = None) -> Tensor:
        """Nats per pair. `negatives` (B, T, 1, k) of each centre, or with characters (B, T, T, k) of each pair, and `reach` (B, T) of each window."""
        ids, may = batch.ids, context_mask(batch.ids, batch.real, self.config.window if reach is None else reach)
        x = self.compose(ids)
        length = ids.shape[1]
        if self.composes:
            x = full_gradient_mean(x, self.subword_starts[ids + 1] - self.subword_starts[ids])[:, :, None].expand(-1, -1, length, -1)
            words = ids[:, None].expand_as(may)
        else:
            x = x[:, None].expand(-1, length, -1, -1)
            words = ids[:, :, None].expand_as(may)
        surprise = self.nll(x, words, self.draw_negatives(*ids.shape, length if self.composes else 1) if negatives is None else negatives)
        return (surprise * may).sum() / may.sum().clamp(min=1)
