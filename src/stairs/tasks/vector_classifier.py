"""VectorClassifier: one label for a text from the mean of its words' vectors, by logistic regression.

The vectors were learnt from plain text, so words that no labelled text has are understood by words they are similar to. The mean is that of
`word_vectors.py`, in which frequent words count little. It is standardized first, since vectors come in any length; that scaling is folded into the
weights that are stored.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from stairs.models import MODELS
from stairs.models.base import as_array
from stairs.tasks.classifier import Classifier, labels_of, logistic_regression, softmax
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.parts.saved_model import load_weights
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

REGULARIZATION = 1.0
VECTORS_PREFIX = "words."  # before the names of the tensors of the word vectors


class VectorClassifier(Classifier):
    """softmax of a linear function of the mean word vector."""

    name = "classify-vectors"
    has_text_features = True

    def __init__(self, words: WordVectors, labels: list[str], weight: np.ndarray, bias: np.ndarray) -> None:
        super().__init__(words.model, words.tokenizer)
        self.words, self.labels, self.weight, self.bias = words, labels, weight, bias

    @classmethod
    def train(cls, examples: Sequence[LabelledText], words: WordVectors) -> Self:
        labels = labels_of(examples)
        features, mean, deviation = standardize(words.vectors([example.text for example in examples]))
        weight, bias = logistic_regression(features, examples, REGULARIZATION)
        weight = weight / deviation
        return cls(words, labels, weight, bias - weight @ mean)

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """The mean word vector of each text, (N, D)."""
        return self.words.vectors(list(texts))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.text_features(texts) @ self.weight.T + self.bias)

    def describe(self) -> TaskConfig:
        return {**super().describe(), "config": self.model.describe()}

    def save(self, folder: Path) -> None:
        vectors = {VECTORS_PREFIX + name: as_array(tensor) for name, tensor in self.model.tensors().items()}
        self.write(folder, {**vectors, "weight": self.weight, "bias": self.bias})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        tensors = load_weights(folder / WEIGHTS)
        of_model = {name.removeprefix(VECTORS_PREFIX): tensor for name, tensor in tensors.items() if name.startswith(VECTORS_PREFIX)}
        model = MODELS[described["model"]].from_saved(described["config"], of_model, folder / CONFIG)
        return cls(WordVectors(model.eval(), Tokenizer.load(folder)), described["labels"], tensors["weight"].numpy(), tensors["bias"].numpy())


def standardize(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Features (N, D) with mean 0 and deviation 1 over all of them, their mean (D,) and their deviation."""
    mean = features.mean(0)
    deviation = max(float((features - mean).std()), 1e-6)
    return (features - mean) / deviation, mean, deviation
