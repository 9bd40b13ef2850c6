"""Window: which words stand near one another? Word vectors are trained on it; asked, it names the nearest words.

The vector of a text is the mean of its words' vectors, in which a frequent word counts little (Arora, Liang & Ma 2017, "A Simple but Tough-to-Beat
Baseline for Sentence Embeddings"):

    v(text) = sum of  a / (a + p(w)) * v(w)  over its words  /  their number,      p(w) the share of w among the words of the training text

Departures: the first principal component is not taken away, since one text has none.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from stairs.errors import BadInput, preview
from stairs.models.base import as_array
from stairs.progress import say
from stairs.randomness import derive_seed
from stairs.search.nearest import NearestNeighbours
from stairs.tasks.metrics import ratio
from stairs.tasks.parts.stream import encode_documents
from stairs.tasks.task import Task
from stairs.text.batch import Batch
from stairs.text.shards import Shards
from stairs.text.special import SPECIAL_TOKENS
from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_TOKENS_CHECKED = 1 << 24  # tokens in which two words must meet
NO_NEIGHBOURS = "has no two known words beside one another; give a longer text or a lower --min-count"
SIF_WEIGHT = 1e-3  # a, above
EVALUATION_SEED = 0  # of the negatives on held-out text: always the same, so that two runs can be compared
TEXTS_AT_ONCE = 256  # whose vectors are looked up together
SLICES, SHORTEST = 100, 200  # of held-out text, when only a part of it is judged, and the tokens in one
SAMPLED = range(100, 1100)  # ranks of the words that are shown while training,
SHOWN = 3  # and how many of their neighbours


class KnownWord(NamedTuple):
    spelling: str
    vector: np.ndarray  # (D,)
    share: float  # of the training text; 0 for a word that is not in the vocabulary


class WordVectors(Task):
    """Words beside one another become alike."""

    name = "word-vectors"
    monitor = "loss"

    index: NearestNeighbours | None = None  # made when it is first needed

    def __init__(self, model: Any, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        if getattr(model.config, "subwords", ""):
            model.set_vocabulary(tokenizer.vocabulary)

    def start(self, seed: int, examples: Any = None) -> None:
        super().start(seed, examples)
        self.index = None  # of the words of before
        self.__dict__.pop("frequencies", None)

    def examples(self, shards: Shards, split: str = "train") -> np.ndarray:
        """The ids themselves: they are swept over from one end to the other."""
        for part in (split, "validation", "test"):
            known = shards.ids(part)[:MAX_TOKENS_CHECKED] >= len(SPECIAL_TOKENS)
            if not (known[:-1] & known[1:]).any():
                raise BadInput(f"the {part} part of the text {NO_NEIGHBOURS}")
        return shards.ids(split)

    def evaluate_split(self, shards: Shards, split: str = "validation", limit: int | None = None) -> dict[str, Any]:
        return self.evaluate_ids(sample_slices(shards.ids(split), limit), shards.info(split)["unknown_words"])

    def evaluate_texts(self, documents: Iterable[str]) -> dict[str, Any]:
        found, _ = encode_documents(self.tokenizer, documents)
        return self.evaluate_ids(found.ids, found.unknown_words)

    def evaluate_ids(self, ids: np.ndarray, unknown_words: int) -> dict[str, Any]:
        """Nats per pair of a word and its neighbour, with negatives that are always the same."""
        model: Any = self.model
        nats, pairs = model.held_out_loss(ids, EVALUATION_SEED)
        if not pairs.sum():
            raise BadInput(f"the text {NO_NEIGHBOURS}, or --subsample 0 to thin nothing out")
        return {"loss": ratio(nats, pairs), "pairs": int(pairs.sum()), "tokens": len(ids), "unknown_words": unknown_words}

    def answer(self, text: str, *, top: int = 10, **options: Any) -> dict[str, Any]:
        """The words nearest to a word, or to a text."""
        words = self.known_words(text)
        if self.index is None:
            self.index = self.new_index()
        found = nearest_ids(self.index, sif_mean(words), top + len(words))
        named = [{"word": self.tokenizer.token(i), "cosine": cosine} for i, cosine in found]
        own = {word.spelling for word in words}
        return {"text": text, "words": [word.spelling for word in words], "near": [entry for entry in named if entry["word"] not in own][:top]}

    def similarity(self, text: str, other: str) -> float:
        """Cosine of two texts' vectors."""
        a, b = (sif_mean(self.known_words(given)).astype(np.float64) for given in (text, other))
        return float(a @ b / max(float(np.sqrt((a @ a) * (b @ b))), 1e-30))

    def vectors(self, texts: list[str], encode: Callable[[Batch], torch.Tensor] | None = None) -> np.ndarray:
        """(N, D); zeros for a text without a known word."""
        found, strange = np.zeros((len(texts), self.model.config.width), np.float32), 0
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            for row, words in enumerate(self.words(texts[start : start + TEXTS_AT_ONCE]), start):
                strange += not words
                if words:
                    found[row] = sif_mean(words)
        if strange:
            say(f"{strange} of {len(texts)} texts have no word of the vocabulary; their vectors are all 0")
        return found

    def token_vectors(self, texts: list[str], encode: Callable[[Batch], torch.Tensor] | None = None) -> Iterator[tuple[list[str], np.ndarray]]:
        """Without words that have no vector."""
        for text in texts:
            words = self.known_words(text)
            yield [word.spelling for word in words], np.stack([word.vector for word in words])

    def known_words(self, text: str) -> list[KnownWord]:
        (words,) = self.words([text])
        if not words:
            raise BadInput(f"no word of {preview(text)} is in the vocabulary; try other words, or vectors trained with --subwords 3-6")
        return words

    def words(self, texts: list[str]) -> list[list[KnownWord]]:
        """Of each text those that have a vector: words of the vocabulary, and all others by their characters, if the model knows them."""
        ids = [self.tokenizer.encode(text) for text in texts]
        rows = iter(self.rows(np.array([i for own in ids for i in own], np.int64)))
        return [self.words_of(text, own, rows) for text, own in zip(texts, ids, strict=True)]

    def words_of(self, text: str, ids: list[int], rows: Iterator[np.ndarray]) -> list[KnownWord]:
        spelled = self.tokenizer.words(text) if self.tokenizer.spec.kind == "words" else [self.tokenizer.token(i) for i in ids]
        found = []
        for i, spelling in zip(ids, spelled, strict=True):
            row = next(rows)
            vector = row if i >= len(SPECIAL_TOKENS) else self.model.oov_vector(spelling)
            if vector is not None:
                found.append(KnownWord(spelling, vector, float(self.frequencies[i]) if i >= len(SPECIAL_TOKENS) else 0.0))
        return found

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The vectors (N, D) of ids."""
        with torch.no_grad():
            batch = Batch(torch.from_numpy(ids)[None], torch.ones(1, len(ids), dtype=torch.bool))
            return self.model.encode(batch)[0].float().numpy()

    @functools.cached_property
    def frequencies(self) -> np.ndarray:
        """p(w): each word's share of the training text; 0 if nobody knows."""
        counts = as_array(self.model.counts).astype(np.float64)  # type: ignore[arg-type]
        return counts / max(counts[len(SPECIAL_TOKENS) :].sum(), 1.0)

    def new_index(self) -> NearestNeighbours:
        """All words but the special ones, to look for neighbours in."""
        model: Any = self.model
        lengths = getattr(model, "lengths", None)  # adopted vectors bring them along
        return NearestNeighbours(model.all_vectors()[len(SPECIAL_TOKENS) :], None if lengths is None else as_array(lengths)[len(SPECIAL_TOKENS) :])

    def sample(self, seed: int) -> str:
        """A word and those nearest to it now."""
        words = min(self.tokenizer.vocab_size - len(SPECIAL_TOKENS), SAMPLED.stop)
        if words <= SHOWN:
            return ""
        i = len(SPECIAL_TOKENS) + derive_seed(seed, "sample") % (words - min(SAMPLED.start, words // 2)) + min(SAMPLED.start, words // 2)
        found = nearest_ids(self.new_index(), self.rows(np.array([i]))[0], SHOWN + 1)
        return f"{self.tokenizer.token(i)} is like " + ", ".join(self.tokenizer.token(other) for other, _ in found if other != i)


def sif_mean(words: list[KnownWord]) -> np.ndarray:
    """The smooth inverse frequency mean (D,)."""
    weights = np.array([SIF_WEIGHT / (SIF_WEIGHT + word.share) for word in words], np.float32)
    return weights @ np.stack([word.vector for word in words]) / np.float32(len(words))


def nearest_ids(index: NearestNeighbours, vector: np.ndarray, top: int) -> list[tuple[int, float]]:
    """The ids of the words nearest to a vector, and their cosines."""
    ids, cosines = index.nearest(vector[None], top)
    return list(zip((ids[0] + len(SPECIAL_TOKENS)).tolist(), cosines[0].tolist(), strict=True))


def sample_slices(ids: np.ndarray, limit: int | None) -> np.ndarray:
    """About `most` of the ids, in slices spread evenly over all, with the end of a document between two."""
    if limit is None or len(ids) <= limit:
        return np.asarray(ids)
    size = max(limit // SLICES, SHORTEST)
    starts = np.linspace(0, max(len(ids) - size, 0), max(limit // size, 10)).astype(np.int64)
    border = np.array([Tokenizer.begin], ids.dtype)
    return np.concatenate([part for start in starts.tolist() for part in (ids[start : start + size], border)])
