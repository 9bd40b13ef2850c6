"""TfidfClassifier: one label for a text, by logistic regression over TF-IDF of its words and word pairs, see `parts/tfidf.py`.

P(label | text) = softmax(W tfidf(text) + b)
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from stairs.tasks.classifier import Classifier, labels_of, logistic_regression, softmax
from stairs.tasks.config_file import WEIGHTS, TaskConfig
from stairs.tasks.parts.saved_arrays import load_arrays
from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

REGULARIZATION = 0.1
TERMS_FILE = "terms.json"


class TfidfClassifier(Classifier):
    """softmax of a linear function of TF-IDF."""

    name = "classify-tfidf"
    model_name = "tfidf"
    has_model = False
    has_text_features = True

    def __init__(self, tokenizer: Tokenizer, labels: list[str], terms: list[str], idf: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
        self.tokenizer, self.labels, self.terms = tokenizer, labels, terms
        self.idf, self.weight, self.bias = idf, weight, bias
        self.tfidf = Tfidf(tokenizer, terms, idf)
        if weight.shape != (len(labels), len(terms)) or bias.shape != (len(labels),):
            raise ValueError(f"weights {weight.shape} and {bias.shape} for {len(labels)} labels and {len(terms)} terms")

    @classmethod
    def train(cls, examples: Sequence[LabelledText], tokenizer: Tokenizer) -> Self:
        labels = labels_of(examples)
        tfidf, features = Tfidf.fit(tokenizer, [example.text for example in examples])
        weight, bias = logistic_regression(features.matrix(), examples, REGULARIZATION)
        return cls(tokenizer, labels, list(tfidf.terms), tfidf.idf.astype(np.float32), weight, bias)

    def text_features(self, texts: Sequence[str]) -> "csr_matrix":
        """TF-IDF of each text, (N, terms), sparse."""
        return self.tfidf.features(texts).matrix()

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.tfidf.features(texts).times(self.weight) + self.bias)

    def save(self, folder: Path) -> None:
        (folder / TERMS_FILE).write_text(json.dumps(self.terms, ensure_ascii=False), "utf-8")
        self.write(folder, {"idf": self.idf, "weight": self.weight, "bias": self.bias})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        arrays = load_arrays(folder / WEIGHTS)
        terms = json.loads((folder / TERMS_FILE).read_text("utf-8"))
        return cls(Tokenizer.load(folder), described["labels"], terms, arrays["idf"], arrays["weight"], arrays["bias"])
