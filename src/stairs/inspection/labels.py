"""Why this label? Which words support it, which labelled examples are most similar, and which labels are confused.

    reason(word) = P(label | text) - P(label | text without the word)

Occlusion (Zeiler & Fergus 2014; Li, Monroe & Jurafsky 2016) only asks the classifier and needs nothing from inside it, so it is exact, and the same
for every model from word counts to BERT. It sees one word at a time: of two words with the same meaning, either can be left out at no loss.

The nearest examples are those with the highest cosine of the features that the last layer reads. If other labels are among the nearest, the text is
hard for the classifier, or the file labels similar texts differently.
"""

import json
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict, cast
from weakref import WeakKeyDictionary

import numpy as np

from stairs.errors import BadInput, Unsupported, preview
from stairs.inspection.tokens import Truncatable, group_bounds
from stairs.inspection.views import classifies, has_confusion, has_text_features, view
from stairs.tasks import Task
from stairs.tasks.answers import LabelAnswer
from stairs.tasks.classifier import Classifier
from stairs.tasks.classify import Classify
from stairs.tasks.measurements import EVALUATION_FILE
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.text.chinese import HAN_RUN, chinese_word_spans
from stairs.text.examples import LabelledText
from stairs.text.labelled import read_examples

MAX_SPANS = 96  # spans left out one by one; in a longer text a span is several words
BATCH_SIZE = 64
MIN_PROBABILITY = 1e-12
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|_+")
MAX_EXAMPLES = 10_000  # examples that are compared; of more, every second, third, ...
LABELS_NAMED = 5  # labels in an error message
FileVersion = tuple[str, int, int]  # path, modification time and size
FEATURES: WeakKeyDictionary[Task, tuple[FileVersion, Any]] = WeakKeyDictionary()  # of each task, those of the file used last


class WordReason(TypedDict):
    word: str
    start: int  # offsets in the text
    end: int
    probability_drop: float  # when the word is left out
    log_odds_drop: float


class ReasonsData(TypedDict):
    text: str
    label: str
    probability: float
    words: list[WordReason]


class NearExample(TypedDict):
    text: str
    label: str
    cosine: float
    where: str  # file:line


class NearestData(Truncatable):
    text: str
    label: str
    probability: float
    near: list[NearExample]


class ConfusionData(TypedDict):
    split: str
    labels: list[str]
    counts: list[list[int]]  # a row for each gold label, a column for each predicted one


@view(classifies)
def reasons(task: Classifier | Classify, text: str) -> ReasonsData:
    """The label of a text, its probability, and how much each word contributes to it."""
    spans, rows = occlusions(task, text)
    if not spans:
        raise BadInput(f"{preview(text)} has less than two words, and leaving one out must leave something; give a longer text")
    full, *occluded = rows
    best = full.index(max(full))
    full_odds = log_odds(full, best)
    drops: list[WordReason] = [
        {"word": text[start:end], "start": start, "end": end,
         "probability_drop": full[best] - row[best], "log_odds_drop": full_odds - log_odds(row, best)}
        for (start, end), row in zip(spans, occluded, strict=True)
    ]  # fmt: skip
    return {"text": text, "label": task.labels[best], "probability": full[best], "words": drops}


def occlusions(task: Classifier | Classify, text: str) -> tuple[list[tuple[int, int]], list[list[float]]]:
    """The places of the words of a text, and the probabilities of the labels: of the whole text, then without each word. No places in a text of less
    than two words, since leaving one out must leave something."""
    words = word_spans(text)
    if len(words) < 2:
        return [], []
    spans = [(words[start][0], words[stop - 1][1]) for start, stop in group_bounds(len(words), MAX_SPANS)]
    texts = [text, *(remove_span(text, start, end) for start, end in spans)]
    return spans, [row for at in range(0, len(texts), BATCH_SIZE) for row in task.probabilities(texts[at : at + BATCH_SIZE]).tolist()]


def log_odds(probabilities: list[float], best: int) -> float:
    """ln p / (1 - p) of one label, which still changes where the probability itself is almost 1."""
    others = sum(probability for number, probability in enumerate(probabilities) if number != best)
    return math.log(max(probabilities[best], MIN_PROBABILITY) / max(others, MIN_PROBABILITY))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each word and punctuation mark; Chinese words as the dictionary segments them."""
    without_chinese = HAN_RUN.sub(lambda run: " " * len(run[0]), text)
    return sorted([*chinese_word_spans(text), *(word.span() for word in WORD.finditer(without_chinese))])


def remove_span(text: str, start: int, end: int) -> str:
    """The text without the span and the space before it."""
    return text[:start].rstrip(" ") + text[end:] if text[end : end + 1] in ("", " ") else text[:start] + text[end:]


@view(has_text_features)
def nearest(task: TfidfClassifier | VectorClassifier | Classify, text: str, *, labels: str = "", top: int = 10) -> NearestData:
    """The label of a text, and the examples of the file `labels` that are most similar to it."""
    if not labels:
        raise BadInput("no file of labelled examples given to find the nearest in; give the training file of the run with --labels FILE")
    version = file_version(labels)
    examples = distinct_examples(version)
    check_labels(task, examples, labels)
    step = -(-len(examples) // MAX_EXAMPLES)
    compared = examples[::step]
    if FEATURES.get(task, (None,))[0] != version:
        FEATURES[task] = version, unit_rows(task.text_features([example.text for example in compared]))
    features = unit_rows(task.text_features([text]))
    if not abs(features).sum():
        raise BadInput(f"this run knows no word of {preview(text)}; give a text with words from its vocabulary")
    cosines = row_products(FEATURES[task][1], features)
    best = [(compared[number], float(cosines[number])) for number in np.argsort(-cosines, kind="stable")[:top].tolist()]
    near: list[NearExample] = [
        {"text": example.text, "label": example.label, "cosine": cosine, "where": Path(example.where).name} for example, cosine in best
    ]
    answer = cast(LabelAnswer, task.answer(text))
    part = f"{Path(labels).name} has {len(examples)} different texts; {len(compared)} of them, evenly spaced, were compared" if step > 1 else None
    probability = answer["probabilities"][answer["label"]]
    return {"text": text, "label": answer["label"], "probability": probability, "near": near, "truncation": part}


def file_version(path: str) -> FileVersion:
    try:
        status = Path(path).stat()
    except OSError:
        raise BadInput(f"there is no file {path}; give a file of labelled examples with --labels") from None
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def distinct_examples(version: FileVersion) -> list[LabelledText]:
    """Each text once for each of its labels."""
    examples: Any = read_examples(version[0], "classify").examples
    distinct = {(example.text, example.label): example for example in reversed(examples)}
    return list(distinct.values())[::-1]


def check_labels(task: Classifier | Classify, examples: list[LabelledText], path: str) -> None:
    labels = list(dict.fromkeys(example.label for example in examples))
    if not set(labels) & set(task.labels):
        differ = f"{path} has the labels {', '.join(labels[:LABELS_NAMED])}, and this run {', '.join(task.labels[:LABELS_NAMED])}"
        raise BadInput(f"{differ}; give the file that it was trained on")


def unit_rows(features: Any) -> Any:
    """Rows of length 1, dense or sparse; zeros stay zeros."""
    from sklearn.preprocessing import normalize

    return normalize(features)


def row_products(rows: Any, vector: Any) -> np.ndarray:
    products = rows @ vector.T
    return np.asarray(products.todense() if hasattr(products, "todense") else products).ravel()


@view(has_confusion)
def confusion(task: Task, text: str = "", *, run: str = "") -> ConfusionData:
    """The confusion matrix that `stairs tune` left in the folder of the run."""
    path = Path(run) / EVALUATION_FILE
    try:
        evaluation = json.loads(path.read_text("utf-8"))
        split = "test" if "test" in evaluation else "dev"
        return {"split": split, "labels": list(evaluation[split]["labels"]), "counts": evaluation[split]["confusion"]}
    except OSError:
        raise Unsupported(f"{run or 'this run'} has no confusion matrix; stairs tune writes one") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path} holds no confusion matrix; tune the run again") from None
