"""The cheapest alternatives to a tuned model, so that nobody pays for one that is no better.

labels of texts    majority, the most frequent label; tfidf, logistic regression over TF-IDF, in about a second
labels of pairs    majority
scores of pairs    untuned cosine: that of the same encoder before it was tuned
tags               the most frequent tag of each word, and of all words for one that was never seen
spans              the sentence of the passage that shares most words with the question

An alternative is beaten if the interval of the paired difference (`bootstrap.PairedBootstrap`) lies above 0.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stairs.tasks.baselines import TfidfClassifier
from stairs.tasks.bootstrap import PairedBootstrap
from stairs.tasks.metrics import normalize_answer, rank_correlation
from stairs.tasks.outcomes import all_metrics, groups_of, outcomes, statistic
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TFIDF_EXAMPLES = 20_000  # examples that tfidf learns from, spread over all
Baseline = Callable[[Sequence[Any]], list[Any]]  # from examples to what it answers for each
SENTENCE = re.compile(r"[^.!?。！？；;\n]+[.!?。！？；;\n]*")


def evaluate_with_baselines(task: Any, examples: Sequence[Any], others: dict[str, Baseline], metric: str) -> dict[str, Any]:
    """What a task reports on examples, with the best of the others there under "baseline": its name, metric and value with the interval, and how much
    better the task is, paired; and under "only_label" the label that the task gives to everything, if there is one."""
    report, said = task.metrics_and_predictions(examples)
    if not said or not others:
        return report
    answers = {name: answer(examples) for name, answer in others.items()}
    report |= {"baseline": compare_with_best(answers, said, metric, task.example_kind, examples)}
    given = {label for own in said for label in (own if task.example_kind == "tag" else [own])} if task.example_kind != "span" else set()
    return report | ({"only_label": given.pop()} if len(given) == 1 and isinstance(next(iter(given)), str) else {})


def compare_with_best(others: dict[str, list[Any]], said: list[Any], metric: str, example_kind: str, examples: Sequence[Any]) -> dict[str, Any]:
    values = {name: all_metrics(example_kind, examples, own)[metric] for name, own in others.items()}
    name = max(values, key=lambda name: values[name]["value"])
    both = [statistic(metric, example_kind, examples, outcomes(metric, example_kind, examples, own)) for own in (said, others[name])]
    ahead = PairedBootstrap(both, groups_of(examples)).difference(0, 1)
    return {"name": name, "metric": metric, **values[name], "improvement": ahead, "is_beaten": ahead["low"] > 0}


def baseline_warnings(report: dict[str, Any], part: str) -> list[str]:
    """What a person should hear: that the alternative was not beaten, and that everything was given one label."""
    said, baseline = [], report.get("baseline")
    if baseline and not baseline["is_beaten"]:
        metric, ahead = baseline["metric"], baseline["improvement"]
        compared = "worse than" if ahead["high"] < 0 else "not better, as far as these examples tell, than"
        figures = f"{metric.replace('_', ' ')} {report[metric]['value']:.4f} against {baseline['value']:.4f}"
        interval = f"the difference is {ahead['low']:+.4f} to {ahead['high']:+.4f}"
        said.append(f"this is {compared} the cheapest alternative, {baseline['name']}: {figures} on {part}; {interval}")
    if "only_label" in report:
        said.append(f"it gives one label, {report['only_label']!r}, to all of {part}")
    return said


def train_baselines(train: Sequence[Any], source: Any) -> dict[str, Baseline]:
    """Those that the examples allow, learnt. `source` is the untuned run."""
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
    words = Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in part))
    return TfidfClassifier.train(part, words).predict


def cosines(source: Any, examples: Sequence[TextPair]) -> np.ndarray:
    """Of the vectors that a run gives."""
    texts = list(dict.fromkeys(text for pair in examples for text in (pair.first, pair.second)))
    vectors = source.vectors(texts).astype(np.float64)
    units = dict(zip(texts, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), strict=True))
    return np.array([units[pair.first] @ units[pair.second] for pair in examples])


def cosine_correlation(source: Any, examples: Sequence[TextPair]) -> dict[str, float]:
    """Spearman's correlation of scores with cosines."""
    return rank_correlation(np.array([pair.score for pair in examples], np.float64), cosines(source, examples))


def frequent_tag_baseline(train: Sequence[TaggedSentence]) -> Baseline:
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for example in train:
        for word, tag in zip(example.words, example.tags, strict=True):
            seen[word][tag] += 1
    usual = sum(seen.values(), Counter()).most_common(1)[0][0]
    best = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    return lambda examples: [[best.get(word, usual) for word in example.words] for example in examples]


def nearest_sentence(example: Question) -> str:
    asked = set(normalize_answer(example.question))
    sentences = SENTENCE.findall(example.passage) or [example.passage]
    return max(sentences, key=lambda sentence: len(asked & set(normalize_answer(sentence)))).strip()
