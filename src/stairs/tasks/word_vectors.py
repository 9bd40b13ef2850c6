"""WordVectors: which words occur near one another? Word vectors are trained on it; asked, it gives the nearest words.

The vector of a text is the mean of its words' vectors, in which a frequent word counts little (Arora, Liang & Ma 2017, "A Simple but Tough-to-Beat
Baseline for Sentence Embeddings"):

    v(text) = sum of  a / (a + p(w)) * v(w)  over its words  /  their number,      p(w) the share of w among the words of the training text

Departures: the first principal component is not removed, since a single text has none.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from stairs.data import TrainingData
from stairs.errors import BadInput, preview
from stairs.models.base import Model, as_array
from stairs.models.vectors import Vectors
from stairs.progress import say
from stairs.randomness import derive_seed
from stairs.search.nearest import NearestNeighbours
from stairs.session import python_verb
from stairs.tasks.answers import Answer, WordNeighbour, WordNeighboursAnswer
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import ratio
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.parts.stream import encode_documents
from stairs.tasks.task import Encoder, Task, TrainingExamples
from stairs.text.batch import Batch
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.spaced_chunks import SpacedChunks, has_spaced_chunks
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_TOKENS_CHECKED = 1 << 24  # in which two known words must be neighbours
NO_NEIGHBOURS = "has no two known words next to each other; give a longer text or a lower --min-count"
SIF_WEIGHT = 1e-3  # a, above
EVALUATION_SEED = 0  # of the negatives on held-out text: always the same, so that two runs can be compared
TEXTS_PER_BATCH = 256
MAX_WEIGHTED_VECTORS = 200_000  # that are remembered
SLICES, MIN_SLICE = 100, 200  # of held-out text, when only a part of it is evaluated, and the tokens in one
SAMPLE_RANKS = range(100, 1100)  # by frequency, of the words that are shown during training,
SAMPLE_NEIGHBOURS = 3  # and how many of their neighbours


class WordVectorModel(Protocol):
    """What models of word vectors have besides `encode`."""

    counts: Tensor  # of each word in the training text, (V,)

    def all_vectors(self) -> np.ndarray:
        """(V, D)."""

    def held_out_loss(self, ids: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Loss and pairs of each part of a text."""

    def set_vocabulary(self, words: list[str]) -> None:
        """The spelling of each word, for models with subwords."""


class KnownWord(NamedTuple):
    spelling: str
    vector: np.ndarray  # (D,)
    share: float  # of the training text; 0 for a word outside the vocabulary


class WordVectors(Task):
    """Words that occur near one another get similar vectors."""

    name = "word-vectors"
    monitor = "loss"
    has_word_vectors = True

    index: NearestNeighbours | None = None  # built when it is first needed

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        if model.has_subwords:
            self.word_model.set_vocabulary(tokenizer.vocabulary)

    @property
    def word_model(self) -> WordVectorModel:
        return cast(WordVectorModel, self.model)

    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        super().start(seed, examples)
        self.index = None
        for name in ("frequencies", "weighted_vectors", "chunks"):
            self.__dict__.pop(name, None)

    def examples(self, data: TrainingData, split: str = "train") -> np.ndarray:
        """The ids of the text, which is swept over from one end to the other."""
        shards = text_data(data)
        for part in (split, "validation", "test"):
            is_known = shards.ids(part)[:MAX_TOKENS_CHECKED] >= len(SPECIAL_TOKENS)
            if not (is_known[:-1] & is_known[1:]).any():
                raise BadInput(f"the {part} split of the text {NO_NEIGHBOURS}")
        return shards.ids(split)

    def evaluate_split(self, data: TrainingData, split: str = "validation", limit: int | None = None) -> Measurements:
        shards = text_data(data)
        return self.evaluate_ids(sample_slices(shards.ids(split), limit), shards.info(split)["unknown_words"])

    def evaluate_texts(self, documents: Iterable[str]) -> Measurements:
        ids, text = encode_documents(self.tokenizer, documents)
        return self.evaluate_ids(ids, text.unknown_words)

    def evaluate_ids(self, ids: np.ndarray, unknown_words: int) -> Measurements:
        """Nats for each pair of a word and its neighbour."""
        loss, pairs = self.word_model.held_out_loss(ids, EVALUATION_SEED)
        if not pairs.sum():
            raise BadInput(f"the text {NO_NEIGHBOURS}, or --subsample 0 to drop no frequent words")
        return {"loss": ratio(loss, pairs), "pairs": int(pairs.sum()), "tokens": len(ids), "unknown_words": unknown_words}

    def answer(self, text: str, *, top: int = 10) -> WordNeighboursAnswer:
        """The words nearest to a word, or to a text."""
        words = self.known_words(text)
        if self.index is None:
            self.index = self.new_index()
        neighbours = nearest_ids(self.index, sif_mean(words), top + len(words))
        spellings = [word.spelling for word in words]
        near: list[WordNeighbour] = [{"word": self.tokenizer.token(i), "cosine": cosine} for i, cosine in neighbours]
        return {"text": text, "words": spellings, "near": [neighbour for neighbour in near if neighbour["word"] not in spellings][:top]}

    def summary(self, answer: Answer) -> str:
        return ", ".join(f"{neighbour['word']} {neighbour['cosine']:.2f}" for neighbour in cast(WordNeighboursAnswer, answer)["near"])

    @python_verb
    def similarity(self, first: str, second: str) -> float:
        """The cosine between two texts."""
        a, b = (sif_mean(self.known_words(text)).astype(np.float64) for text in (first, second))
        return float(a @ b / max(float(np.sqrt((a @ a) * (b @ b))), 1e-30))

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        """(N, D); zeros for a text without a known word."""
        vectors, without_words = np.zeros((len(texts), self.model.config.width), np.float32), 0
        means_of = self.sif_means if has_spaced_chunks(self.tokenizer, texts) else self.each_sif_mean
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            means, counts = means_of(texts[start : start + TEXTS_PER_BATCH])
            vectors[start : start + len(means)] = means
            without_words += int((counts == 0).sum())
        if without_words:
            say(f"{without_words} of {len(texts)} texts have no word of the vocabulary; their vectors are all 0")
        return vectors

    def each_sif_mean(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The mean of each text, zeros without a known word, and the number of its known words."""
        words = self.words_of_texts(texts)
        means = [sif_mean(own) if own else np.zeros(self.model.config.width, np.float32) for own in words]
        return np.stack(means), np.array([len(own) for own in words])

    def sif_means(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The same of many texts, but for the last bits: the weighted vector of each distinct word is looked up once."""
        if len(self.weighted_vectors) > MAX_WEIGHTED_VECTORS:
            del self.weighted_vectors, self.chunks
        numbers, counts = self.chunks.number_texts(texts)
        sums = np.zeros((len(texts), self.model.config.width), np.float32)
        has_words = np.flatnonzero(counts)
        if len(has_words):
            distinct, rows = np.unique(numbers, return_inverse=True)
            table = np.stack([self.weighted_vectors[number] for number in distinct.tolist()])
            sums[has_words] = np.add.reduceat(table[rows], (np.cumsum(counts) - counts)[has_words])
        return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts

    @functools.cached_property
    def weighted_vectors(self) -> list[np.ndarray]:
        """Of each word that `chunks` has met, its vector times its weight in a mean."""
        return []

    @functools.cached_property
    def chunks(self) -> SpacedChunks:
        """The numbers of the words of a chunk among `weighted_vectors`, where each word is looked up once."""
        numbers: dict[str, int | None] = {}  # None for a word without a vector

        def number(chunk: str) -> list[int]:
            words = self.tokenizer.words(chunk)
            new = [word for word in dict.fromkeys(words) if word not in numbers]
            ids = [self.tokenizer.id(word) for word in new]
            for known in self.with_vectors(new, ids, self.rows(np.array(ids, np.int64))):
                numbers[known.spelling] = len(self.weighted_vectors)
                self.weighted_vectors.append(sif_weight(known) * known.vector)
            for word in new:
                numbers.setdefault(word, None)
            return [own for word in words if (own := numbers[word]) is not None]

        return SpacedChunks(number)

    def token_vectors(self, texts: list[str], encode: Encoder | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """Without words that have no vector."""
        for text in texts:
            words = self.known_words(text)
            yield [word.spelling for word in words], np.stack([word.vector for word in words])

    def known_words(self, text: str) -> list[KnownWord]:
        """The words of a text that have a vector; an error if there are none."""
        (words,) = self.words_of_texts([text])
        if not words:
            raise BadInput(f"no word of {preview(text)} is in the vocabulary; try other words, or vectors trained with --subwords 3-6")
        return words

    def words_of_texts(self, texts: list[str]) -> list[list[KnownWord]]:
        """The words of each text that have a vector: those of the vocabulary, and all others from their subwords, if the model has subwords."""
        ids = [self.tokenizer.encode(text) for text in texts]
        rows = iter(self.rows(np.array([i for own in ids for i in own], np.int64)))
        return [self.words_of_text(text, own, rows) for text, own in zip(texts, ids, strict=True)]

    def words_of_text(self, text: str, ids: list[int], rows: Iterator[np.ndarray]) -> list[KnownWord]:
        spellings = self.tokenizer.words(text) if self.tokenizer.spec.kind == "words" else [self.tokenizer.token(i) for i in ids]
        return self.with_vectors(spellings, ids, itertools.islice(rows, len(ids)))

    def with_vectors(self, spellings: Iterable[str], ids: Iterable[int], rows: Iterable[np.ndarray]) -> list[KnownWord]:
        """The words that have a vector: `rows` has those of the vocabulary."""
        words = []
        for i, spelling, row in zip(ids, spellings, rows, strict=True):
            vector = row if i >= len(SPECIAL_TOKENS) else self.model.oov_vector(spelling)
            if vector is not None:
                words.append(KnownWord(spelling, vector, float(self.frequencies[i]) if i >= len(SPECIAL_TOKENS) else 0.0))
        return words

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The vectors (N, D) of ids."""
        if not len(ids):
            return np.zeros((0, self.model.config.width), np.float32)
        with torch.no_grad():
            batch = Batch(torch.from_numpy(ids)[None], torch.ones(1, len(ids), dtype=torch.bool))
            vectors: np.ndarray = self.model.encode(batch)[0].float().numpy()
            return vectors

    @functools.cached_property
    def frequencies(self) -> np.ndarray:
        """p(w): each word's share of the training text; 0 if it is unknown."""
        counts = as_array(self.word_model.counts).astype(np.float64)
        frequencies: np.ndarray = counts / max(counts[len(SPECIAL_TOKENS) :].sum(), 1.0)
        return frequencies

    def new_index(self) -> NearestNeighbours:
        """All words but the special tokens."""
        adopted = self.model if isinstance(self.model, Vectors) else None  # whose lengths are stored
        lengths = None if adopted is None else as_array(cast(Tensor, adopted.lengths))[len(SPECIAL_TOKENS) :]
        return NearestNeighbours(self.word_model.all_vectors()[len(SPECIAL_TOKENS) :], lengths)

    def sample(self, seed: int) -> str:
        """A word and its nearest neighbours."""
        words = min(self.tokenizer.vocab_size - len(SPECIAL_TOKENS), SAMPLE_RANKS.stop)
        if words <= SAMPLE_NEIGHBOURS:
            return ""
        first = min(SAMPLE_RANKS.start, words // 2)
        i = len(SPECIAL_TOKENS) + derive_seed(seed, "sample") % (words - first) + first
        neighbours = nearest_ids(self.new_index(), self.rows(np.array([i]))[0], SAMPLE_NEIGHBOURS + 1)
        return f"{self.tokenizer.token(i)} is like " + ", ".join(self.tokenizer.token(other) for other, _ in neighbours if other != i)


def sif_weight(word: KnownWord) -> np.float32:
    """Smooth inverse frequency: rare words count more."""
    return np.float32(SIF_WEIGHT / (SIF_WEIGHT + word.share))


def sif_mean(words: list[KnownWord]) -> np.ndarray:
    """The mean weighted by smooth inverse frequency, (D,)."""
    weights = np.array([sif_weight(word) for word in words], np.float32)
    mean: np.ndarray = weights @ np.stack([word.vector for word in words]) / np.float32(len(words))
    return mean


def nearest_ids(index: NearestNeighbours, vector: np.ndarray, top: int) -> list[tuple[int, float]]:
    """The ids of the words nearest to a vector, and their cosines."""
    ids, cosines = index.nearest(vector[None], top)
    return list(zip((ids[0] + len(SPECIAL_TOKENS)).tolist(), cosines[0].tolist(), strict=True))


def sample_slices(ids: np.ndarray, limit: int | None) -> np.ndarray:
    """About `limit` of the ids, in slices spread evenly over all, each followed by the end of a document."""
    if limit is None or len(ids) <= limit:
        return np.asarray(ids)
    size = max(limit // SLICES, MIN_SLICE)
    starts = np.linspace(0, max(len(ids) - size, 0), max(limit // size, 10)).astype(np.int64)
    document_end = np.array([Tokenizer.begin], ids.dtype)
    return np.concatenate([part for start in starts.tolist() for part in (ids[start : start + size], document_end)])
