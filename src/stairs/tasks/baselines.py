"""The cheapest alternatives to a tuned model, which every one has to beat, so that nobody pays for one that is no better.

labels of texts    majority, the most frequent label; tfidf, logistic regression over TF-IDF, in a few seconds
several labels     the most frequent labels; tfidf, the same for each label by itself
numbers            the mean; tfidf, ridge regression over the same
labels of pairs    majority; tfidf, logistic regression over what the two texts share
scores of pairs    untuned cosine: that of the same encoder before it was tuned; tfidf, ridge regression over the same
tags               the most frequent tag of each word; for words that are not in the training file, of all words; hmm and crf
spans              the sentence of the passage that shares most words with the question; overlap, the best span among such words
choices            the choice that shares most of its words with the context

Models of the staircase that need no encoder are baselines as well: see `BASELINE_TASKS`. `outcomes.py` compares predictions.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from stairs.tasks import BASELINE_TASKS, TASKS
from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.measurements import Interval
from stairs.tasks.metrics import rank_correlation
from stairs.tasks.multilabel_metrics import frequent_labels
from stairs.tasks.outcomes import Baseline
from stairs.tasks.span_metrics import normalize_answer
from stairs.tasks.task import Task
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import Example, LabelledText, MultiLabelText, MultipleChoice, Question, ScoredText, TaggedSentence, TextPair

TFIDF_EXAMPLES = 20_000  # that tfidf learns from at most, spread over all
TFIDF_QUESTIONS = 4_000  # the same of multiple choice, where each has several pairs
TAGGED_SENTENCES = 5_000  # that hmm and crf learn from at most: a few seconds
SENTENCE = re.compile(r"[^.!?。！？；;\n]+[.!?。！？；;\n]*")


def simple_baseline(train: Sequence[Any]) -> tuple[str, Baseline] | None:
    """The name of the prediction that needs no learning, and the prediction; None where the examples have none."""
    match train[0]:
        case LabelledText() | TextPair(score=None):
            return "majority", majority_baseline(train)
        case MultiLabelText():
            return "frequent_labels", frequent_labels_baseline(train)
        case ScoredText():
            return "mean", mean_baseline(train)
        case TaggedSentence():
            return "frequent_tag", frequent_tag_baseline(train)
        case Question():
            return "nearest_sentence", lambda examples: [nearest_sentence(example) for example in examples]
        case MultipleChoice():
            return "nearest_choice", lambda examples: [nearest_choice(example) for example in examples]
    return None


def train_baselines(train: Sequence[Any], source: Task) -> dict[str, Baseline]:
    """The baselines that the examples allow. `source` is the untuned run."""
    match train[0]:
        case LabelledText():
            tfidf = {} if isinstance(source, TfidfClassifier) else {"tfidf": tfidf_baseline(train)}
            return {**named_baseline("majority", train), **tfidf}
        case MultiLabelText():
            return {**named_baseline("most frequent labels", train), **baseline_models("multilabel", train, source, TFIDF_EXAMPLES)}
        case ScoredText():
            return {**named_baseline("mean", train), **baseline_models("regress", train, source, TFIDF_EXAMPLES)}
        case TextPair(score=None):
            return {**named_baseline("majority", train), **baseline_models("compare", train, source, TFIDF_EXAMPLES)}
        case TextPair():
            untuned = {"untuned cosine": lambda examples: cosines(source, examples).tolist()} if getattr(source, "has_model", True) else {}
            return {**untuned, **baseline_models("compare", train, source, TFIDF_EXAMPLES)}
        case TaggedSentence():
            return {**named_baseline("most frequent tag of each word", train), **baseline_models("tag", train, source, TAGGED_SENTENCES)}
        case Question():
            return {**named_baseline("sentence most like the question", train), **baseline_models("span", train, source, TFIDF_EXAMPLES)}
        case MultipleChoice():
            return named_baseline("choice most like the context", train)
    return {}


def named_baseline(name: str, train: Sequence[Any]) -> dict[str, Baseline]:
    simple = simple_baseline(train)
    return {} if simple is None else {name: simple[1]}


def baseline_models(example_kind: str, train: Sequence[Any], source: Task, limit: int) -> dict[str, Baseline]:
    """The models that learn from the examples alone, from at most `limit` of them, but for the `source` itself and for n-grams, which tfidf beats."""
    part = train[:: -(-len(train) // limit)]
    names = {name: task for name, task in BASELINE_TASKS.get(example_kind, {}).items() if getattr(source, "name", "") != task and name != "ngram"}
    return {name: cast(Any, TASKS[task]).train(part).predict_examples for name, task in names.items()}


def train_by_name(task: str, examples: Sequence[Example], *sources: object) -> Task:
    """A task that is learnt without gradients; `sources` are what it needs besides the examples, such as a tokenizer."""
    trained: Task = cast(Any, TASKS[task]).train(examples, *sources)
    return trained


def frequent_labels_baseline(train: Sequence[MultiLabelText]) -> Baseline:
    labels = frequent_labels([example.labels for example in train])
    return lambda examples: [labels] * len(examples)


def mean_baseline(train: Sequence[ScoredText]) -> Baseline:
    mean = float(np.mean([example.value for example in train]))
    return lambda examples: [mean] * len(examples)


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
