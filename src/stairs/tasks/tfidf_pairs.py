"""TfidfPairs: how two texts relate, from the words they share: logistic regression for labels, ridge regression for scores.

    features = overlaps,  |u - v|,  u v          u and v the TF-IDF of the words and word pairs of the two texts
    overlaps = the cosine of u and v; of words and of character trigrams the share of all that both have (Jaccard 1901) and the larger and the smaller
               share of a text that the other has; the longest common run of words; numbers that only one has; the difference of lengths

P(label | pair) = softmax(W features + b); a score is w features + b, within the scale of the training file.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from stairs.errors import BadInput
from stairs.tasks.answers import Answer, PairLabelAnswer, PairScoreAnswer
from stairs.tasks.classifier import logistic_regression, softmax
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import FromExamples, words_tokenizer
from stairs.tasks.measurements import Measurements
from stairs.tasks.outcomes import classification_report
from stairs.tasks.parts.tfidf import Tfidf
from stairs.tasks.span_metrics import longest_common_run
from stairs.text.examples import LabelledText, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NUMBER = re.compile(r"\d+")
REGULARIZATION = 1.0


class TfidfPairs(FromExamples):
    """`settings` are the ends of the scale, `low` and `high`, where the examples have scores; `labels` is empty then."""

    name = "compare-tfidf"
    model_name = "tfidf"
    example_kind = "compare"
    takes_pairs = True

    def __init__(
        self, tokenizer: Tokenizer, labels: list[str], scale: Mapping[str, float], terms: list[str], arrays: Mapping[str, np.ndarray]
    ) -> None:
        self.tokenizer, self.labels, self.scale, self.terms, self.weights = tokenizer, labels, scale, terms, dict(arrays)
        self.has_confusion = bool(labels)
        self.tfidf = Tfidf(tokenizer, terms, arrays["idf"])

    @classmethod
    def train(cls, examples: Sequence[TextPair]) -> Self:
        labels, scale = labels_and_scale(examples)
        tokenizer = words_tokenizer(examples)
        tfidf, _ = Tfidf.fit(tokenizer, [text for pair in examples for text in (pair.first, pair.second)])
        arrays = {"idf": tfidf.idf.astype(np.float32), "weight": np.zeros((1, 0), np.float32), "bias": np.zeros(1, np.float32)}
        task = cls(tokenizer, labels, scale, list(tfidf.terms), arrays)
        task.fit_scales(examples)
        features = task.features(examples)
        if labels:
            texts = [LabelledText("", cast(str, pair.label)) for pair in examples]
            weight, bias = logistic_regression(features, texts, REGULARIZATION)
        else:
            from sklearn.linear_model import Ridge

            linear = Ridge(alpha=REGULARIZATION, solver="sparse_cg", tol=1e-5).fit(features, [cast(float, pair.score) for pair in examples])
            weight, bias = linear.coef_[None].astype(np.float32), np.array([linear.intercept_], np.float32)
        task.weights |= {"weight": weight, "bias": bias}
        return task

    def fit_scales(self, examples: Sequence[TextPair]) -> None:
        """So that each overlap has mean 0 and deviation 1 in training."""
        found = np.stack([self.overlaps(pair) for pair in examples])
        self.weights |= {"mean": found.mean(0), "deviation": np.maximum(found.std(0), 1e-6)}

    def features(self, examples: Sequence[TextPair]) -> "csr_matrix":
        """(N, overlaps + 2 terms), sparse."""
        from scipy.sparse import csr_matrix, hstack

        u, v = (self.tfidf.features(texts).matrix() for texts in ([pair.first for pair in examples], [pair.second for pair in examples]))
        overlaps = np.stack([self.overlaps(pair) for pair in examples])
        cosines = np.asarray(u.multiply(v).sum(1))
        dense = np.concatenate([(overlaps - self.weights["mean"]) / self.weights["deviation"], cosines], 1)
        return csr_matrix(hstack([csr_matrix(dense), abs(u - v), u.multiply(v)]))

    def overlaps(self, pair: TextPair) -> np.ndarray:
        """(9,): what the two texts share, but for the cosine."""
        words = [self.tokenizer.words(text.lower()) for text in (pair.first, pair.second)]
        letters = ["".join(text.lower().split()) for text in (pair.first, pair.second)]
        trigrams = [{text[i : i + 3] for i in range(max(len(text) - 2, 1))} for text in letters]
        numbers = [set(NUMBER.findall(text)) for text in (pair.first, pair.second)]
        shorter, longer = sorted(map(len, words))
        run = longest_common_run(*words) / max(shorter, 1)
        difference = math.log((longer + 1) / (shorter + 1))
        return np.array([*shares(set(words[0]), set(words[1])), *shares(*trigrams), run, len(numbers[0] ^ numbers[1]), difference], np.float32)

    def outputs(self, examples: Sequence[TextPair]) -> np.ndarray:
        """What the linear layer gives, (N, labels), or (N, 1) for scores."""
        outputs: np.ndarray = np.asarray(self.features(examples) @ self.weights["weight"].T) + self.weights["bias"]
        return outputs

    def example_probabilities(self, examples: Sequence[TextPair]) -> np.ndarray:
        """P(label | pair), (N, labels)."""
        return softmax(self.outputs(examples))

    def predict_examples(self, examples: Sequence[TextPair]) -> list[Any]:
        if self.labels:
            return [self.labels[i] for i in self.outputs(examples).argmax(1)]
        scores: list[float] = np.clip(self.outputs(examples)[:, 0].astype(np.float64), self.scale["low"], self.scale["high"]).tolist()
        return scores

    def check_examples(self, examples: Sequence[TextPair]) -> None:
        for example in examples:
            if self.labels and example.label not in self.labels:
                labels = ", ".join(self.labels[:8])
                raise BadInput(f"{example.where}: the label {example.label!r} is not in the training file, which has {labels}; correct it")

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        metrics, predictions = super().metrics_and_predictions(examples)
        if not self.labels:
            return metrics, predictions
        gold = [cast(str, pair.label) for pair in examples]
        return {**metrics, **classification_report(gold, self.example_probabilities(examples), self.labels)}, predictions

    def answer(self, text: str, *, second: str | None = None) -> Answer:
        """Of two texts; within one text, a tab separates them."""
        first, tab, after = text.partition("\t")
        if second is None and not tab:
            raise BadInput("only one text was given and two are compared; give the other with --second, or after a tab")
        pair = TextPair(first, second if second is not None else after)
        if not self.labels:
            scored: PairScoreAnswer = {"first": pair.first, "second": pair.second, "score": self.predict_examples([pair])[0]}
            return scored
        probabilities = self.example_probabilities([pair])[0]
        order = np.argsort(-probabilities, kind="stable")
        labelled: PairLabelAnswer = {
            "first": pair.first, "second": pair.second, "label": self.labels[order[0]],
            "probabilities": {self.labels[i]: float(probabilities[i]) for i in order},
        }  # fmt: skip
        return labelled

    def summary(self, answer: Answer) -> str:
        return str(answer["label"]) if self.labels else f"{answer['score']:.4f}"

    def describe(self) -> TaskConfig:
        return {**super().describe(), "settings": dict(self.scale)}

    def strings(self) -> dict[str, list[str]]:
        return {"terms": self.terms}

    def arrays(self) -> dict[str, np.ndarray]:
        return self.weights

    @classmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        scale = cast(Mapping[str, float], described["settings"])
        return cls(tokenizer, described["labels"], scale, strings["terms"], arrays)


def labels_and_scale(examples: Sequence[TextPair]) -> tuple[list[str], dict[str, float]]:
    """The labels, or the ends of the scale."""
    scores = [pair.score for pair in examples if pair.score is not None]
    if scores:
        if min(scores) == max(scores):
            raise BadInput(f"{examples[0].where}: all {len(scores)} pairs have the score {scores[0]:g}; there is nothing to learn")
        return [], {"low": min(scores), "high": max(scores)}
    labels = sorted({cast(str, pair.label) for pair in examples})
    if len(labels) < 2:
        raise BadInput(f"{examples[0].where}: all {len(examples)} pairs have the label {labels[0]!r}; at least two are needed")
    return labels, {}


def shares(first: set[str], second: set[str]) -> tuple[float, float, float]:
    """Of what two sets have together, and of the one and the other, the larger share first."""
    both = len(first & second)
    low, high = sorted((both / max(len(first), 1), both / max(len(second), 1)))
    return both / max(len(first | second), 1), high, low
