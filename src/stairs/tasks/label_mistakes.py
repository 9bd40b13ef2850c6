"""Labels that are probably wrong, and words that give the label away, before anything is trained for good.

Confident learning (Northcutt, Jiang & Chuang 2021): with out-of-fold probabilities p, and t_k the mean of p_k over the texts with the label k,

    a text with the label g is suspicious if  p_g < t_g  and  p_k >= t_k  for another label k

The suggestion is the most probable such k; the texts are ordered by p_g - p_k, the surest mistakes first.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stairs.tasks.out_of_fold import OutOfFold
from stairs.text.examples import LabelledText

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MIN_PURITY, MIN_COVERAGE = 0.99, 0.8  # of a term that gives a label away: the share of its texts that have the label, and of the label's texts
MIN_LABEL_TEXTS = 20


class LabelMistake(NamedTuple):
    number: int  # of the example
    suggestion: str
    given_probability: float
    suggested_probability: float


class TellingTerm(NamedTuple):
    """A term that nearly all texts of a label have, and nearly no others."""

    term: str
    label: str
    coverage: float
    purity: float


def find_mistakes(examples: Sequence[LabelledText], predicted: OutOfFold) -> list[LabelMistake]:
    """The surest mistakes first."""
    numbers = {label: number for number, label in enumerate(predicted.labels)}
    given = np.array([numbers[example.label] for example in examples])
    probabilities, rows = predicted.probabilities, np.arange(len(examples))
    own = probabilities[rows, given]
    counts = np.bincount(given, minlength=len(numbers))
    thresholds = np.bincount(given, own, len(numbers)) / np.maximum(counts, 1)
    others = np.where(probabilities >= thresholds, probabilities, -1.0)
    others[rows, given] = -1.0
    best = others.argmax(1)
    is_suspicious = (own < thresholds[given]) & (others[rows, best] > own)
    found = [
        LabelMistake(i, predicted.labels[best[i]], float(own[i]), float(others[i, best[i]])) for i in np.flatnonzero(is_suspicious).tolist()
    ]
    return sorted(found, key=lambda mistake: (mistake.given_probability - mistake.suggested_probability, mistake.number))


def telling_terms(examples: Sequence[LabelledText], terms: Sequence[str], matrix: "csr_matrix") -> list[TellingTerm]:
    """Terms that give a label away; the one with the best coverage for each label."""
    labels = sorted({example.label for example in examples})
    occurs = matrix.sign()
    total = np.asarray(occurs.sum(0)).ravel()
    found = []
    for label in labels:
        inside = np.array([example.label == label for example in examples])
        if inside.sum() < MIN_LABEL_TEXTS or not len(terms):
            continue
        own = np.asarray(occurs[np.flatnonzero(inside)].sum(0)).ravel()
        purity, coverage = own / np.maximum(total, 1), own / inside.sum()
        coverage[purity < MIN_PURITY] = 0
        best = int(coverage.argmax())
        if coverage[best] >= MIN_COVERAGE:
            found.append(TellingTerm(terms[best], label, float(coverage[best]), float(purity[best])))
    return found
