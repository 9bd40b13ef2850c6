"""word2vec: vectors of words from the words around them.

Mikolov, Chen, Corrado & Dean 2013, "Efficient Estimation of Word Representations in Vector Space"; Mikolov, Sutskever, Chen, Corrado & Dean 2013,
"Distributed Representations of Words and Phrases and their Compositionality"; with `subwords`, Bojanowski et al. 2017. There are two matrices, the
embedding matrix `vectors` and the context matrix `contexts`. A vector x is compared with some rows c of the context matrix:

    skip-gram    x is the vector of a neighbour                     CBOW    x is the mean of all neighbours' vectors
    target       1 for the row of the centre word, 0 for those of `negatives` words drawn by count^power
                 or, along the centre's path down a Huffman tree, 1 where it turns to the rarer side and 0 elsewhere
    error        = target - sigmoid(x c)          x += rate sum of error c          c += rate error x

With `softmax="nce"` (noise-contrastive estimation, Gutmann & Hyvärinen 2010; Mnih & Teh 2012; Mnih & Kavukcuoglu 2013) the score is the model's
log-probability of the word w, s(w) = x c + b(w), which needs no normalization, and the binary choice is between data and k negatives drawn by q:

    P(data | x, w) = sigmoid(s(w) - ln(k q(w)))

so that as k grows exp s becomes the distribution of the words around x, where negative sampling learns only vectors.

With subwords a word's vector is the mean of its own and those of its n-grams; skip-gram then takes x from the centre and c from the neighbours, which
is the same pairs, but only one x to compose.

Departures: in NCE b(w) is the logarithm of the word's share of the text and is not learnt; a centre's negatives are shared by its neighbours (with
subwords by two of them), and in CBOW by two centres far apart, which costs no quality and saves most of the time; as in the authors' programs,
skip-gram's x is the neighbour and its target the centre, the reverse of the paper, each part of a mean takes the whole gradient, not its share, the
window's reach is drawn for each centre, subsampling keeps a frequent word with sqrt(t/f) + t/f, where the paper has sqrt(t/f), and a negative that is
the word itself is left out. Windows end with the sentence. Negatives come from an alias table, exact where the programs' table of 100 million is
rounded. Vectors start within 2 / width of 0, four times as far as there: of three distances, this had the lowest loss on held-out text. The rate
falls linearly from 0.05 for both, where the papers start at 0.025, over 5 epochs instead of 1 to 3, in `--size paper` too. No phrases are joined.
Learning is a sweep of compiled code (`fast/word2vec_sweep.py`).
"""

import math

import torch
from torch import Tensor

from stairs.fast.word2vec_sweep import Word2VecSweeps, negative_weights, noise_shifts, word_paths
from stairs.layers.attention import attend, uniform
from stairs.layers.word_contexts import BinaryNLL, context_mask, full_gradient_mean, mean_of_subwords
from stairs.models.base import Model, as_array
from stairs.models.settings import Word2VecConfig
from stairs.randomness import generator
from stairs.text.batch import Batch


class Word2Vec(Word2VecSweeps, Model):
    """`vectors` and `contexts` (V, D), and with subwords `ngrams` (buckets, D)."""

    encodes = True
    learns_by, pretrains_with = "sweeping", "word-vectors"
    learning_rate = 0.05
    config: Word2VecConfig

    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__(config)
        self.allocate()
        self.register_buffer("counts", torch.zeros(config.vocab_size, dtype=torch.int64))
        self.register_buffer("subword_starts", torch.arange(config.vocab_size + 1), persistent=False)
        self.register_buffer("subword_ids", torch.arange(config.vocab_size, dtype=torch.int32), persistent=False)
        self.has_subwords = bool(config.subwords)
        self.initialize(0)

    def encode(self, batch: Batch) -> Tensor:
        return self.compose(batch.ids)

    def compose(self, ids: Tensor) -> Tensor:
        """The vectors of words, (..., D)."""
        return mean_of_subwords(self.vectors, self.ngrams, self.subword_starts, self.subword_ids, ids) if self.has_subwords else self.vectors[ids]

    def nll(self, x: Tensor, words: Tensor, negatives: Tensor) -> Tensor:
        """-ln of the probability that each x (..., D) belongs to its word and not to the negatives, (...)."""
        rows, targets, is_compared = self.comparison_rows(words, negatives)
        scores = (x[..., None, :] * self.contexts[rows]).sum(-1)
        if self.config.softmax == "nce":
            scores = scores - torch.from_numpy(noise_shifts(as_array(self.counts), self.config.power, self.config.negatives))[rows]
        return (BinaryNLL.apply(scores, targets) * is_compared).sum(-1)

    def comparison_rows(self, words: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The rows of the context matrix that stand for each word, their targets, and which of them count, each (..., N)."""
        if self.config.softmax == "hierarchical":
            starts, nodes, codes = (torch.as_tensor(array) for array in word_paths(as_array(self.counts)))
            steps = torch.arange(int((starts[1:] - starts[:-1]).max()))
            is_compared = starts[words, None] + steps < starts[words + 1, None]
            path = (starts[words, None] + steps).where(is_compared, 0)
            return nodes[path].long(), codes[path], is_compared
        rows = torch.cat([words[..., None], negatives.expand(*words.shape, -1)], -1)
        targets = torch.zeros(rows.shape)
        targets[..., 0] = 1
        return rows, targets, (targets > 0) | (rows != words[..., None])

    def draw_negatives(self, *shape: int) -> Tensor:
        """The same ones each time."""
        weights = torch.from_numpy(negative_weights(as_array(self.counts), self.config.power))
        return weights.multinomial(math.prod(shape) * self.config.negatives, True, generator=generator(0, "negatives")).view(*shape, -1)


class CBOW(Word2Vec):
    """Predict each word from the average of its neighbours: attention with equal weights."""

    name = "cbow"
    predicts_centre_from_mean = True

    def loss(self, batch: Batch, negatives: Tensor | None = None, reach: Tensor | None = None) -> Tensor:
        """Nats per word that has neighbours, with the negatives (B, T, k) of each word and the reach (B, T) of its window."""
        ids, is_near = batch.ids, context_mask(batch.ids, batch.real, self.config.window if reach is None else reach)
        count = (self.subword_starts[ids + 1] - self.subword_starts[ids]).float()  # of each word's parts, which weigh the same
        x = self.compose(ids)
        mean, _ = attend(x, x, x, score=lambda query, key: uniform(query, key) + count.log()[:, None, :], mask=is_near)
        x = full_gradient_mean(mean, (is_near * count[:, None, :]).sum(-1))
        negatives, has_neighbours = self.draw_negatives(*ids.shape) if negatives is None else negatives, is_near.any(-1)
        return (self.nll(x, ids, negatives) * has_neighbours).sum() / has_neighbours.sum().clamp(min=1)


class SkipGram(Word2Vec):
    """Predict each word from one neighbour at a time."""

    name = "skipgram"
    predicts_centre_from_mean = False

    def loss(self, batch: Batch, negatives: Tensor | None = None, reach: Tensor | None = None) -> Tensor:
        """Nats per pair, with the negatives (B, T, 1, k) of each centre, or with subwords (B, T, T, k) of each pair, and the reach (B, T)."""
        ids, is_near = batch.ids, context_mask(batch.ids, batch.real, self.config.window if reach is None else reach)
        x, length = self.compose(ids), ids.shape[1]
        if self.has_subwords:  # x is the centre
            x = full_gradient_mean(x, self.subword_starts[ids + 1] - self.subword_starts[ids])[:, :, None].expand(-1, -1, length, -1)
            words = ids[:, None].expand_as(is_near)
        else:  # x is the neighbour
            x, words = x[:, None].expand(-1, length, -1, -1), ids[:, :, None].expand_as(is_near)
        negatives = self.draw_negatives(*ids.shape, length if self.has_subwords else 1) if negatives is None else negatives
        return (self.nll(x, words, negatives) * is_near).sum() / is_near.sum().clamp(min=1)
