"""Predictions for labelled texts by models that have not seen them: cross-validation of TF-IDF, which takes seconds.

The texts are split into folds; each fold is predicted by a model of the others. Texts of one group, and those that differ only in case and white
space, are in one fold, or a model would have seen the answer.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stairs.tasks.classifier import logistic_regression, softmax, word_tokenizer
from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.examples import LabelledText
from stairs.text.labelled import group_numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FOLDS = 5
REGULARIZATION = 0.1
MAX_TRAINED = 20_000  # texts of one model, spread over all
MIN_TEXTS = 2  # with a term that counts: what one text alone has tells nothing about others


class TextFeatures(NamedTuple):
    terms: Sequence[str]
    matrix: "csr_matrix"  # (texts, terms)


class OutOfFold(NamedTuple):
    labels: list[str]
    probabilities: np.ndarray  # (texts, labels); those of a label that a fold has not learnt are 0


def text_features(examples: Sequence[LabelledText]) -> TextFeatures:
    """TF-IDF of the terms that more than one text has."""
    tfidf, found = Tfidf.fit(word_tokenizer(examples), [example.text for example in examples])
    matrix = found.matrix()
    common = np.flatnonzero(np.bincount(found.columns, minlength=matrix.shape[1]) >= MIN_TEXTS)
    return TextFeatures([tfidf.terms[i] for i in common.tolist()], matrix[:, common])


def fold_numbers(examples: Sequence[LabelledText], seed: int = 0, folds: int = FOLDS) -> np.ndarray:
    """The fold of each text; each label is spread over all folds, as well as groups allow."""
    groups = group_numbers(examples)
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    next_fold: dict[str, int] = {}
    fold_of: dict[int, int] = {}
    numbers = np.zeros(len(examples), np.int64)
    for number in order:
        label, group = examples[number].label, groups[number]
        if group not in fold_of:
            fold_of[group] = next_fold.get(label, len(next_fold)) % folds
            next_fold[label] = fold_of[group] + 1
        numbers[number] = fold_of[group]
    return numbers


def out_of_fold(examples: Sequence[LabelledText], matrix: "csr_matrix", seed: int = 0) -> OutOfFold:
    """The probabilities of each text, by a model of other texts; one learns from at most MAX_TRAINED, spread over all."""
    labels = sorted({example.label for example in examples})
    probabilities = np.zeros((len(examples), len(labels)))
    numbers = fold_numbers(examples, seed)
    for fold in range(FOLDS):
        train, held_out = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        train = train[:: -(-len(train) // MAX_TRAINED)] if len(train) else train
        learnt = sorted({examples[i].label for i in train.tolist()})
        if not len(held_out):
            continue
        columns = np.array([labels.index(label) for label in learnt])
        if len(learnt) < 2:
            probabilities[np.ix_(held_out, columns)] = 1.0
            continue
        weight, bias = logistic_regression(matrix[train], [examples[i] for i in train.tolist()], REGULARIZATION)
        probabilities[np.ix_(held_out, columns)] = softmax(np.asarray(matrix[held_out] @ weight.T) + bias)
    return OutOfFold(labels, probabilities)
