"""ByVectors: one label for a text from the mean of its words' vectors, and logistic regression.

The vectors were learnt from plain text, so words that no labelled text has are understood by those they are like. The mean is that of `window.py`,
in which frequent words count little. It is moved to mean 0 and brought to variance 1 first, since vectors may be long or short; that scaling is a
part of the weights that are kept.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.models import MODELS
from stairs.tasks.baselines import Classifier, labels_of, logistic_regression
from stairs.tasks.task import CONFIG, WEIGHTS, config_from, load_weights
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

REGULARIZATION = 1.0
VECTORS_PREFIX = "words."  # before the names of the tensors that are the word vectors'


class VectorClassifier(Classifier):
    """softmax of a linear function of the mean word vector."""

    name = "classify-vectors"

    def __init__(self, words: WordVectors, labels: list[str], weight: np.ndarray, bias: np.ndarray) -> None:
        super().__init__(words.model, words.tokenizer)
        self.words, self.labels, self.weight, self.bias = words, labels, weight, bias

    @classmethod
    def train(cls, examples: Sequence[LabelledText], words: WordVectors) -> Self:
        labels = labels_of(examples)
        features = words.vectors([example.text for example in examples])
        middle = features.mean(0)
        spread = max(float((features - middle).std()), 1e-6)
        weight, bias = logistic_regression((features - middle) / spread, examples, REGULARIZATION)
        weight = weight / spread
        return cls(words, labels, weight, bias - weight @ middle)

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """The mean word vector of each text, (N, D)."""
        return self.words.vectors(list(texts))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return torch.from_numpy(self.text_features(texts) @ self.weight.T + self.bias).softmax(1).numpy()

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "config": self.model.describe()}

    def save(self, folder: Path) -> None:
        (folder / CONFIG).write_text(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        tensors = {VECTORS_PREFIX + name: tensor for name, tensor in self.model.tensors().items()}
        tensors |= {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in (("weight", self.weight), ("bias", self.bias))}
        save_file(tensors, folder / WEIGHTS)
        self.tokenizer.save(folder)

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        found = load_weights(folder / WEIGHTS)
        model = MODELS[described["model"]](config_from(described["model"], described["config"], folder / CONFIG))
        model.restore({name.removeprefix(VECTORS_PREFIX): tensor for name, tensor in found.items() if name.startswith(VECTORS_PREFIX)})
        return cls(WordVectors(model.eval(), Tokenizer.load(folder)), described["labels"], found["weight"].numpy(), found["bias"].numpy())
