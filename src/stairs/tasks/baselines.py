"""The cheapest alternatives to a tuned model, which every one has to beat, so that nobody pays for one that is no better.

labels of texts    majority, the most frequent label; tfidf, logistic regression over TF-IDF of words and word pairs, in about a second
labels of pairs    majority; tfidf, logistic regression over what the two texts share
scores of pairs    untuned cosine: that of the same encoder before it was tuned; tfidf, ridge regression over the same
tags               the most frequent tag of each word; for words that are not in the training file, of all words; hmm and crf
spans              the sentence of the passage that shares most words with the question; overlap, the best span among such words
choices            the choice that shares most of its words with the context

Models of the staircase that need no encoder are baselines as well: see `BASELINE_TASKS`. `outcomes.py` compares predictions.
"""

import itertools
import json
import re
import warnings
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.errors import BadInput
from stairs.tasks import BASELINE_TASKS, TASKS
from stairs.tasks.answers import Answer, LabelAnswer
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.measurements import Interval, LabelMetrics, Measurements
from stairs.tasks.metrics import label_metrics, rank_correlation
from stairs.tasks.outcomes import Baseline, classification_report
from stairs.tasks.span_metrics import normalize_answer
from stairs.tasks.task import Task, load_weights
from stairs.text.examples import LabelledText, MultipleChoice, Question, TaggedSentence, TextPair
from stairs.text.tokenizers.tokenizer import TOKENIZERS, Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

TEXTS_PER_BATCH = 256
TFIDF_REGULARIZATION = 0.1
TFIDF_EXAMPLES = 20_000  # that tfidf learns from at most, spread over all
TAGGED_SENTENCES = 5_000  # that hmm and crf learn from at most: a few seconds
SENTENCE = re.compile(r"[^.!?。！？；;\n]+[.!?。！？；;\n]*")


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

    def describe(self) -> TaskConfig:
        return {"task": self.name, "model": self.model_name, "labels": self.labels}

    def write(self, folder: Path, tensors: dict[str, torch.Tensor]) -> None:
        """Settings, tensors and tokenizer."""
        (folder / CONFIG).write_text(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        save_file(tensors, folder / WEIGHTS)
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
    def open(cls, folder: Path, described: TaskConfig) -> Self:
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


def train_baselines(train: Sequence[Any], source: Task) -> dict[str, Baseline]:
    """The baselines that the examples allow. `source` is the untuned run."""
    match train[0]:
        case LabelledText():
            tfidf = {} if isinstance(source, TfidfClassifier) else {"tfidf": tfidf_baseline(train)}
            return {"majority": majority_baseline(train), **tfidf}
        case TextPair(score=None):
            return {"majority": majority_baseline(train), **baseline_models("compare", train, source, TFIDF_EXAMPLES)}
        case TextPair():
            untuned = {"untuned cosine": lambda examples: cosines(source, examples).tolist()} if getattr(source, "has_model", True) else {}
            return {**untuned, **baseline_models("compare", train, source, TFIDF_EXAMPLES)}
        case TaggedSentence():
            return {"most frequent tag of each word": frequent_tag_baseline(train), **baseline_models("tag", train, source, TAGGED_SENTENCES)}
        case Question():
            nearest = {"sentence most like the question": lambda examples: [nearest_sentence(example) for example in examples]}
            return {**nearest, **baseline_models("span", train, source, TFIDF_EXAMPLES)}
        case MultipleChoice():
            return {"choice most like the context": lambda examples: [nearest_choice(example) for example in examples]}
    return {}


def baseline_models(example_kind: str, train: Sequence[Any], source: Task, limit: int) -> dict[str, Baseline]:
    """The models that learn from the examples alone, from at most `limit` of them, but for the `source` itself."""
    part = train[:: -(-len(train) // limit)]
    names = {name: task for name, task in BASELINE_TASKS[example_kind].items() if getattr(source, "name", "") != task}
    return {name: cast(Any, TASKS[task]).train(part).predict_examples for name, task in names.items()}


def majority_baseline(train: Sequence[Any]) -> Baseline:
    label = Counter(example.label for example in train).most_common(1)[0][0]
    return lambda examples: [label] * len(examples)


def tfidf_baseline(train: Sequence[LabelledText]) -> Baseline:
    part = train[:: -(-len(train) // TFIDF_EXAMPLES)]
    return TfidfClassifier.train(part, word_tokenizer(part)).predict_examples


def cosines(source: Task, examples: Sequence[TextPair]) -> np.ndarray:
    """Of the vectors that a run gives to the two texts of each pair."""
    texts = list(dict.fromkeys(text for pair in examples for text in (pair.first, pair.second)))
    vectors = source.vectors(texts).astype(np.float64)
    units = dict(zip(texts, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), strict=True))
    return np.array([units[pair.first] @ units[pair.second] for pair in examples])


def cosine_correlation(source: Task, examples: Sequence[TextPair]) -> Interval:
    """Spearman's correlation of scores with cosines."""
    return rank_correlation(np.array([pair.score for pair in examples], np.float64), cosines(source, examples))


def frequent_tag_baseline(train: Sequence[TaggedSentence]) -> Baseline:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for example in train:
        for word, tag in zip(example.words, example.tags, strict=True):
            counts[word][tag] += 1
    default = sum(counts.values(), Counter()).most_common(1)[0][0]
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return lambda examples: [[best.get(word, default) for word in example.words] for example in examples]


def nearest_sentence(example: Question) -> str:
    question = set(normalize_answer(example.question))
    sentences = SENTENCE.findall(example.passage) or [example.passage]
    return str(max(sentences, key=lambda sentence: len(question & set(normalize_answer(sentence))))).strip()


def nearest_choice(example: MultipleChoice) -> str:
    context = set(normalize_answer(example.context))
    words = [set(normalize_answer(choice)) for choice in example.choices]
    shares = [len(context & own) / max(len(own), 1) for own in words]
    return example.choices[shares.index(max(shares))]
