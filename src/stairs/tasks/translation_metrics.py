"""BLEU and chrF as sacrebleu counts them, as sums over sentences, so that the bootstrap need not count again."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from stairs.tasks.bootstrap import Sums, confidence_interval
from stairs.tasks.metrics import intervals_enabled, proportion
from stairs.text.chinese import has_han

BETA, ORDERS = 2.0, 6  # of chrF: how much more recall counts than precision, and how long its n-grams are


def bleu_and_chrf(truth: Sequence[str], said: Sequence[str]) -> dict[str, Any]:
    """BLEU, chrF, and the share that is right to the letter."""
    bleu, chrf = (confidence_interval(Sums(counted(truth, said), formula), intervals_enabled()) for counted, formula in COUNTS_AND_FORMULAS.values())
    exact = proportion(int(exact_matches(truth, said).sum()), len(truth))
    return {"bleu": bleu, "chrf": chrf, "exact_match": exact, "sentences": len(truth), "signature": str(bleu_metric(truth).get_signature())}


def bleu_metric(truth: Sequence[str]) -> Any:
    """sacrebleu's, which cuts Chinese into characters where most of the references are Chinese, other text by rule 13a."""
    from sacrebleu.metrics import BLEU

    chinese = sum(map(has_han, truth))
    metric = BLEU(tokenize="zh" if 2 * chinese > len(truth) else "13a")
    metric.corpus_score(["a"], [["a"]])  # a signature tells of references only after the first score
    return metric


def bleu_counts(truth: Sequence[str], said: Sequence[str]) -> np.ndarray:
    """(N, 10): n-grams in common for n from 1 to 4, all n-grams, and the lengths of what was said and of the truth."""
    metric = bleu_metric(truth)
    each = [metric.corpus_score([one], [[other]]) for one, other in zip(said, truth, strict=True)]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each])


def bleu_from_counts(sums: np.ndarray) -> np.ndarray:
    """Papineni et al. 2002, of sums (R, 10); an order without a match counts as half of the one before, as in sacrebleu (Chen & Cherry 2014)."""
    common, all_grams, said, truth = sums[:, :4], sums[:, 4:8], np.maximum(sums[:, 8], 1), sums[:, 9]
    halves = np.cumsum((common == 0) & (all_grams > 0), 1)
    matched = np.where(common > 0, common, 0.5**halves)
    precision = np.where(all_grams > 0, matched / np.maximum(all_grams, 1), 0.0)
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(precision).mean(1))
    return np.where(common.any(1), 100 * mean * np.exp(np.minimum(1 - truth / said, 0)), 0.0)


def chrf_counts(truth: Sequence[str], said: Sequence[str]) -> np.ndarray:
    """(N, 18): for character n-grams of each order from 1 to 6 those that were said, those of the truth, and those in common."""
    found = []
    for one, other in zip(said, truth, strict=True):
        grams = [[Counter(text[i : i + n] for i in range(len(text) - n + 1)) for n in range(1, ORDERS + 1)] for text in map(remove_spaces, (one,
            other))]
        found.append([number for a, b in zip(*grams, strict=True) for number in (a.total() if b else 0, b.total(), (a & b).total())])
    return np.array(found)


def remove_spaces(text: str) -> str:
    return "".join(text.split())


def chrf_from_counts(sums: np.ndarray) -> np.ndarray:
    """Popovic 2015, of sums (R, 18), over the orders that occur on both sides."""
    said, truth, common = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
    occurs = (said > 0) & (truth > 0)
    orders = np.maximum(occurs.sum(1), 1)
    precision, recall = (np.where(occurs, common / np.maximum(of, 1), 0.0).sum(1) / orders for of in (said, truth))
    below = BETA**2 * precision + recall
    return 100 * np.divide((1 + BETA**2) * precision * recall, below, out=np.zeros(len(sums)), where=below > 0)


def exact_matches(truth: Sequence[str], said: Sequence[str]) -> np.ndarray:
    return np.array([one.strip() == other.strip() for one, other in zip(said, truth, strict=True)])


COUNTS_AND_FORMULAS = {"bleu": (bleu_counts, bleu_from_counts), "chrf": (chrf_counts, chrf_from_counts)}
