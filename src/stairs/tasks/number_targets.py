"""What tasks that predict a number from a text share, on top of an encoder and without one. Free of torch."""

from collections.abc import Sequence

import numpy as np

from stairs.errors import BadInput
from stairs.text.examples import ScoredText


def mean_and_deviation(examples: Sequence[ScoredText]) -> tuple[float, float]:
    """Of the numbers to learn; equal ones are refused."""
    values = np.array([example.value for example in examples], np.float64)
    if values.min() == values.max():
        raise BadInput(f"{examples[0].where}: all {len(values)} texts have the number {values[0]:g}; there is nothing to learn")
    with np.errstate(over="ignore"):
        mean, deviation = float(values.mean()), float(values.std())
    if not np.isfinite((mean, deviation)).all() or not deviation:
        raise BadInput(f"{examples[0].where}: the numbers, from {values.min():g} to {values.max():g}, are too far apart; give their logarithms")
    return mean, deviation
