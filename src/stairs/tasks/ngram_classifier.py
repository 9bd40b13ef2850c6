"""NGramClassifier: one n-gram model for each label; Bayes' rule turns P(text | label) into P(label | text)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch

from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig
from stairs.tasks.baselines import Classifier, labels_of
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.task import load_weights
from stairs.text.batch import next_token_batch
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer


class NGramClassifier(Classifier):
    """argmax over labels of log P(label) + log P(text | label)."""

    name = "classify-ngram"
    model_name = "ngram"
    has_model = False

    def __init__(self, models: list[NGram], tokenizer: Tokenizer, labels: list[str], priors: list[float]) -> None:
        self.models, self.tokenizer, self.labels, self.priors = models, tokenizer, labels, priors

    @classmethod
    def train(cls, examples: Sequence[LabelledText], tokenizer: Tokenizer, order: int = 3) -> Self:
        labels = labels_of(examples)
        encoded = tokenizer.encode_batch([example.text for example in examples])
        models, priors = [], []
        for label in labels:
            rows = [ids for ids, example in zip(encoded, examples, strict=True) if example.label == label]
            model = NGram(NGramConfig(**tokenizer.vocabulary_settings, order=order))
            # Every label allows the same words, or a word that occurs under one label only would decide by itself.
            model.count(np.array([i for row in rows if row for i in (*row, tokenizer.end)], np.uint32), closed=True)
            models.append(model)
            priors.append(math.log(len(rows) / len(examples)))
        return cls(models, tokenizer, labels, priors)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        batch = next_token_batch(self.tokenizer.encode_batch(list(texts)), self.tokenizer.begin, self.tokenizer.end, self.tokenizer.pad)
        scores = torch.stack([model.log_likelihood(batch).sum(1) for model in self.models], 1) + torch.tensor(self.priors)
        probabilities: np.ndarray = scores.softmax(1).numpy()
        return probabilities

    def describe(self) -> TaskConfig:
        return {**super().describe(), "priors": self.priors, "config": self.models[0].describe()}

    def save(self, folder: Path) -> None:
        self.write(folder, {f"{i}.{name}": tensor for i, model in enumerate(self.models) for name, tensor in model.tensors().items()})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        tensors = load_weights(folder / WEIGHTS)
        models = []
        for i in range(len(described["labels"])):
            of_label = {name.split(".", 1)[1]: tensor for name, tensor in tensors.items() if name.startswith(f"{i}.")}
            models.append(NGram.from_saved(described["config"], of_label, folder / CONFIG))
        return cls(models, Tokenizer.load(folder), described["labels"], described["priors"])
