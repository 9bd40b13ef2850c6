"""Any number of labels, or a number, from the mean of a text's word vectors, see `vector_classifier.py`.

VectorMultiLabel    sigmoid of a linear function of the mean for each label (one-vs-rest logistic regression)
VectorRegressor     a linear function of the mean (ridge regression)
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np

from stairs.tasks.answers import Answer, NumberAnswer
from stairs.tasks.label_set_classifier import LabelSetClassifier
from stairs.tasks.label_sets import sigmoid
from stairs.tasks.measurements import Measurements
from stairs.tasks.multilabel_metrics import one_hot
from stairs.tasks.regression_metrics import regression_metrics
from stairs.tasks.tfidf_regressor import ridge_regression
from stairs.tasks.vector_choice import mean_and_deviation
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import MultiLabelText

TEXTS_PER_BATCH = 256
REGULARIZATION = 1.0


class VectorMultiLabel(LabelSetClassifier, VectorClassifier):
    """sigmoid of a linear function of the mean word vector for each label."""

    name = "multilabel-vectors"

    @classmethod
    def train(cls, examples: Sequence[Any], words: WordVectors) -> Self:  # type: ignore[override]
        return cls.fit_with_threshold(examples, partial(cls.fit, words=words))

    @classmethod
    def fit(cls, examples: Sequence[MultiLabelText], labels: list[str], words: WordVectors) -> Self:
        features, mean, deviation = standardize(words.vectors([example.text for example in examples]))
        weight, bias = one_vs_rest(features, one_hot([example.labels for example in examples], labels), REGULARIZATION)
        weight = weight / deviation
        return cls(words, labels, weight, bias - weight @ mean)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return sigmoid(self.scores(texts))


class VectorRegressor(VectorClassifier):
    """A linear function of the mean word vector; `labels` are none."""

    name = "regress-vectors"
    example_kind = "regress"
    gives_labels = False
    has_confusion = False
    has_text_features = False

    @classmethod
    def train(cls, examples: Sequence[Any], words: WordVectors) -> Self:  # type: ignore[override]
        features, mean, deviation = standardize(words.vectors([example.text for example in examples]))
        weight, bias = ridge_regression(features, examples, REGULARIZATION)
        weight = weight[None] / deviation
        return cls(words, [], weight, bias - weight @ mean)

    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        texts = [example.text for example in examples]
        blocks = [self.text_features(texts[start : start + TEXTS_PER_BATCH]) for start in range(0, len(texts), TEXTS_PER_BATCH)]
        values: list[float] = (np.concatenate(blocks).astype(np.float64) @ self.weight[0] + float(self.bias[0])).tolist()
        return values

    def answer(self, text: str) -> Answer:  # type: ignore[override]
        answer: NumberAnswer = {"text": text, "value": self.predict_examples([MultiLabelText(text, ())])[0]}
        return answer

    def summary(self, answer: Answer) -> str:
        return f"{cast(NumberAnswer, answer)['value']:.4g}"

    def evaluate_examples(self, examples: Sequence[Any]) -> Measurements:  # type: ignore[override]
        return self.metrics_and_predictions(examples)[0]

    def detailed_metrics(self, examples: Sequence[Any]) -> Measurements:
        return self.metrics_and_predictions(examples)[0]

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        predictions = self.predict_examples(examples)
        return regression_metrics(np.array([example.value for example in examples]), np.array(predictions)), predictions


def one_vs_rest(features: np.ndarray, targets: np.ndarray, regularization: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights (labels, features) and biases (labels,) of a logistic regression for each column of `targets` (N, labels)."""
    from sklearn.linear_model import LogisticRegression

    weight, bias = np.zeros((targets.shape[1], features.shape[1]), np.float32), np.zeros(targets.shape[1], np.float32)
    for number, own in enumerate(targets.T):
        if own.all() or not own.any():  # there is nothing to tell apart
            bias[number] = math.log((own.sum() + 0.5) / (len(own) - own.sum() + 0.5))
            continue
        linear = LogisticRegression(C=1 / regularization, max_iter=1000).fit(features, own)
        weight[number], bias[number] = linear.coef_[0], linear.intercept_[0]
    return weight, bias


def standardize(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Features (N, D) with mean 0 and deviation 1 over all of them, their mean (D,) and their deviation."""
    mean, deviation = mean_and_deviation(features)
    return (features - mean) / deviation, mean, deviation
