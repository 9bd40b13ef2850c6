"""Which terms, scale and regularisation a TF-IDF classifier gets: those that give held-out examples the right label most often.

    terms    words, up to two or three in a row, with n-grams of characters within words or without
    scale    all alike; or by how unlike the labels are in a term, which is known before anything is fitted (after Wang & Manning 2012, "Baselines and
             Bigrams", whose log-count ratios are those of two labels):   max over labels of |ln P(term | label) / P(term | other labels)|
    C        the weight of the errors against that of large weights, tried around the best of the above

Held out are the validation examples, or, where there are none, folds of the training examples. Then the probabilities are tempered: all scores are
multiplied by the one number that makes the held-out labels most probable. The fits are those of liblinear, by dual coordinate descent (Yu, Huang &
Lin 2011), a tenth of a second each for 10,000 short texts; of several labels, each is one against the others.

Departures: the ratios count texts that have a term, and the scaled features keep their TF-IDF; Wang & Manning's are 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from stairs.progress import say
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
MIN_TEMPERED = 200  # held-out examples, without which a temperature would be a guess
TOLERANCE, MAX_ITERATIONS = 0.01, 200  # of liblinear
TEMPERATURES = np.exp(np.linspace(np.log(0.25), np.log(4.0), 41))


@dataclass(frozen=True)
class TfidfChoice:
    """What is stored in the config of a run."""

    words: int = 2  # in a row, at most
    characters: bool = True  # n-grams of characters within words, too
    by_ratio: bool = False  # terms count the more, the more unlike the labels are in them
    c: float = 8.0
    temperature: float = 1.0  # that all scores are multiplied with
    accuracy: float | None = None  # of the held-out examples
    held_out: int = 0  # examples
    trials: int = 0

    @property
    def sentence(self) -> str:
        words = f"words and up to {self.words} in a row" if self.words > 1 else "words"
        terms = f"{words}{', and the characters within words' * self.characters}"
        scale = "the more weight the more unlike the labels are in a term" if self.by_ratio else "no term with more weight than another"
        why = f"best of {self.trials} trials, {self.accuracy:.4f} of {self.held_out:,} held-out examples right" if self.trials else "the default"
        return f"tfidf counts {terms}; {scale}; C = {self.c:g} ({why})"


C = TypeVar("C", bound=TfidfChoice)
DEFAULT_CHOICE = TfidfChoice()
TERMS = [TfidfChoice(1, True), TfidfChoice(2, False), TfidfChoice(2, True), TfidfChoice(3, True)]
FIRST_TRIALS = [choice for terms in TERMS for choice in (replace(terms, by_ratio=True, c=4.0), terms)]
MORE_C = (1 / 8, 1 / 4, 1 / 2, 2.0, 4.0)  # times that of the best trial


class Linear(NamedTuple):
    weight: np.ndarray  # (labels, terms)
    bias: np.ndarray  # (labels,)

    def scores(self, features: "csr_matrix") -> np.ndarray:
        scores: np.ndarray = np.asarray(features @ self.weight.T) + self.bias
        return scores


class HeldOut(NamedTuple):
    """The rows to fit on, and those to predict with what was fitted."""

    fitted: np.ndarray
    predicted: np.ndarray


class Trial(NamedTuple, Generic[C]):
    accuracy: float
    loss: float
    choice: C


class TermTable:
    """All terms of the training texts, or those of a `choice`, and how often each of these texts, and then each validation text, has them; candidates
    take some of the terms. `numbers` are those of the labels, training examples first."""

    def __init__(
        self, examples: Sequence[LabelledText], labels: list[str], tokenizer: Tokenizer, validation: Sequence[LabelledText],
        choice: TfidfChoice | None,
    ) -> None:  # fmt: skip
        kinds = EVERY_KIND if choice is None else EVERY_KIND._replace(words=choice.words, characters=choice.characters)
        known = [example for example in validation if example.label in labels]
        self.validation = known if len(known) >= MIN_EXAMPLES and choice is None else []  # a handful chooses less well than folds
        self.terms, counts = count_terms(tokenizer, [example.text for example in examples], kinds)
        self.examples, self.labels, self.tokenizer, self.idf = examples, labels, tokenizer, inverse_frequencies(counts)
        self.sizes = np.array([0 if term.startswith(CHARACTERS) else term.count(" ") + 1 for term in self.terms])  # in words, 0 for characters
        self.numbers = np.array([labels.index(example.label) for example in (*examples, *self.validation)])
        self.counts = counts
        if self.validation:
            more = Tfidf(tokenizer, self.terms, self.idf).count([example.text for example in self.validation])
            self.counts = counts.append(more)
        self.known_features: dict[tuple[int, bool], csr_matrix] = {}

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
        """From all training examples, tempered."""
        return Linear(*(part * choice.temperature for part in self.fit(choice, np.arange(len(self.examples)))))

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

    def choose(self, first_trials: Sequence[C], more_c: Sequence[float], default: C) -> C:
        """The best of some trials on held-out examples, then of other values of C; the default if there are too few examples."""
        parts = self.held_out()
        if not parts:
            return default
        gold = self.numbers[np.concatenate([part.predicted for part in parts])]

        def try_out(choice: C) -> Trial[C]:
            scores = np.concatenate([self.fit(choice, part.fitted).scores(self.features(choice)[part.predicted]) for part in parts])
            accuracy, (loss, temperature) = float((scores.argmax(1) == gold).mean()), temper(scores, gold)
            return Trial(accuracy, loss, replace(choice, temperature=temperature, accuracy=accuracy, held_out=len(gold)))

        trials = [try_out(choice) for choice in first_trials]
        first = best_trial(trials)
        trials += [try_out(replace(first, c=first.c * times)) for times in more_c]
        best = replace(best_trial(trials), trials=len(trials))
        say(best.sentence)
        return best


def best_trial(trials: Sequence[Trial[C]]) -> C:
    return max(trials, key=lambda trial: (trial.accuracy, -trial.loss)).choice


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


def temper(scores: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """The lowest negative log-likelihood of the labels, in nats, and the temperature that the scores are multiplied with for it."""
    losses = []
    for temperature in TEMPERATURES.tolist() if len(gold) >= MIN_TEMPERED else [1.0]:
        tempered = scores * temperature
        highest = tempered.max(1)
        normalizers = highest + np.log(np.exp(tempered - highest[:, None]).sum(1))
        losses.append((float((normalizers - tempered[np.arange(len(gold)), gold]).mean()), temperature))
    return min(losses)
