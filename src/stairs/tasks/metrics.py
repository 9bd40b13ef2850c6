"""Numbers that say how good an answer is, each with a 95 % confidence interval."""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import NormalDist
from typing import Any

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95
_intervals = True


@contextmanager
def without_intervals() -> Iterator[None]:
    """Only values meanwhile: a look while training is compared with other looks, and drawing intervals may take longer than looking."""
    global _intervals
    before, _intervals = _intervals, False
    try:
        yield
    finally:
        _intervals = before


def one_minus(found: dict[str, float]) -> dict[str, float]:
    """The error that belongs to a score, with its interval if that has one."""
    others = {"value": "value", "low": "high", "high": "low"}
    return {bound: 1 - found[others[bound]] for bound in found}


def ratio(top: np.ndarray, bottom: np.ndarray) -> dict[str, float]:
    """sum(top) / sum(bottom) over examples drawn again and again with replacement: {"value", "low", "high"}."""
    if not _intervals:
        return {"value": float(top.sum() / bottom.sum())}
    times = RESAMPLES if len(top) < 2_000 else RESAMPLES // 5  # many examples need few draws
    draws = np.random.default_rng(0).poisson(1.0, (times, len(top))).astype(np.float32)
    below = draws @ bottom.astype(np.float32)
    drawn = (draws @ top.astype(np.float32))[below > 0] / below[below > 0]
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": float(top.sum() / bottom.sum()), "low": float(low), "high": float(high)}


def share(right: int, of: int) -> dict[str, float]:
    """A share and its Wilson interval, which stays honest near 0 and 1 and for few examples."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    value = right / of
    if not _intervals:
        return {"value": value}
    middle = (value + z * z / (2 * of)) / (1 + z * z / of)
    spread = z / (1 + z * z / of) * math.sqrt(value * (1 - value) / of + z * z / (4 * of * of))
    return {"value": value, "low": min(middle - spread, value), "high": max(middle + spread, value)}


def labels_scored(truth: list[str], guessed: list[str]) -> dict[str, Any]:
    """Accuracy and macro-F1 of one label per text."""
    cells, counts = np.unique([truth, guessed], axis=1, return_counts=True)  # each pair of a true and a guessed label that occurs, and how often
    names, places = np.unique(cells, return_inverse=True)
    t, g = places.reshape(cells.shape)
    right = int(counts[t == g].sum())
    macro = {"value": float(macro_f1(counts[None], t, g, len(names))[0])}
    if _intervals:
        drawn = macro_f1(np.random.default_rng(0).multinomial(len(truth), counts / counts.sum(), RESAMPLES // 5), t, g, len(names))
        macro |= dict(zip(("low", "high"), map(float, np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])), strict=True))
    return {"accuracy": share(right, len(truth)), "macro_f1": macro, "texts": len(truth)}


def macro_f1(counts: np.ndarray, truth: np.ndarray, guessed: np.ndarray, labels: int) -> np.ndarray:
    """The mean F1 of the labels that occur, for each row of `counts` (R, C): how often texts of the label truth[c] were taken for guessed[c]."""
    own, other = np.eye(labels)[truth], np.eye(labels)[guessed]
    twice_right, there = 2 * counts @ (own * other), counts @ (own + other)
    f1 = np.divide(twice_right, there, out=np.zeros(there.shape), where=there > 0)
    return f1.sum(1) / np.maximum((there > 0).sum(1), 1)


def rank_correlation(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Spearman's correlation, 0 where all are alike, with an interval from pairs drawn again and again."""
    from scipy.stats import rankdata

    return correlated(first, second, lambda values: rankdata(values, axis=-1))


def linear_correlation(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Pearson's correlation, likewise."""
    return correlated(first, second, lambda values: values)


def correlated(first: np.ndarray, second: np.ndarray, of: Callable[[np.ndarray], np.ndarray]) -> dict[str, float]:
    def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = (values - values.mean(-1, keepdims=True) for values in (of(a), of(b)))
        below = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
        return np.where(below > 0, (a * b).sum(-1) / np.where(below > 0, below, 1.0), 0.0)

    if not _intervals:
        return {"value": float(correlation(first, second))}
    draws = np.random.default_rng(0).integers(0, len(first), (RESAMPLES, len(first)))
    low, high = np.quantile(correlation(first[draws], second[draws]), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": float(correlation(first, second)), "low": float(low), "high": float(high)}


def tags_scored(truth: list[list[str]], guessed: list[list[str]]) -> dict[str, Any]:
    """The share of words with the right tag, and where tags mark spans (B-X, I-X) the F1 of whole spans, as seqeval counts them."""
    right = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in zip(truth, guessed, strict=True)]
    measured: dict[str, Any] = {"accuracy": ratio(np.array(right), np.array([len(tags) for tags in truth]))}
    if any(re.match(r"[BI]-", tag) for tags in truth for tag in tags):
        from seqeval.metrics.sequence_labeling import get_entities

        found = [(set(get_entities(a)), set(get_entities(b))) for a, b in zip(truth, guessed, strict=True)]
        both, there, said = (np.array([len(part(*pair)) for pair in found]) for part in (set.intersection, lambda a, b: a, lambda a, b: b))
        measured["f1"] = ratio(2 * both, there + said)
        measured["precision"], measured["recall"] = (float(both.sum() / max(of.sum(), 1)) for of in (said, there))
        measured["spans"] = int(there.sum())
    return {**measured, "words": sum(map(len, truth)), "sentences": len(truth)}


def answers_scored(truth: list[list[str]], guessed: list[str]) -> dict[str, Any]:
    """Exact match and F1 of answers, each against the best of the right ones; no right answer means that "" is right. As published with SQuAD
    (Rajpurkar et al. 2016), and for Chinese with CMRC 2018 (Cui et al. 2019)."""
    exact = np.array([max(normal(answer) == normal(guess) for answer in answers or [""]) for answers, guess in zip(truth, guessed, strict=True)])
    f1 = np.array([max(overlap(answer, guess) for answer in answers or [""]) for answers, guess in zip(truth, guessed, strict=True)])
    ones = np.ones(len(truth))
    return {"exact": ratio(exact.astype(np.float64), ones), "f1": ratio(f1, ones), "questions": len(truth)}


HAN = r"[\u3400-\u9fff]"
MARKS = re.compile(f"[{re.escape(string.punctuation)}，。：？！“”‘’；·（）《》、…—～「」『』〈〉]")


def normal(answer: str) -> list[str]:
    """What two answers must share to be the same: words in small letters without marks and articles, Chinese by character."""
    plain = re.sub(r"\b(a|an|the)\b", " ", MARKS.sub("", answer.lower()))
    return re.findall(f"{HAN}|(?:(?!{HAN})\\S)+", plain)


def overlap(answer: str, guess: str) -> float:
    """F1 of the words two answers share; of Chinese ones, of the longest run they share."""
    a, b = normal(answer), normal(guess)
    if not a or not b:
        return float(a == b)
    same = longest_run(a, b) if re.search(HAN, answer) else sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b))


def longest_run(a: list[str], b: list[str]) -> int:
    """Of equal items one after the other."""
    best, before = 0, [0] * (len(b) + 1)
    for item in a:
        now = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if item == other:
                now[j + 1] = before[j] + 1
                best = max(best, now[j + 1])
        before = now
    return best


def translations_scored(truth: Sequence[str], said: Sequence[str]) -> dict[str, Any]:
    """BLEU and chrF as sacrebleu counts them, and the share that is right to the letter. Chinese is cut into characters, other text by rule 13a."""
    from sacrebleu.metrics import BLEU, CHRF

    bleu = BLEU(tokenize="zh" if any(re.search(HAN, sentence) for sentence in truth) else "13a")
    whole = bleu.corpus_score(list(said), [list(truth)])
    each = [bleu.corpus_score([one], [[other]]) for one, other in zip(said, truth, strict=True)]
    counts = np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each], np.float32)
    draws = np.random.default_rng(0).poisson(1.0, (RESAMPLES, len(counts))).astype(np.float32)
    low, high = np.quantile(bleu_of(draws @ counts), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    exact = share(sum(one.strip() == other.strip() for one, other in zip(said, truth, strict=True)), len(truth))
    return {
        "bleu": {"value": whole.score, "low": min(float(low), whole.score), "high": max(float(high), whole.score)},
        "chrf": CHRF().corpus_score(list(said), [list(truth)]).score,
        "exact": exact,
        "sentences": len(truth),
        "signature": str(bleu.get_signature()),
    }


def bleu_of(counts: np.ndarray) -> np.ndarray:
    """Papineni et al. 2002, of sums (N, 10): n-grams in common for n from 1 to 4, all n-grams, and the lengths of what was said and of the truth."""
    common, all_grams, said, truth = counts[:, :4], np.maximum(counts[:, 4:8], 1), np.maximum(counts[:, 8], 1), counts[:, 9]
    with np.errstate(divide="ignore"):
        precision = np.exp(np.log(common / all_grams).mean(1))
    return 100 * precision * np.exp(np.minimum(1 - truth / said, 0))
