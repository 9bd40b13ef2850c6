"""The texts that are most worth a label: those that a classifier is least certain of and that differ most from one another (active learning).

    uncertainty(text) = 1 - (p_1 - p_2)       p_1 and p_2 the largest two probabilities: 1 where two labels are as probable, 0 where one is sure

Of the least certain texts, ten for each that is wanted, they are taken one by one: the first is the least certain, then always the one with the
largest  uncertainty x distance to the nearest that is taken already,  a greedy k-centre (Gonzalez 1985; Sener & Savarese 2018) that weighs
uncertainty. The distance is 1 - cosine of the features that the classifier decides by, or else of TF-IDF.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.examples import LabelledText

if TYPE_CHECKING:
    from stairs.tasks.task import Task

POOL_PER_TEXT = 10  # uncertain texts for each that is taken
MIN_POOL, MAX_POOL = 500, 20_000
TEXTS_PER_BATCH = 256


class NextText(NamedTuple):
    number: int  # of the text
    uncertainty: float


def uncertainties(task: "Task", texts: Sequence[str], advance: Callable[[float], None] = lambda count: None) -> np.ndarray:
    """Of each text, between 0 and 1."""
    found = [np.zeros(0)]
    for start in range(0, len(texts), TEXTS_PER_BATCH):
        part = texts[start : start + TEXTS_PER_BATCH]
        probabilities = np.sort(cast(Any, task).example_probabilities([LabelledText(text, "") for text in part]), 1)
        found.append(1 - (probabilities[:, -1] - probabilities[:, -2]).astype(np.float64))
        advance(len(part))
    return np.concatenate(found)


def choose_texts(task: "Task", texts: Sequence[str], uncertainty: np.ndarray, count: int) -> list[NextText]:
    """The texts to label next, the most valuable first; no two should be equal."""
    pool = np.argsort(-uncertainty, kind="stable")[: min(max(POOL_PER_TEXT * count, MIN_POOL), max(MAX_POOL, count))]
    weight = uncertainty[pool]
    units = unit_features(task, [texts[i] for i in pool.tolist()])
    distance = np.ones(len(pool))
    taken: list[NextText] = []
    for _ in range(min(count, len(pool))):
        best = int((weight * distance).argmax())
        taken.append(NextText(int(pool[best]), float(weight[best])))
        cosine = np.asarray((units @ units[best : best + 1].T).todense()).ravel() if hasattr(units, "todense") else units @ units[best]
        distance = np.minimum(distance, np.maximum(1 - cosine, 0.0) + 1e-9)
        distance[best] = -1.0  # it is taken
    return taken


def unit_features(task: "Task", texts: Sequence[str]) -> Any:
    """Rows of length 1, dense or sparse: what the classifier decides by, or else TF-IDF."""
    from sklearn.preprocessing import normalize

    if task.has_text_features:
        parts = [cast(Any, task).text_features(texts[i : i + TEXTS_PER_BATCH]) for i in range(0, len(texts), TEXTS_PER_BATCH)]
        if hasattr(parts[0], "todense"):
            from scipy.sparse import vstack

            return normalize(vstack(parts).tocsr())
        return normalize(np.concatenate(parts))
    examples = [LabelledText(text, "") for text in texts]
    return Tfidf.fit(word_tokenizer(examples), texts)[1].matrix()
