"""Any number of labels for a text, without gradients: each label is a question of its own, yes or no.

TfidfMultiLabel     sigmoid of a linear function of TF-IDF for each label (one-vs-rest logistic regression)
NGramMultiLabel     two n-gram models for each label, of the texts that have it and of those that do not; Bayes' rule turns their probabilities of
                    a text into that of the label

The labels of a text are those above a threshold. It is chosen on a fifth of the training examples, which a model that has learnt from the others
labels; then the model learns from all of them. `vector_targets.py` has the same for the mean word vector. Answers need neither torch nor
scikit-learn.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from stairs.errors import Unsupported
from stairs.models.settings import NGramConfig
from stairs.tasks.answers import Answer
from stairs.tasks.classifier import TEXTS_PER_BATCH, Classifier
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import words_tokenizer
from stairs.tasks.label_sets import count_labels, label_set_answer, labels_summary, sigmoid, unknown_label
from stairs.tasks.measurements import Measurements
from stairs.tasks.multilabel_metrics import DEFAULT_THRESHOLD, best_threshold, labels_above, multilabel_metrics, multilabel_report, one_hot
from stairs.tasks.ngram_classifier import NGramClassifier, estimate_trie
from stairs.tasks.parts.tfidf import TermKinds, Tfidf
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import MultiLabelText
from stairs.text.tokenizers.tokenizer import Tokenizer

HELD_OUT = 5  # every fifth training example chooses the threshold
MIN_HELD_OUT = 10  # fewer choose nothing
MAX_NGRAM_LABELS = 200  # each has two models
TERM_KINDS = TermKinds(words=2, characters=True, min_texts=2)
INVERSE_REGULARIZATION = 8.0
Fit = Callable[[Sequence[MultiLabelText], list[str]], Any]  # from examples and their labels to a task


class LabelSetClassifier(Classifier):
    """What all of them share."""

    example_kind = "multilabel"
    gives_labels = False
    has_confusion = False
    has_text_features = False
    threshold: float = DEFAULT_THRESHOLD

    @classmethod
    def fit_with_threshold(cls, examples: Sequence[MultiLabelText], fit: Fit) -> Self:
        labels = sorted(count_labels(examples))
        task: Self = fit(examples, labels)
        held_out = examples[::HELD_OUT]
        if len(held_out) >= MIN_HELD_OUT:
            trial: Self = fit([example for number, example in enumerate(examples) if number % HELD_OUT], labels)
            task.threshold = best_threshold([example.labels for example in held_out], trial.all_probabilities(held_out), labels)
        return task

    def all_probabilities(self, examples: Sequence[Any]) -> np.ndarray:
        """(N, labels), a batch at a time."""
        starts = range(0, len(examples), TEXTS_PER_BATCH)
        return np.concatenate([self.example_probabilities(examples[start : start + TEXTS_PER_BATCH]) for start in starts])

    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        return labels_above(self.all_probabilities(examples), self.labels, self.threshold)

    def answer(self, text: str) -> Answer:  # type: ignore[override]
        return label_set_answer(text, self.probabilities([text])[0], self.labels, self.threshold)

    def summary(self, answer: Answer) -> str:
        return labels_summary(answer)

    def evaluate_examples(self, examples: Sequence[Any]) -> Measurements:  # type: ignore[override]
        return multilabel_metrics(*self.gold_and_predictions(examples))

    def detailed_metrics(self, examples: Sequence[Any]) -> Measurements:
        return self.metrics_and_predictions(examples)[0]

    def gold_and_predictions(self, examples: Sequence[MultiLabelText]) -> tuple[list[tuple[str, ...]], list[list[str]]]:
        for example in examples:
            for label in example.labels:
                if label not in self.labels:
                    raise unknown_label(example, label, self.labels)
        return [example.labels for example in examples], self.predict_examples(examples)

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        gold, predictions = self.gold_and_predictions(examples)
        report = {**multilabel_report(gold, predictions, self.labels), "threshold": self.threshold}
        return {**multilabel_metrics(gold, predictions), **report}, predictions

    def describe(self) -> TaskConfig:
        return {**super().describe(), "threshold": self.threshold}

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        task = super().open(folder, described)
        task.threshold = described["threshold"]
        return task


class TfidfMultiLabel(LabelSetClassifier, TfidfClassifier):
    """sigmoid of a linear function of TF-IDF for each label."""

    name = "multilabel-tfidf"

    @classmethod
    def train(cls, examples: Sequence[Any], tokenizer: Tokenizer | None = None) -> Self:  # type: ignore[override]
        return cls.fit_with_threshold(examples, partial(cls.fit, tokenizer=tokenizer or words_tokenizer(examples)))

    @classmethod
    def fit(cls, examples: Sequence[MultiLabelText], labels: list[str], tokenizer: Tokenizer) -> Self:
        from stairs.tasks.tfidf_choice import one_vs_rest  # an answer needs none of it

        tfidf, features = Tfidf.fit(tokenizer, [example.text for example in examples], TERM_KINDS)
        linear = one_vs_rest(features.matrix(), one_hot([example.labels for example in examples], labels), INVERSE_REGULARIZATION)
        return cls(tokenizer, labels, list(tfidf.terms), *(array.astype(np.float32) for array in (tfidf.idf, *linear)))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return sigmoid(self.tfidf.features(texts).times(self.weight) + self.bias)


class NGramMultiLabel(LabelSetClassifier, NGramClassifier):
    """P(label | text) = sigmoid(log P(label) P(text | label) - log P(not label) P(text | not label)), with two tries for each label."""

    name = "multilabel-ngram"
    tries_per_label = 2

    @classmethod
    def train(cls, examples: Sequence[Any], tokenizer: Tokenizer | None = None, order: int = 3) -> Self:
        if (count := len(count_labels(examples))) > MAX_NGRAM_LABELS:
            raise Unsupported(f"ngram keeps two models for each label, and {count} labels are too many for it; use tfidf or an encoder")
        return cls.fit_with_threshold(examples, partial(cls.fit, tokenizer=tokenizer or words_tokenizer(examples), order=order))

    @classmethod
    def fit(cls, examples: Sequence[MultiLabelText], labels: list[str], tokenizer: Tokenizer, order: int) -> Self:
        encoded = tokenizer.encode_batch([example.text for example in examples])
        config = NGramConfig(**tokenizer.vocabulary_settings, order=order)
        tries, priors = [], []
        for label in labels:
            sides: tuple[list[list[int]], list[list[int]]] = ([], [])
            for ids, example in zip(encoded, examples, strict=True):
                sides[label not in example.labels].append(ids)
            for side in sides:  # where one is empty, only the prior counts
                tries.append(estimate_trie(side if all(map(any, sides)) else encoded, config, tokenizer.end))
                priors.append(math.log((len(side) + 0.5) / (len(examples) + 1)))
        return cls(tries, config, tokenizer, labels, priors)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        scores = self.scores(texts)
        return sigmoid(scores[:, ::2] - scores[:, 1::2])
