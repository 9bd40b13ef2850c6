"""How many more labels would help: the accuracy of a classifier that learnt from 1/8, 1/4, 1/2 and all of the labels, and what more would give.

    accuracy(n) = a - b n^-c,    b >= 0,  a <= 1          (Hestness et al. 2017; Viering & Loog 2023)

It is measured by cross-validation, so that few labels are enough and no test example is looked at. Four points do not determine c: every c of a grid
is fitted by least squares and weighted by its likelihood, and the interval is that of the forecasts over bootstrap samples of the examples and c.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from stairs.tasks.measurements import Interval
from stairs.tasks.metrics import LEVEL, proportion, sample_counts
from stairs.tasks.out_of_fold import FOLDS, fold_numbers
from stairs.text.examples import LabelledText

SHARES = (0.125, 0.25, 0.5, 1.0)  # of the labels
MIN_LABELS = 80  # below that, an eighth is too few to learn from
EXPONENTS = np.linspace(0.05, 0.5, 19)  # those of language are about 0.07 to 0.35 (Hestness et al.); larger ones level off too early
SAMPLES = 400
DRAW_DEVIATION = 0.006  # of a measured accuracy, because other labels could have been learnt from
Predictor = Callable[[Sequence[LabelledText]], list[str]]
Learner = Callable[[Sequence[LabelledText]], Predictor]  # from labelled texts to what predicts the labels of others


class MeasuredCurve(NamedTuple):
    labels: list[int]  # that were learnt from
    is_correct: np.ndarray  # (examples, sizes)


def measure_curve(learn: Learner, examples: Sequence[LabelledText], seconds: float = float("inf"), seed: int = 0) -> MeasuredCurve | None:
    """By as many of the folds as there is time for; None if there is no time for two. What one learns from is part of what the next size does."""
    numbers = fold_numbers(examples, seed)
    began, results, sizes = time.monotonic(), [], []
    for fold in range(FOLDS):
        if fold and (time.monotonic() - began) * (fold + 1) / fold > seconds:
            break
        train = [examples[i] for i in np.random.default_rng([seed, fold]).permutation(np.flatnonzero(numbers != fold)).tolist()]
        held_out = [examples[i] for i in np.flatnonzero(numbers == fold).tolist()]
        if not train or not held_out:  # there are fewer groups than folds
            continue
        columns = []
        for share in SHARES:
            part = train[: max(round(share * len(train)), 2)]
            predicted = learn(part)(held_out) if len({own.label for own in part}) > 1 else [part[0].label] * len(held_out)
            columns.append([a == b.label for a, b in zip(predicted, held_out, strict=True)])
        results.append(np.array(columns).T)
        sizes.append(len(train))
    if len(results) < 2:
        return None
    size = sum(sizes) / len(sizes)
    return MeasuredCurve([round(share * size) for share in SHARES], np.concatenate(results))


def extrapolate(curve: MeasuredCurve, sizes: Sequence[int], seed: int = 0) -> list[Interval]:
    """The accuracy with so many labels, with its 95 % interval."""
    total = len(curve.is_correct)
    values = curve.is_correct.mean(0)
    centre = forecast(values, curve.labels, sizes, total)
    samples = np.concatenate([counts @ curve.is_correct / total for counts in sample_counts(total, SAMPLES, seed)])
    random = np.random.default_rng(seed)
    samples = np.clip(samples + random.normal(0.0, DRAW_DEVIATION, samples.shape), 0.0, 1.0)
    drawn = np.stack([forecast(own, curve.labels, sizes, total, random) for own in samples])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [
        {"value": float(value), "low": float(min(a, value)), "high": float(max(b, value))} for value, a, b in zip(centre, low, high, strict=True)
    ]


def forecast(
    values: np.ndarray, labels: Sequence[int], sizes: Sequence[int], total: int, random: np.random.Generator | None = None
) -> np.ndarray:
    """The mean over all exponents, each as likely as it fits; with `random`, that of one exponent, drawn so."""
    deviation = np.sqrt(values * (1 - values) / total + DRAW_DEVIATION**2)
    fits = [fit_power_law(values, np.array(labels, np.float64), exponent, deviation) for exponent in EXPONENTS]
    weights = np.exp(-0.5 * (np.array([own[2] for own in fits]) - min(own[2] for own in fits)))
    weights /= weights.sum()
    predicted = np.stack([a - b * np.array(sizes, np.float64) ** -exponent for (a, b, _), exponent in zip(fits, EXPONENTS, strict=True)])
    chosen: np.ndarray = predicted[random.choice(len(EXPONENTS), p=weights)] if random is not None else weights @ predicted
    return chosen


def fit_power_law(values: np.ndarray, labels: np.ndarray, exponent: float, deviation: np.ndarray) -> tuple[float, float, float]:
    """a, b and the weighted sum of squares."""
    x, weight = labels**-exponent, deviation**-2
    mean_x, mean_y = np.average(x, weights=weight), np.average(values, weights=weight)
    slope = float((weight * (x - mean_x) * (values - mean_y)).sum() / (weight * (x - mean_x) ** 2).sum())
    b = max(-slope, 0.0)
    a = float(mean_y + b * mean_x)
    if a > 1:
        a, b = 1.0, float((weight * x * (1 - values)).sum() / (weight * x * x).sum())
    return a, b, float((weight * (values - a + b * x) ** 2).sum())


def measured_points(curve: MeasuredCurve) -> list[tuple[int, Interval]]:
    """Each number of labels with its accuracy."""
    counts = curve.is_correct.sum(0).tolist()
    return [(labels, proportion(int(count), len(curve.is_correct))) for labels, count in zip(curve.labels, counts, strict=True)]
