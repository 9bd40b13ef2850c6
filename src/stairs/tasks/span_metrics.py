"""Metrics of tags and of answers from a passage. Tags that mark spans (B-X, I-X) are judged by whole spans, answers by the words they share."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from stairs.tasks.measurements import AnswerMetrics, TagDetails, TagMetrics
from stairs.tasks.metrics import SPAN_TAG, ratio
from stairs.text.chinese import HAN, has_han

PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}，。：？！“”‘’；·（）《》、…—～「」『』〈〉]")
OUTSIDE = {"O", "."}  # how tags of words outside of spans begin


def tag_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> TagMetrics:
    """The share of words with the gold tag, and where tags mark spans (B-X, I-X) the F1 of whole spans, as seqeval counts them."""
    metrics: TagMetrics = {"accuracy": ratio(*tag_counts(gold, predicted).T), "words": sum(map(len, gold)), "sentences": len(gold)}
    if any(SPAN_TAG.match(tag) for tags in gold for tag in tags):
        correct, of_gold, of_predicted = span_counts(gold, predicted).T
        metrics["f1"] = ratio(2 * correct, of_gold + of_predicted)
        metrics["precision"], metrics["recall"] = (float(correct.sum() / max(total.sum(), 1)) for total in (of_predicted, of_gold))
        metrics["spans"] = int(of_gold.sum())
    return metrics


def tag_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 2): the words of each sentence with the gold tag, and all of its words."""
    return np.array([[sum(a == b for a, b in zip(own, other, strict=True)), len(own)] for own, other in zip(gold, predicted, strict=True)])


def tag_report(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, TagDetails]:
    """Precision, recall and F1 of each type of span; of each tag where the gold tags mark no spans. The most frequent comes first."""
    has_spans = any(SPAN_TAG.match(tag) for tags in gold for tag in tags)
    counts: dict[str, Counter[str]] = {"correct": Counter(), "gold": Counter(), "predicted": Counter()}
    for own, other in zip(gold, predicted, strict=True):
        of_gold, of_predicted = (typed_spans(tags) if has_spans else typed_words(tags) for tags in (own, other))
        for name, found in (("gold", of_gold), ("predicted", of_predicted), ("correct", of_gold & of_predicted)):
            counts[name].update(kind for kind, *_ in found)
    details: dict[str, TagDetails] = {}
    for kind in sorted({*counts["gold"], *counts["predicted"]}, key=lambda kind: (-counts["gold"][kind], kind)):
        correct, wanted, given = (counts[name][kind] for name in ("correct", "gold", "predicted"))
        details[kind] = {
            "precision": correct / max(given, 1), "recall": correct / max(wanted, 1), "f1": 2 * correct / max(wanted + given, 1), "gold": wanted,
        }  # fmt: skip
    return details


def typed_spans(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """(type, first word, last word) of each span, as CoNLL's shared tasks count them, and as seqeval does by default. B-X and I-X mark a span; some
    files also mark its last word with E-X, and one of a single word with S-X."""
    spans: set[tuple[str, int, int]] = set()
    start, previous = 0, "O"
    for position, tag in enumerate((*tags, "O")):
        if tag == previous == "O":  # most words
            continue
        ends, starts = span_boundary(previous, tag)
        if ends:
            spans.add((span_type(previous), start, position - 1))
        if starts:
            start = position
        previous = tag
    return spans


@lru_cache(maxsize=65536)  # there are few pairs of tags, and each comes thousands of times
def span_boundary(previous: str, tag: str) -> tuple[bool, bool]:
    """Whether a span ends between two words, and whether one starts there. Tags need not be consistent: an I-X that continues no X starts one."""
    before, after, changes_type = previous[:1], tag[:1], span_type(previous) != span_type(tag)
    ends = before in {"E", "S"} or (before in {"B", "I"} and after in {"B", "S", "O"}) or (before not in OUTSIDE and changes_type)
    starts = after in {"B", "S"} or (after in {"I", "E"} and before in {"E", "S", "O"}) or (after not in OUTSIDE and changes_type)
    return ends, starts


def span_type(tag: str) -> str:
    """The X of B-X; B and I alone mark spans of one type, "_"."""
    name, dash, kind = tag[1:].partition("-")
    return (kind if dash else name) or "_"


def typed_words(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    return {(tag, number, number) for number, tag in enumerate(tags)}


def span_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 3): the correct spans of each sentence, its gold spans, and its predicted ones."""
    spans = [(typed_spans(a), typed_spans(b)) for a, b in zip(gold, predicted, strict=True)]
    return np.array([[len(a & b), len(a), len(b)] for a, b in spans])


def answer_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> AnswerMetrics:
    """Exact match and F1 of answers, each against the best of its gold answers; a question without one is answered by "". As published with SQuAD
    (Rajpurkar et al. 2016), and for Chinese with CMRC 2018 (Cui et al. 2019)."""
    exact, f1 = answer_scores(gold, predicted).T
    ones = np.ones(len(gold))
    return {"exact_match": ratio(exact, ones), "f1": ratio(f1, ones), "questions": len(gold)}


def answer_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> np.ndarray:
    """(N, 2): whether each answer matches exactly, and its F1."""
    pairs = [(answers or [""], answer) for answers, answer in zip(gold, predicted, strict=True)]
    exact = [max(normalize_answer(own) == normalize_answer(answer) for own in answers) for answers, answer in pairs]
    f1 = [max(answer_f1(own, answer) for own in answers) for answers, answer in pairs]
    return np.array([exact, f1], np.float64).T


def normalize_answer(answer: str) -> list[str]:
    """The words that two answers are compared by: lower case, without punctuation and articles; Chinese by character."""
    plain = re.sub(r"\b(a|an|the)\b", " ", PUNCTUATION.sub("", answer.lower()))
    return re.findall(f"[{HAN}]|[^\\s{HAN}]+", plain)


def answer_f1(gold: str, predicted: str) -> float:
    """F1 of the words that two answers share; of Chinese ones, of their longest common run."""
    a, b = normalize_answer(gold), normalize_answer(predicted)
    if not a or not b:
        return float(a == b)
    common = longest_common_run(a, b) if has_han(gold) else sum((Counter(a) & Counter(b)).values())
    return 2 * common / (len(a) + len(b))


def longest_common_run(a: list[str], b: list[str]) -> int:
    """The length of the longest run of equal items."""
    best, previous = 0, [0] * (len(b) + 1)
    for item in a:
        current = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if item == other:
                current[j + 1] = previous[j] + 1
                best = max(best, current[j + 1])
        previous = current
    return best
