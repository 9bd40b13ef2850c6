"""Two classifiers that need no pretraining: the baselines that every pretrained model has to beat.

NGramClassifier   one n-gram model for each label; Bayes' rule turns P(text | label) into P(label | text)
TfidfClassifier   TF-IDF of words and word pairs, and logistic regression
"""

import itertools
import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.errors import BadInput
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig
from stairs.tasks.answers import Answer, LabelAnswer
from stairs.tasks.classification_report import classification_report
from stairs.tasks.measurements import LabelMetrics, Measurements
from stairs.tasks.metrics import label_metrics
from stairs.tasks.task import CONFIG, WEIGHTS, Task, config_from, load_weights
from stairs.text.batch import next_token_batch
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

TEXTS_PER_BATCH = 256
TFIDF_REGULARIZATION = 0.1


class Classifier(Task):
    """One label for a text, without gradients."""

    example_kind = "classify"
    gives_labels = True
    has_confusion = True
    labels: list[str]
    tokenizer: Tokenizer

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """P(label | text), (N, labels)."""

    def predict_labels(self, texts: Sequence[str]) -> list[str]:
        blocks = [self.probabilities(texts[i : i + TEXTS_PER_BATCH]) for i in range(0, len(texts), TEXTS_PER_BATCH)]
        return [self.labels[i] for block in blocks for i in block.argmax(1)]

    def predict_examples(self, examples: Sequence[LabelledText]) -> list[str]:
        return self.predict_labels([example.text for example in examples])

    def answer(self, text: str) -> LabelAnswer:
        probabilities = self.probabilities([text])[0]
        order = np.argsort(-probabilities, kind="stable")
        return {"text": text, "label": self.labels[order[0]], "probabilities": {self.labels[i]: float(probabilities[i]) for i in order}}

    def summary(self, answer: Answer) -> str:
        return str(answer["label"])

    def evaluate_examples(self, examples: Sequence[Any]) -> LabelMetrics:
        unknown = sorted({example.label for example in examples} - set(self.labels))
        if unknown:
            where = next(example.where for example in examples if example.label in unknown)
            raise BadInput(f"{where}: the label {unknown[0]!r} is not in the training file, which has {', '.join(self.labels[:8])}; correct it")
        return label_metrics([example.label for example in examples], self.predict_examples(examples))

    def detailed_metrics(self, examples: Sequence[Any]) -> Measurements:
        probabilities = self.probabilities([example.text for example in examples])
        return {**self.evaluate_examples(examples), **classification_report([example.label for example in examples], probabilities, self.labels)}

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        return self.detailed_metrics(examples), self.predict_examples(examples)

    def describe(self) -> dict[str, Any]:
        return {"task": self.name, "model": self.model_name, "labels": self.labels}

    def write(self, folder: Path, tensors: dict[str, torch.Tensor]) -> None:
        """Settings, tensors and tokenizer."""
        (folder / CONFIG).write_text(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        save_file(tensors, folder / WEIGHTS)
        self.tokenizer.save(folder)


def labels_of(examples: Sequence[LabelledText]) -> list[str]:
    labels = sorted({example.label for example in examples})
    if len(labels) < 2:
        raise BadInput(f"{examples[0].where}: all {len(examples)} texts have the label {labels[0]!r}; a classifier needs at least two")
    return labels


def logistic_regression(
    features: "np.ndarray | csr_matrix", examples: Sequence[LabelledText], regularization: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (labels, features) and biases of a softmax over the labels; `regularization` keeps the weights small."""
    from sklearn.linear_model import LogisticRegression

    linear = LogisticRegression(C=1 / regularization, max_iter=1000).fit(features, [example.label for example in examples])
    weight, bias = linear.coef_.astype(np.float32), linear.intercept_.astype(np.float32)
    if len(weight) == 1:  # scikit-learn has one row of weights for two labels
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


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

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "priors": self.priors, "config": self.models[0].describe()}

    def save(self, folder: Path) -> None:
        self.write(folder, {f"{i}.{name}": tensor for i, model in enumerate(self.models) for name, tensor in model.tensors().items()})

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        tensors = load_weights(folder / WEIGHTS)
        config = config_from("ngram", described["config"], folder / CONFIG)
        models = []
        for i in range(len(described["labels"])):
            model = NGram(config)
            model.restore({name.split(".", 1)[1]: tensor for name, tensor in tensors.items() if name.startswith(f"{i}.")})
            models.append(model)
        return cls(models, Tokenizer.load(folder), described["labels"], described["priors"])


class TfidfClassifier(Classifier):
    """softmax of a linear function of TF-IDF."""

    name = "classify-tfidf"
    model_name = "tfidf"
    has_model = False
    has_text_features = True
    terms_file = "terms.json"

    def __init__(
        self, tokenizer: Tokenizer, labels: list[str], terms: list[str], idf: np.ndarray, weight: np.ndarray, bias: np.ndarray
    ) -> None:
        self.tokenizer, self.labels, self.terms = tokenizer, labels, terms
        self.idf, self.weight, self.bias = idf, weight, bias
        self.vectorizer = new_vectorizer(tokenizer, terms)
        self.vectorizer.idf_ = idf.astype(np.float64)

    @classmethod
    def train(cls, examples: Sequence[LabelledText], tokenizer: Tokenizer) -> Self:
        labels = labels_of(examples)
        vectorizer = new_vectorizer(tokenizer)
        features = vectorizer.fit_transform([example.text for example in examples])
        weight, bias = logistic_regression(features, examples, TFIDF_REGULARIZATION)
        return cls(tokenizer, labels, vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.astype(np.float32), weight, bias)

    def text_features(self, texts: Sequence[str]) -> "csr_matrix":
        """TF-IDF of each text, (N, terms), sparse."""
        return self.vectorizer.transform(texts)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        scores = self.text_features(texts) @ self.weight.T + self.bias
        probabilities: np.ndarray = torch.from_numpy(np.asarray(scores)).softmax(1).numpy()
        return probabilities

    def save(self, folder: Path) -> None:
        (folder / self.terms_file).write_text(json.dumps(self.terms, ensure_ascii=False), "utf-8")
        arrays = {"idf": self.idf, "weight": self.weight, "bias": self.bias}
        self.write(folder, {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()})

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        arrays = {name: tensor.numpy() for name, tensor in load_weights(folder / WEIGHTS).items()}
        terms = json.loads((folder / cls.terms_file).read_text("utf-8"))
        return cls(Tokenizer.load(folder), described["labels"], terms, arrays["idf"], arrays["weight"], arrays["bias"])


def new_vectorizer(tokenizer: Tokenizer, terms: list[str] | None = None) -> "TfidfVectorizer":
    """Words and pairs of words, cut by our own tokenizer, so that Chinese has words, too."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def analyze(text: str) -> list[str]:
        words = tokenizer.words(text)
        return words + [f"{a} {b}" for a, b in itertools.pairwise(words)]

    return TfidfVectorizer(analyzer=analyze, sublinear_tf=True, vocabulary=terms)
