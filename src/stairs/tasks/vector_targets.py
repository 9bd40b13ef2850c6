"""Any number of labels, or a number, from the mean of a text's word vectors, see `vector_classifier.py`.

VectorMultiLabel    sigmoid of a linear function of the mean for each label (one-vs-rest logistic regression)
VectorRegressor     a linear function of the mean (ridge regression)
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self, cast

import numpy as np

from stairs.tasks.answers import Answer, NumberAnswer
from stairs.tasks.label_set_classifier import LabelSetClassifier, one_vs_rest
from stairs.tasks.label_sets import sigmoid
from stairs.tasks.measurements import Measurements
from stairs.tasks.multilabel_metrics import one_hot
from stairs.tasks.regression_metrics import regression_metrics
from stairs.tasks.tfidf_regressor import ridge_regression
from stairs.tasks.vector_classifier import REGULARIZATION, VectorClassifier, standardize
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import MultiLabelText

TEXTS_PER_BATCH = 256


class VectorMultiLabel(LabelSetClassifier, VectorClassifier):
    """sigmoid of a linear function of the mean word vector for each label."""

    name = "multilabel-vectors"

    @classmethod
    def train(cls, examples: Sequence[Any], words: WordVectors) -> Self:
        return cls.fit_with_threshold(examples, partial(cls.fit, words=words))

    @classmethod
    def fit(cls, examples: Sequence[MultiLabelText], labels: list[str], words: WordVectors) -> Self:
        features, mean, deviation = standardize(words.vectors([example.text for example in examples]))
        weight, bias = one_vs_rest(features, one_hot([example.labels for example in examples], labels), REGULARIZATION)
        weight = weight / deviation
        return cls(words, labels, weight, bias - weight @ mean)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return sigmoid(self.text_features(texts) @ self.weight.T + self.bias)


class VectorRegressor(VectorClassifier):
    """A linear function of the mean word vector; `labels` are none."""

    name = "regress-vectors"
    example_kind = "regress"
    gives_labels = False
    has_confusion = False
    has_text_features = False

    @classmethod
    def train(cls, examples: Sequence[Any], words: WordVectors) -> Self:
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
