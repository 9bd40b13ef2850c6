"""Why a text has its label: the words that spoke for each label and against it.

TF-IDF is a linear model, so its reasons are exact: the score of a label is its bias and the sum of its weight times the TF-IDF of each term: words,
words in a row, and characters, which are added to the word that they stand in, or shared by the two that they stand across. The mean over the labels
is taken off, since it changes no probability.
Of every other classifier, each word is left out once, as in the picture `reasons` (`labels.py`): its reason for a label is by how much the log-odds
of the label fall.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from stairs.errors import Unsupported
from stairs.tasks.classifier import Classifier
from stairs.tasks.parts.tfidf import character_terms, joint_terms
from stairs.tasks.task import Task
from stairs.tasks.tfidf_classifier import TfidfClassifier

if TYPE_CHECKING:
    from stairs.tasks.classify import Classify

MAX_WORDS = 5  # for a label and against it
MAX_LABELS = 3  # that are explained to a person
MIN_REASON = 0.005  # smaller ones are not shown


class WordWeight(TypedDict):
    word: str
    weight: float  # in nats: above 0 for the label, below 0 against it


class LabelReasons(TypedDict):
    label: str
    words: list[WordWeight]  # the strongest first


class Explanation(TypedDict):
    method: str  # "weights" or "leaving words out"
    labels: list[LabelReasons]  # the most probable first


def explain(task: Task, text: str) -> Explanation:
    """The words behind each label of a text."""
    if not task.gives_labels:
        raise Unsupported(f"--why is for runs that give labels to texts, and this is a {task.name} run of {task.model_name}; leave it out")
    classifier = cast("Classifier | Classify", task)
    words, weights = tfidf_weights(task, text) if isinstance(task, TfidfClassifier) else occlusion_weights(classifier, text)
    probabilities = classifier.probabilities([text])[0]
    order = np.argsort(-probabilities, kind="stable").tolist()
    return {
        "method": "weights" if isinstance(task, TfidfClassifier) else "leaving words out",
        "labels": [{"label": classifier.labels[number], "words": strongest(words, weights[:, number])} for number in order],
    }


def strongest(words: list[str], weights: np.ndarray) -> list[WordWeight]:
    """The words that count for a label or against it, those that count most first."""
    order = np.argsort(-np.abs(weights), kind="stable").tolist()
    return [{"word": words[number], "weight": round(float(weights[number]), 4)} for number in order if abs(weights[number]) >= MIN_REASON]


def tfidf_weights(task: TfidfClassifier, text: str) -> tuple[list[str], np.ndarray]:
    """The words of a text and the words in a row, and what each adds to the score of each label, (terms, labels), less the mean over the labels. An
    n-gram of characters is shared by the words that it occurs in."""
    features = task.tfidf.features([text])
    added = task.weight[:, features.columns].T * features.values[:, None]
    of_terms = dict(zip(features.columns.tolist(), added - added.mean(1, keepdims=True), strict=True))
    reasons = {task.terms[column]: weights for column, weights in of_terms.items() if column >= task.tfidf.first_word}
    words = task.tokenizer.words(text) if task.tfidf.first_word else []
    holders = [(word, term) for word in words for term in character_terms(word)]
    holders += [(word, term) for pair in pairwise(words) for term in joint_terms(pair) for word in pair]
    shares = Counter((word, column) for word, term in holders if (column := task.tfidf.columns.get(term)) is not None)
    occurrences: Counter[int] = Counter()
    for (_, column), count in shares.items():
        occurrences[column] += count
    for (word, column), count in shares.items():
        reasons[word] = reasons.get(word, 0) + of_terms[column] * count / occurrences[column]
    return list(reasons), np.array(list(reasons.values())).reshape(len(reasons), len(task.labels))


def occlusion_weights(task: "Classifier | Classify", text: str) -> tuple[list[str], np.ndarray]:
    """The words of a text, and by how much the log-odds of each label fall without them, (words, labels)."""
    from stairs.inspection.labels import occlusions  # which brings torch

    spans, rows = occlusions(task, text)
    if not spans:
        return [], np.zeros((0, len(task.labels)))
    odds = log_odds_of_all(np.array(rows))
    return [text[start:end] for start, end in spans], odds[0] - odds[1:]


def log_odds_of_all(probabilities: np.ndarray) -> np.ndarray:
    """ln p / (1 - p) of each label, where 1 - p is summed over the others, so that it stays exact near 0."""
    others = probabilities @ (1 - np.eye(probabilities.shape[1]))
    odds: np.ndarray = np.log(np.maximum(probabilities, 1e-12) / np.maximum(others, 1e-12))
    return odds


def why_cells(task: Task) -> Callable[[list[str]], list[str]]:
    """Explains each text in a cell: the words for and against its label."""
    if not task.gives_labels:
        raise Unsupported(f"--why is for runs that give labels to texts, and this is a {task.name} run of {task.model_name}; leave it out")
    return lambda texts: ["; ".join(reason_sentences(explain(task, text)["labels"][0])) for text in texts]


def explanation_lines(explanation: Explanation) -> list[str]:
    """What a person reads: of two labels those of the first, since what speaks for one speaks against the other; of more, those of the likeliest."""
    labels = explanation["labels"]
    return [line for own in labels[: 1 if len(labels) == 2 else MAX_LABELS] for line in reason_sentences(own)] or ["no word speaks for a label"]


def reason_sentences(reasons: LabelReasons) -> list[str]:
    """'for pos: great +1.20, loved +0.81' and 'against pos: slow -0.40'."""
    sides = {"for": [own for own in reasons["words"] if own["weight"] > 0], "against": [own for own in reasons["words"] if own["weight"] < 0]}
    shown = {side: ", ".join(f"{own['word']} {own['weight']:+.2f}" for own in words[:MAX_WORDS]) for side, words in sides.items()}
    return [f"{side} {reasons['label']}: {words}" for side, words in shown.items() if words]
