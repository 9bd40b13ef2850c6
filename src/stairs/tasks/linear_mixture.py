"""Several linear classifiers of the same text as one: their scores are added, with the weights that make held-out labels the most probable.

    P(label | text) = softmax(sum over fits k of w_k scores_k(text))        w_k >= 0

Which of several fits is the best on a few hundred held-out examples is mostly chance, and one that won by chance is worse on others. A mixture of
them is hardly ever below the best (Wolpert 1992, "Stacked Generalization"; Breiman 1996, "Stacked Regressions", whose weights are not negative
either), and a sum of linear functions is a linear function: an answer takes no longer than that of one fit.

First the scores of each fit are tempered: multiplied by the one number that makes the held-out labels the most probable. Then the weights minimize

    the mean held-out cross-entropy + PRIOR / N sum over k of (w_k - 1/K)^2        of N held-out examples and K fits

so that they stay about equal where there is little to learn them from. Both numbers become a part of the weights of the fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

MIN_TEMPERED = 200  # held-out examples, without which a temperature would be a guess
TEMPERATURES = np.exp(np.linspace(np.log(0.25), np.log(4.0), 41))
PRIOR = 20.0  # how strongly weights are held at 1/K; from 4 to 40, accuracy differs by a tenth of a point or two
MIN_SHARE = 0.01  # of the weights; a fit with less is left out


class Choice(Protocol):
    """How one fit is made, as a dataclass."""

    @property
    def words(self) -> int: ...

    @property
    def characters(self) -> bool: ...

    @property
    def reads(self) -> str: ...

    @property
    def sentence(self) -> str: ...


C = TypeVar("C", bound=Choice)


@dataclass(frozen=True)
class Mixture(Generic[C]):
    """Fits, and the weight of the scores of each; the config of a run has it."""

    fits: tuple[C, ...]
    weights: tuple[float, ...] = (1.0,)
    accuracy: float | None = None  # of the held-out examples
    held_out: int = 0  # examples
    trials: int = 0  # fits that were tried

    @property
    def widest(self) -> C:
        """The fit that reads the most; the others read the same terms, or none."""
        return max(self.fits, key=lambda fit: (fit.words, fit.characters))

    @property
    def sentence(self) -> str:
        reads = self.widest.reads
        if not self.trials:
            return f"{reads}; {self.fits[0].sentence} (the default)"
        parts = " + ".join(f"{weight:.2g} x ({fit.sentence})" for fit, weight in zip(self.fits, self.weights, strict=True))
        return f"{reads}; scores are {parts} ({self.trials} trials, {self.accuracy:.4f} of {self.held_out:,} held-out examples right)"

    @property
    def settings(self) -> dict[str, Any]:
        """Plain data, for the config."""
        fits: list[Any] = list(self.fits)
        measured = {"accuracy": self.accuracy, "held_out": self.held_out, "trials": self.trials}
        return {"fits": [asdict(fit) for fit in fits], "weights": list(self.weights), **measured}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], kind: type[C]) -> Self:
        return cls(**{**settings, "fits": tuple(kind(**own) for own in settings["fits"]), "weights": tuple(settings["weights"])})


def mix(fits: Sequence[C], scores: Sequence[np.ndarray], gold: np.ndarray) -> Mixture[C]:
    """Of these fits, by the scores that each gives the held-out examples, (N, labels)."""
    weights = mixture_weights(np.stack(scores), gold)
    mixed = np.tensordot(weights, np.stack(scores), 1)
    kept = weights.nonzero()[0].tolist()
    accuracy = float((mixed.argmax(1) == gold).mean())
    return Mixture(tuple(fits[k] for k in kept), tuple(weights[kept].tolist()), accuracy, len(gold))


def mixture_weights(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Of fits with these scores (K, N, labels), with the temperature of each in its weight; 0 for those that are left out."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    temperatures = np.array([temper(own, gold)[1] for own in scores])
    tempered, rows = scores * temperatures[:, None, None], np.arange(len(gold))
    equal, strength = 1 / len(scores), PRIOR / len(gold)

    def loss_and_gradient(weights: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.tensordot(weights, tempered, 1)
        expected = (softmax(mixed, 1) * tempered).sum(2).mean(1)
        loss = (logsumexp(mixed, 1) - mixed[rows, gold]).mean() + strength * ((weights - equal) ** 2).sum()
        return float(loss), expected - tempered[:, rows, gold].mean(1) + 2 * strength * (weights - equal)

    start = np.full(len(scores), equal)
    weights: np.ndarray = minimize(loss_and_gradient, start, jac=True, bounds=[(0, None)] * len(scores), method="L-BFGS-B").x
    weights = weights if weights.any() else start  # of fits that know nothing of the labels, a mixture is still wanted
    kept: np.ndarray = np.where(weights >= MIN_SHARE * weights.sum(), weights, 0.0) * temperatures
    return kept


def temper(scores: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """The lowest negative log-likelihood of the labels, in nats, and the temperature that the scores are multiplied with for it."""
    from scipy.special import logsumexp

    losses = []
    for temperature in TEMPERATURES.tolist() if len(gold) >= MIN_TEMPERED else [1.0]:
        tempered = scores * temperature
        losses.append((float((logsumexp(tempered, 1) - tempered[np.arange(len(gold)), gold]).mean()), temperature))
    return min(losses)

