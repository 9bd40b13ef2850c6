"""BLEU and chrF as sacrebleu counts them, as sums over sentences, so that the bootstrap need not count again."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stairs.tasks.measurements import TranslationMetrics
from stairs.tasks.metrics import Sums, confidence_interval, intervals_enabled, proportion
from stairs.text.chinese import has_han

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

BETA, ORDERS = 2.0, 6  # of chrF: how much more recall counts than precision, and how long its n-grams are


def bleu_and_chrf(references: Sequence[str], hypotheses: Sequence[str]) -> TranslationMetrics:
    """BLEU, chrF, and the share of exact matches."""
    bleu, chrf = (
        confidence_interval(Sums(count(references, hypotheses), formula), intervals_enabled()) for count, formula in COUNTS_AND_FORMULAS.values()
    )
    exact = proportion(int(exact_matches(references, hypotheses).sum()), len(references))
    signature = str(bleu_metric(references).get_signature())
    return {"bleu": bleu, "chrf": chrf, "exact_match": exact, "sentences": len(references), "signature": signature}


def bleu_metric(references: Sequence[str]) -> "BLEU":
    """sacrebleu's, which cuts Chinese into characters where most of the references are Chinese, other text by rule 13a."""
    from sacrebleu.metrics import BLEU

    chinese = sum(map(has_han, references))
    metric = BLEU(tokenize="zh" if 2 * chinese > len(references) else "13a")
    metric.corpus_score(["a"], [["a"]])  # the signature knows the number of references only after the first score
    return metric


def bleu_counts(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """(N, 10): matching n-grams for n from 1 to 4, all n-grams of the hypothesis, and the lengths of hypothesis and reference."""
    metric = bleu_metric(references)
    scores = [metric.corpus_score([hypothesis], [[reference]]) for hypothesis, reference in zip(hypotheses, references, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])


def bleu_from_counts(sums: np.ndarray) -> np.ndarray:
    """Papineni et al. 2002, of sums (R, 10); an order without a match counts as half of the one before, as in sacrebleu (Chen & Cherry 2014)."""
    matches, total, hypothesis_length, reference_length = sums[:, :4], sums[:, 4:8], np.maximum(sums[:, 8], 1), sums[:, 9]
    halvings = np.cumsum((matches == 0) & (total > 0), 1)
    smoothed = np.where(matches > 0, matches, 0.5**halvings)
    precision = np.where(total > 0, smoothed / np.maximum(total, 1), 0.0)
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(precision).mean(1))
    return np.where(matches.any(1), 100 * mean * np.exp(np.minimum(1 - reference_length / hypothesis_length, 0)), 0.0)


def chrf_counts(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    """(N, 18): for each order from 1 to 6 the character n-grams of the hypothesis, those of the reference, and those in common."""
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        pairs = zip(character_ngrams(hypothesis), character_ngrams(reference), strict=True)
        rows.append([count for a, b in pairs for count in (a.total() if b else 0, b.total(), (a & b).total())])
    return np.array(rows)


def character_ngrams(text: str) -> list[Counter[str]]:
    """Of each order from 1 to 6, without white space."""
    text = "".join(text.split())
    return [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for n in range(1, ORDERS + 1)]


def chrf_from_counts(sums: np.ndarray) -> np.ndarray:
    """Popovic 2015, of sums (R, 18), over the orders that occur on both sides."""
    of_hypotheses, of_references, common = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
    occurs = (of_hypotheses > 0) & (of_references > 0)
    orders = np.maximum(occurs.sum(1), 1)
    precision, recall = (np.where(occurs, common / np.maximum(total, 1), 0.0).sum(1) / orders for total in (of_hypotheses, of_references))
    denominator = BETA**2 * precision + recall
    scores: np.ndarray = 100 * np.divide((1 + BETA**2) * precision * recall, denominator, out=np.zeros(len(sums)), where=denominator > 0)
    return scores


def exact_matches(references: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    return np.array([hypothesis.strip() == reference.strip() for hypothesis, reference in zip(hypotheses, references, strict=True)])


COUNTS_AND_FORMULAS = {"bleu": (bleu_counts, bleu_from_counts), "chrf": (chrf_counts, chrf_from_counts)}
