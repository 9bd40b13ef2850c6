"""Classifiers without gradients: what they have in common. They are trained in seconds, and answer without torch and scikit-learn."""

import json
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.answers import Answer, LabelAnswer
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.measurements import LabelMetrics, Measurements
from stairs.tasks.metrics import label_metrics
from stairs.tasks.parts.saved_arrays import save_arrays
from stairs.tasks.task import Task
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import TOKENIZERS, Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TEXTS_PER_BATCH = 256


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

    def example_probabilities(self, examples: Sequence[LabelledText]) -> np.ndarray:
        return self.probabilities([example.text for example in examples])

    def probabilities_of_many(self, texts: Sequence[str]) -> np.ndarray:
        """The same, some texts at a time."""
        return np.concatenate([self.probabilities(texts[i : i + TEXTS_PER_BATCH]) for i in range(0, len(texts), TEXTS_PER_BATCH)])

    def predict_labels(self, texts: Sequence[str]) -> list[str]:
        return [self.labels[i] for i in self.probabilities_of_many(texts).argmax(1)] if texts else []

    def predict_examples(self, examples: Sequence[LabelledText]) -> list[str]:
        return self.predict_labels([example.text for example in examples])

    def answer(self, text: str) -> LabelAnswer:
        probabilities = self.probabilities([text])[0]
        order = np.argsort(-probabilities, kind="stable")
        return {"text": text, "label": self.labels[order[0]], "probabilities": {self.labels[i]: float(probabilities[i]) for i in order}}

    def summary(self, answer: Answer) -> str:
        return str(answer["label"])

    def evaluate_examples(self, examples: Sequence[Any]) -> LabelMetrics:
        self.check_labels(examples)
        return label_metrics([example.label for example in examples], self.predict_examples(examples))

    def check_labels(self, examples: Sequence[Any]) -> None:
        unknown = sorted({example.label for example in examples} - set(self.labels))
        if unknown:
            where = next(example.where for example in examples if example.label in unknown)
            raise BadInput(f"{where}: the label {unknown[0]!r} is not in the training file, which has {', '.join(self.labels[:8])}; correct it")

    def detailed_metrics(self, examples: Sequence[Any]) -> Measurements:
        return self.metrics_and_predictions(examples)[0]

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        from stairs.tasks.outcomes import classification_report  # an answer needs none of what it imports

        self.check_labels(examples)
        gold, probabilities = [example.label for example in examples], self.probabilities_of_many([example.text for example in examples])
        predictions = [self.labels[i] for i in probabilities.argmax(1)]
        return {**label_metrics(gold, predictions), **classification_report(gold, probabilities, self.labels)}, predictions

    def describe(self) -> TaskConfig:
        return {"task": self.name, "model": self.model_name, "labels": self.labels}

    def write(self, folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """Settings, arrays and tokenizer."""
        (folder / CONFIG).write_text(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        save_arrays(arrays, folder / WEIGHTS)
        self.tokenizer.save(folder)


def word_tokenizer(examples: Sequence[LabelledText]) -> Tokenizer:
    """The words of the examples."""
    return Tokenizer.train(TOKENIZERS["words"], lambda: ([example.text] for example in examples))


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

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # few examples of many labels are no regression: the labels are strings
        linear = LogisticRegression(C=1 / regularization, max_iter=1000).fit(features, [example.label for example in examples])
    weight, bias = linear.coef_.astype(np.float32), linear.intercept_.astype(np.float32)
    if len(weight) == 1:  # scikit-learn has one row of weights for two labels
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


def softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities: np.ndarray = exponentials / exponentials.sum(-1, keepdims=True)
    return probabilities
