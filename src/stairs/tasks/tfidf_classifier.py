"""TfidfClassifier: one label for a text, by logistic regression over TF-IDF of its words, of words in a row and of characters, see `parts/tfidf.py`.

P(label | text) = softmax(W tfidf(text) + b)

Which terms count, and how strongly the weights are regularised, is chosen by held-out examples (`tfidf_choice.py`); the run's config has the choice.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from stairs.tasks.classifier import Classifier, labels_of, softmax
from stairs.tasks.config_file import WEIGHTS, Settings, TaskConfig
from stairs.tasks.parts.saved_arrays import load_arrays
from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stairs.tasks.linear_mixture import Mixture
    from stairs.tasks.tfidf_choice import TfidfChoice

TERMS_FILE = "terms.json"


class TfidfClassifier(Classifier):
    """softmax of a linear function of TF-IDF."""

    name = "classify-tfidf"
    model_name = "tfidf"
    has_model = False
    has_text_features = True
    choice: Settings

    def __init__(self, tokenizer: Tokenizer, labels: list[str], terms: list[str], idf: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> None:
        self.tokenizer, self.labels, self.terms = tokenizer, labels, terms
        self.idf, self.weight, self.bias = idf, weight, bias
        self.tfidf, self.choice = Tfidf(tokenizer, terms, idf), {}
        if weight.shape != (len(labels), len(terms)) or bias.shape != (len(labels),):
            raise ValueError(f"weights {weight.shape} and {bias.shape} for {len(labels)} labels and {len(terms)} terms")

    @classmethod
    def train(
        cls, examples: Sequence[LabelledText], tokenizer: Tokenizer, validation: Sequence[LabelledText] = (),
        mixture: "Mixture[TfidfChoice] | None" = None,
    ) -> Self:  # fmt: skip
        """`validation` chooses terms and regularisation, if `mixture` does not say them; without both, folds of the examples do."""
        from stairs.tasks.tfidf_choice import DEFAULT_CHOICE, TRIALS, TermTable  # an answer needs none of it

        table = TermTable(examples, labels_of(examples), tokenizer, validation, mixture)
        mixture = mixture or table.choose(TRIALS, DEFAULT_CHOICE)
        tfidf = table.tfidf(mixture.widest)
        task = cls(tokenizer, table.labels, list(tfidf.terms), *(array.astype(np.float32) for array in (tfidf.idf, *table.fit_mixture(mixture))))
        task.choice = mixture.settings
        return task

    def text_features(self, texts: Sequence[str]) -> "csr_matrix":
        """TF-IDF of each text, (N, terms), sparse."""
        return self.tfidf.features(texts).matrix()

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.tfidf.features(texts).times(self.weight) + self.bias)

    def describe(self) -> TaskConfig:
        return {**super().describe(), "choice": self.choice}

    def save(self, folder: Path) -> None:
        (folder / TERMS_FILE).write_text(json.dumps(self.terms, ensure_ascii=False), "utf-8")
        self.write(folder, {"idf": self.idf, "weight": self.weight, "bias": self.bias})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        arrays = load_arrays(folder / WEIGHTS)
        terms = json.loads((folder / TERMS_FILE).read_text("utf-8"))
        task = cls(Tokenizer.load(folder), described["labels"], terms, arrays["idf"], arrays["weight"], arrays["bias"])
        task.choice = described.get("choice", {})
        return task
