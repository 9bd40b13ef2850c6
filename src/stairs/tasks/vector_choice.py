"""Whether a classifier of word vectors reads their mean alone, or tunes what its head sees of the words as well.

Tuning a table of vectors together with the head, as fastText's supervised mode does (Joulin et al. 2016, "Bag of Tricks for Efficient Text
Classification"), changes the score that each word gives each label: H v(w) becomes H (v(w) + d(w)). That change is learnt here as it is seen by the
head, H d(w), one number for each label, for words, for words in a row and for the characters within words (`tfidf_choice.py`):

    scores = H mean(text) + D tfidf(text) + b

So the fit is convex, regularised, the same whatever the seed, and takes a tenth of a second. Words that no labelled text has keep the score that
their vectors give them. Fits of the mean alone, and of terms of length 1 beside means of several lengths, are mixed by held-out examples
(`linear_mixture.py`).

Beside the mean of the words there may be the mean vector of an encoder, v(text) in the same way: then `mean` is one after the other.

Departures: fastText starts from random vectors, hashes n-grams into buckets, and descends along the gradient without regularisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from stairs.tasks.classifier import logistic_regression
from stairs.tasks.linear_mixture import Mixture
from stairs.tasks.task import Task
from stairs.tasks.tfidf_choice import Linear, TermTable, TfidfChoice, fit_linear
from stairs.tasks.vector_classifier import encoder_vectors
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import LabelledText

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class VectorChoice(TfidfChoice):
    """Without `words` the mean alone."""

    words: int = 0
    characters: bool = False
    c: float = 1.0
    mean_length: float = 1.0  # of the mean word vector, on average

    @property
    def reads(self) -> str:
        return super().reads.replace("tfidf counts", "beside the mean word vector it counts") if self.words else "it reads the mean word vector alone"

    @property
    def sentence(self) -> str:
        return f"{super().sentence}, the mean {f'of length {self.mean_length:g}' if self.words else 'alone'}"


MEAN_ALONE = VectorChoice()
TUNED = VectorChoice(words=2, characters=True, c=8.0, mean_length=0.5)
TRIALS = [MEAN_ALONE, TUNED, *(replace(TUNED, by_ratio=True, c=4.0, mean_length=length) for length in (0.25, 0.5, 1.0))]
ENCODER_LENGTH = 0.5  # of the mean vector of an encoder beside terms, times that of the words
ABSENT = -100.0  # the score of a label that no example to fit on has


class VectorTable(TermTable):
    """The terms of all texts, and their mean vectors: of words, and of an encoder, if there is one."""

    def __init__(
        self, examples: Sequence[LabelledText], labels: list[str], words: WordVectors, validation: Sequence[LabelledText],
        mixture: Mixture[VectorChoice] | None, encoder: Task | None = None,
    ) -> None:  # fmt: skip
        super().__init__(examples, labels, words.tokenizer, validation, mixture)
        texts = [example.text for example in (*examples, *self.validation)]
        parts = [words.vectors(texts), *([] if encoder is None else [encoder_vectors(encoder, texts)])]
        means, deviations = zip(*(mean_and_deviation(part[: len(examples)]) for part in parts), strict=True)
        widths = [part.shape[1] for part in parts]
        self.mean, self.deviation = np.concatenate(means), np.repeat(deviations, widths)
        lengths = np.sqrt(widths) / [1.0, ENCODER_LENGTH][: len(parts)]  # standardized vectors are as long as the root of their width
        self.standard_length = np.repeat(lengths, widths)
        self.vectors = (np.concatenate(parts, 1) - self.mean) / self.deviation.astype(np.float32)
        self.known_matrices: dict[VectorChoice, csr_matrix] = {}

    def features(self, choice: TfidfChoice) -> "csr_matrix":
        """The terms, and then the mean vectors."""
        from scipy.sparse import csr_matrix, hstack

        assert isinstance(choice, VectorChoice)
        key = VectorChoice(words=choice.words, characters=choice.characters, mean_length=choice.mean_length)
        if key not in self.known_matrices:
            terms = [super().features(choice)] if choice.words else []
            self.known_matrices[key] = csr_matrix(hstack([*terms, csr_matrix(self.vectors * self.scale(choice).astype(np.float32))]))
        return self.known_matrices[key]

    def scale(self, choice: TfidfChoice) -> np.ndarray:
        """Of each number of the standardized vectors."""
        assert isinstance(choice, VectorChoice)
        return choice.mean_length / self.standard_length if choice.words else np.ones(len(self.standard_length))

    def fit(self, choice: TfidfChoice, rows: np.ndarray) -> Linear:
        if choice.words:
            return fit_linear(self.features(choice)[rows], self.numbers[rows], len(self.labels), choice, others=self.vectors.shape[1])
        weight, bias = np.zeros((len(self.labels), self.vectors.shape[1])), np.full(len(self.labels), ABSENT)
        present = np.unique(self.numbers[rows])
        bias[present] = 0.0
        if len(present) > 1:
            labelled = [LabelledText("", self.labels[number]) for number in self.numbers[rows].tolist()]
            weight[present], bias[present] = logistic_regression(self.vectors[rows], labelled, 1 / choice.c)
        return Linear(weight, bias)

    def fit_parts(self, mixture: Mixture[VectorChoice]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The weights of the terms, those of the mean vectors as they are, and the bias."""
        terms, width = int(self.columns(mixture.widest).sum()), self.vectors.shape[1]
        term_weight, vector_weight, bias = np.zeros((len(self.labels), terms)), np.zeros((len(self.labels), width)), np.zeros(len(self.labels))
        for choice, weight in zip(mixture.fits, mixture.weights, strict=True):
            linear = self.fit_training(choice).times(weight)
            vector_weight += linear.weight[:, -width:] * self.scale(choice) / self.deviation
            bias += linear.bias
            if choice.words:
                term_weight += linear.weight[:, :-width]
        return term_weight, vector_weight, bias - vector_weight @ self.mean


def mean_and_deviation(features: np.ndarray) -> tuple[np.ndarray, float]:
    """Of features (N, D): the mean (D,), and the deviation from it over all of them."""
    mean = features.mean(0)
    return mean, max(float((features - mean).std()), 1e-6)
