"""Metrics of a number for each text.

    R² = 1 - sum of (gold - predicted)^2 / sum of (gold - mean of gold)^2          RMSE = the root of the mean of (gold - predicted)^2

Correlations say whether the order, or the line, is right, whatever the scale; R², RMSE and MAE say how near the numbers are.
"""

import numpy as np

from stairs.tasks.measurements import RegressionMetrics
from stairs.tasks.metrics import Sums, confidence_interval, intervals_enabled, linear_correlation, rank_correlation, ratio


def regression_metrics(gold: np.ndarray, predicted: np.ndarray) -> RegressionMetrics:
    errors = predicted - gold
    squares = Sums(np.stack([errors**2, np.ones(len(errors))], 1), lambda sums: np.sqrt(sums[:, 0] / sums[:, 1]))
    return {
        "spearman": rank_correlation(gold, predicted),
        "pearson": linear_correlation(gold, predicted),
        "r2": confidence_interval(explained_variance(gold, predicted), intervals_enabled()),
        "rmse": confidence_interval(squares, intervals_enabled()),
        "mae": ratio(np.abs(errors), np.ones(len(errors))),
        "texts": len(gold),
    }


def explained_variance(gold: np.ndarray, predicted: np.ndarray) -> Sums:
    """R² as a statistic of the bootstrap; 0 where all gold numbers are equal."""
    centred = np.asarray(gold, np.float64) - np.mean(gold)  # which loses fewer digits
    return Sums(np.stack([(gold - predicted) ** 2, centred**2, centred, np.ones(len(centred))], 1), r2_of_sums)


def r2_of_sums(sums: np.ndarray) -> np.ndarray:
    residual, squares, total, count = sums.T
    variance = squares - total**2 / count
    return np.where(variance > 1e-12, 1 - residual / np.where(variance > 1e-12, variance, 1.0), 0.0)
