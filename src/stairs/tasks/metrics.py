"""Numbers that say how good an answer is, each with a 95 % confidence interval."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95


def ratio(top: np.ndarray, bottom: np.ndarray) -> dict[str, float]:
    """sum(top) / sum(bottom) over examples drawn again and again with replacement: {"value", "low", "high"}."""
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
    middle = (value + z * z / (2 * of)) / (1 + z * z / of)
    spread = z / (1 + z * z / of) * math.sqrt(value * (1 - value) / of + z * z / (4 * of * of))
    return {"value": value, "low": min(middle - spread, value), "high": max(middle + spread, value)}


def labels_scored(truth: list[str], guessed: list[str]) -> dict[str, Any]:
    """Accuracy and macro-F1 of one label per text."""
    from sklearn.metrics import f1_score

    right = sum(a == b for a, b in zip(truth, guessed, strict=True))
    names = sorted(set(truth) | set(guessed))
    numbers = {name: i for i, name in enumerate(names)}
    t, g = np.array([numbers[x] for x in truth]), np.array([numbers[x] for x in guessed])
    draws = np.random.default_rng(0).integers(0, len(t), (RESAMPLES // 5, len(t)))
    drawn = [f1_score(t[d], g[d], average="macro", zero_division=0) for d in draws]
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    macro = {"value": float(f1_score(t, g, average="macro", zero_division=0)), "low": float(low), "high": float(high)}
    return {"accuracy": share(right, len(truth)), "macro_f1": macro, "texts": len(truth)}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Spearman's correlation, 0 where all are alike, with an interval from pairs drawn again and again."""
    from scipy.stats import rankdata

    def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = (ranks - ranks.mean(-1, keepdims=True) for ranks in (rankdata(a, axis=-1), rankdata(b, axis=-1)))
        below = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
        return np.where(below > 0, (a * b).sum(-1) / np.where(below > 0, below, 1.0), 0.0)

    draws = np.random.default_rng(0).integers(0, len(first), (RESAMPLES, len(first)))
    low, high = np.quantile(correlation(first[draws], second[draws]), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": float(correlation(first, second)), "low": float(low), "high": float(high)}
