"""Which terms, scale and regularisation a TF-IDF classifier gets, by held-out examples.

    terms    words, up to two or three in a row, with n-grams of characters within words or without
    scale    all alike; or by how unlike the labels are in a term, which is known before anything is fitted (after Wang & Manning 2012, "Baselines and
             Bigrams", whose log-count ratios are those of two labels):   max over labels of |ln P(term | label) / P(term | other labels)|
    C        the weight of the errors against that of large weights

The terms are those of the fit that makes the labels of held-out examples the most probable; the fits with these terms are mixed
(`linear_mixture.py`). Held out are the validation examples, or, where there are none, folds of the training examples. The fits are those of
liblinear, by dual coordinate descent (Yu, Huang & Lin 2011), a tenth of a second each for 10,000 short texts; of several labels, each is one against
the others.

Departures: the ratios count texts that have a term, and the scaled features keep their TF-IDF; Wang & Manning's are 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from stairs.progress import say
from stairs.tasks.linear_mixture import Mixture, mix, temper
from stairs.tasks.out_of_fold import fold_numbers
from stairs.tasks.parts.term_counts import count_terms
from stairs.tasks.parts.tfidf import CHARACTERS, TermKinds, Tfidf, inverse_frequencies, weigh_counts
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EVERY_KIND = TermKinds(words=3, characters=True, min_texts=2)
MAX_TRAINED, MAX_HELD_OUT = 20_000, 2_000  # examples of one trial; folds are held out until there are so many
MIN_EXAMPLES = 50  # fewer choose nothing
TOLERANCE, MAX_ITERATIONS = 0.01, 200  # of liblinear


@dataclass(frozen=True)
class TfidfChoice:
    """How one fit is made."""

    words: int = 2  # in a row, at most
    characters: bool = True  # n-grams of characters within words, too
    by_ratio: bool = False  # terms count the more, the more unlike the labels are in them
    c: float = 8.0

    @property
    def reads(self) -> str:
        words = f"words and up to {self.words} in a row" if self.words > 1 else "words"
        return f"tfidf counts {words}{', and the characters within words' * self.characters}"

    @property
    def sentence(self) -> str:
        return f"C = {self.c:g}{', terms weighted by how unlike the labels are in them' * self.by_ratio}"


C = TypeVar("C", bound=TfidfChoice)
DEFAULT_CHOICE = TfidfChoice()
TERMS = [TfidfChoice(1, True), TfidfChoice(2, False), TfidfChoice(2, True), TfidfChoice(3, True)]
TRIALS = [choice for terms in TERMS for choice in (replace(terms, by_ratio=True, c=4.0), terms)]


class Linear(NamedTuple):
    weight: np.ndarray  # (labels, terms)
    bias: np.ndarray  # (labels,)

    def scores(self, features: "csr_matrix") -> np.ndarray:
        scores: np.ndarray = np.asarray(features @ self.weight.T) + self.bias
        return scores

    def times(self, number: float) -> "Linear":
        return Linear(self.weight * number, self.bias * number)


class HeldOut(NamedTuple):
    """The rows to fit on, and those to predict with what was fitted."""

    fitted: np.ndarray
    predicted: np.ndarray


class TermTable:
    """All terms of the training texts, or those of a `mixture`, and how often each of these texts, and then each validation text, has them; fits take
    some of the terms. `numbers` are those of the labels, training examples first."""

    def __init__(
        self, examples: Sequence[LabelledText], labels: list[str], tokenizer: Tokenizer, validation: Sequence[LabelledText],
        mixture: "Mixture[C] | None",
    ) -> None:  # fmt: skip
        kinds = EVERY_KIND if mixture is None else EVERY_KIND._replace(words=mixture.widest.words, characters=mixture.widest.characters)
        known = [example for example in validation if example.label in labels]
        self.validation = known if len(known) >= MIN_EXAMPLES and mixture is None else []  # a handful chooses less well than folds
        self.terms, counts = count_terms(tokenizer, [example.text for example in examples], kinds)
        self.examples, self.labels, self.tokenizer, self.idf = examples, labels, tokenizer, inverse_frequencies(counts)
        self.sizes = np.array([0 if term.startswith(CHARACTERS) else term.count(" ") + 1 for term in self.terms])  # in words, 0 for characters
        self.numbers = np.array([labels.index(example.label) for example in (*examples, *self.validation)])
        self.counts = counts
        if self.validation:
            more = Tfidf(tokenizer, self.terms, self.idf).count([example.text for example in self.validation])
            self.counts = counts.append(more)
        self.known_features: dict[tuple[int, bool], csr_matrix] = {}
        self.known_fits: dict[TfidfChoice, Linear] = {}  # on all training examples

    def columns(self, choice: TfidfChoice) -> np.ndarray:
        """Which of the terms are chosen, (terms,) bool."""
        chosen: np.ndarray = (self.sizes <= choice.words) & (choice.characters | (self.sizes > 0))
        return chosen

    def features(self, choice: TfidfChoice) -> "csr_matrix":
        """TF-IDF of the chosen terms of all texts."""
        key = choice.words, choice.characters
        if key not in self.known_features:
            columns = self.columns(choice)
            own = weigh_counts(self.counts.select(columns), self.idf[columns], int((self.sizes[columns] == 0).sum()))
            self.known_features[key] = own.matrix()
        return self.known_features[key]

    def fit(self, choice: TfidfChoice, rows: np.ndarray) -> Linear:
        return fit_linear(self.features(choice)[rows], self.numbers[rows], len(self.labels), choice)

    def fit_training(self, choice: TfidfChoice) -> Linear:
        """On all training examples; the trials may have made this fit already."""
        if choice not in self.known_fits:
            self.known_fits[choice] = self.fit(choice, np.arange(len(self.examples)))
        return self.known_fits[choice]

    def fit_mixture(self, mixture: "Mixture[TfidfChoice]") -> Linear:
        """One linear function: the sum of its fits, by their weights."""
        fits = [self.fit_training(fit).times(weight) for fit, weight in zip(mixture.fits, mixture.weights, strict=True)]
        return Linear(*(np.sum(parts, 0) for parts in zip(*fits, strict=True)))

    def tfidf(self, choice: TfidfChoice) -> Tfidf:
        """Of the chosen terms, as precise as it is stored."""
        columns = self.columns(choice)
        return Tfidf(self.tokenizer, [self.terms[i] for i in np.flatnonzero(columns).tolist()], self.idf[columns].astype(np.float32))

    def held_out(self) -> list[HeldOut]:
        """The validation examples; without them folds of the training examples, until enough are held out."""
        if self.validation:
            return [HeldOut(spread(np.arange(len(self.examples))), np.arange(len(self.examples), len(self.numbers)))]
        parts: list[HeldOut] = []
        fold_of = fold_numbers(self.examples) if len(self.examples) >= MIN_EXAMPLES else np.zeros(0, np.int64)
        for fold in np.unique(fold_of).tolist():
            inside, outside = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
            if len(outside) and sum(len(part.predicted) for part in parts) < MAX_HELD_OUT:
                parts.append(HeldOut(spread(outside), inside))
        return parts

    def choose(self, trials: Sequence[C], default: C) -> "Mixture[C]":
        """The fits with the terms of that which makes the held-out labels the most probable, mixed; the default if there are too few examples."""
        parts = self.held_out()
        if not parts:
            return Mixture((default,))
        gold = self.numbers[np.concatenate([part.predicted for part in parts])]
        scores = {choice: np.concatenate([self.held_out_scores(choice, part) for part in parts]) for choice in trials}
        best = min(trials, key=lambda choice: temper(scores[choice], gold)[0])
        mixed = [choice for choice in trials if not choice.words or (choice.words, choice.characters) == (best.words, best.characters)]
        mixture = replace(mix(mixed, [scores[choice] for choice in mixed], gold), trials=len(trials))
        say(mixture.sentence)
        return mixture

    def held_out_scores(self, choice: TfidfChoice, part: HeldOut) -> np.ndarray:
        is_whole = len(part.fitted) == len(self.examples)
        linear = self.fit_training(choice) if is_whole else self.fit(choice, part.fitted)
        return linear.scores(self.features(choice)[part.predicted])


def spread(rows: np.ndarray) -> np.ndarray:
    """At most MAX_TRAINED of the rows, spread over all."""
    return rows[:: -(-len(rows) // MAX_TRAINED)]


def fit_linear(features: "csr_matrix", numbers: np.ndarray, labels: int, choice: TfidfChoice, others: int = 0) -> Linear:
    """The scale of the terms becomes a part of the weights. The last `others` features are no terms, and have no scale."""
    scale = np.ones(features.shape[1])
    if choice.by_ratio:
        scale[: len(scale) - others] = term_ratios(features[:, : len(scale) - others], numbers, labels)
    scaled, targets = features.multiply(scale).tocsr() if choice.by_ratio else features, np.eye(labels, dtype=bool)[numbers]
    weight, bias = one_vs_rest(scaled, targets[:, 1:] if labels == 2 else targets, choice.c)
    if labels == 2:  # what speaks for one label speaks against the other
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return Linear(weight * scale, bias)


def term_ratios(features: "csr_matrix", numbers: np.ndarray, labels: int) -> np.ndarray:
    """(terms,): the largest over the labels of |ln P(term | label) / P(term | other labels)|, with one text more for each term."""
    texts = np.stack([np.bincount(features.indices[own], minlength=features.shape[1]) for own in entries_by_label(features, numbers, labels)])
    inside, outside = texts + 1.0, texts.sum(0) - texts + 1.0
    ratios: np.ndarray = np.log(inside / inside.sum(1, keepdims=True)) - np.log(outside / outside.sum(1, keepdims=True))
    largest: np.ndarray = np.abs(ratios).max(0)
    return largest


def entries_by_label(features: "csr_matrix", numbers: np.ndarray, labels: int) -> list[np.ndarray]:
    of_entries = np.repeat(numbers, np.diff(features.indptr))
    return [of_entries == label for label in range(labels)]


def one_vs_rest(features: "csr_matrix", targets: np.ndarray, c: float) -> Linear:
    """A logistic regression for each column of `targets` (N, labels)."""
    fits = [logistic_regression(features, own, c) for own in targets.T]
    return Linear(np.stack([weight for weight, _ in fits]), np.array([bias for _, bias in fits]))


def logistic_regression(features: "csr_matrix", targets: np.ndarray, c: float) -> tuple[np.ndarray, float]:
    """The weights (terms,) and the bias of a yes or no."""
    from sklearn.linear_model import LogisticRegression

    if targets.all() or not targets.any():  # there is nothing to tell apart
        return np.zeros(features.shape[1]), float(np.log((targets.sum() + 0.5) / (len(targets) - targets.sum() + 0.5)))
    options = {"solver": "liblinear", "dual": True, "tol": TOLERANCE, "max_iter": MAX_ITERATIONS, "random_state": 0}
    linear = LogisticRegression(C=c, **options).fit(features, targets)
    return linear.coef_[0], float(linear.intercept_[0])

