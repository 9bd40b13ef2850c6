"""The cheapest baselines beside a tuned model, so that nobody pays for one that is no better.

labels of texts    majority, the most frequent label; tfidf, logistic regression over TF-IDF, in about a second
labels of pairs    majority
scores of pairs    untuned cosine: that of the same encoder before it was tuned
tags               the most frequent tag of each word; for words that are not in the training file, of all words
spans              the sentence of the passage that shares most words with the question

A baseline is beaten if the interval of the paired difference (`bootstrap.PairedBootstrap`) lies above 0.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stairs.tasks.baselines import TfidfClassifier
from stairs.tasks.bootstrap import PairedBootstrap
from stairs.tasks.measurements import BaselineComparison, Interval, Measurements
from stairs.tasks.metrics import normalize_answer, rank_correlation
from stairs.tasks.outcomes import all_metrics, groups_of, outcomes, statistic
from stairs.tasks.task import Task
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TFIDF_EXAMPLES = 20_000  # that tfidf learns from at most, spread over all
Baseline = Callable[[Sequence[Any]], list[Any]]  # from examples to a prediction for each
SENTENCE = re.compile(r"[^.!?。！？；;\n]+[.!?。！？；;\n]*")


def evaluate_with_baselines(task: Task, examples: Sequence[Any], baselines: dict[str, Baseline], metric: str) -> Measurements:
    """The metrics of a task on examples, with the best baseline and how much better the task is under "baseline"; and under "only_label" the label
    that the task gives to every example, if it gives only one."""
    metrics, predictions = task.metrics_and_predictions(examples)
    if not predictions or not baselines:
        return metrics
    others = {name: baseline(examples) for name, baseline in baselines.items()}
    comparison = compare_with_best(others, predictions, metric, task.example_kind, examples)
    label = only_label(predictions, task.example_kind)
    return {**metrics, "baseline": comparison, **({} if label is None else {"only_label": label})}


def only_label(predictions: Sequence[Any], example_kind: str) -> str | None:
    """The label of every example, if there is one."""
    if example_kind == "span":
        return None
    labels = {label for own in predictions for label in (own if example_kind == "tag" else [own])}
    label = labels.pop() if len(labels) == 1 else None
    return label if isinstance(label, str) else None


def compare_with_best(
    others: dict[str, list[Any]], predictions: list[Any], metric: str, example_kind: str, examples: Sequence[Any]
) -> BaselineComparison:
    """The best of the others, and how much better the predictions are."""
    scores: dict[str, Interval] = {name: all_metrics(example_kind, examples, own)[metric] for name, own in others.items()}
    name = max(scores, key=lambda name: scores[name]["value"])
    both = [statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, own)) for own in (predictions, others[name])]
    improvement = PairedBootstrap(both, groups_of(examples)).difference(0, 1)
    score = scores[name]
    return {
        "name": name, "metric": metric, "value": score["value"], "low": score["low"], "high": score["high"], "improvement": improvement,
        "is_beaten": improvement["low"] > 0,
    }  # fmt: skip


def baseline_warnings(metrics: Measurements, part: str) -> list[str]:
    """What a person should know: that the model does not beat the baseline, and that it gives every example the same label."""
    warnings, baseline = [], metrics.get("baseline")
    if baseline and not baseline["is_beaten"]:
        metric, improvement = baseline["metric"], baseline["improvement"]
        relation = "worse than" if improvement["high"] < 0 else "not better, as far as these examples tell, than"
        scores = f"{metric.replace('_', ' ')} {metrics[metric]['value']:.4f} against {baseline['value']:.4f}"
        interval = f"the difference is {improvement['low']:+.4f} to {improvement['high']:+.4f}"
        warnings.append(f"this is {relation} the cheapest baseline, {baseline['name']}: {scores} on {part}; {interval}")
    if "only_label" in metrics:
        warnings.append(f"it gives all of {part} the label {metrics['only_label']!r}")
    return warnings


def train_baselines(train: Sequence[Any], source: Task) -> dict[str, Baseline]:
    """The baselines that the examples allow. `source` is the untuned run."""
    match train[0]:
        case LabelledText():
            tfidf = {} if isinstance(source, TfidfClassifier) else {"tfidf": tfidf_baseline(train)}
            return {"majority": majority_baseline(train), **tfidf}
        case TextPair(score=None):
            return {"majority": majority_baseline(train)}
        case TextPair():
            return {"untuned cosine": lambda examples: cosines(source, examples).tolist()}
        case TaggedSentence():
            return {"most frequent tag of each word": frequent_tag_baseline(train)}
        case Question():
            return {"sentence most like the question": lambda examples: [nearest_sentence(example) for example in examples]}
    return {}


def majority_baseline(train: Sequence[Any]) -> Baseline:
    label = Counter(example.label for example in train).most_common(1)[0][0]
    return lambda examples: [label] * len(examples)


def tfidf_baseline(train: Sequence[LabelledText]) -> Baseline:
    part = train[:: -(-len(train) // TFIDF_EXAMPLES)]
    tokenizer = Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in part))
    return TfidfClassifier.train(part, tokenizer).predict_examples


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
