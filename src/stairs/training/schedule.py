"""The learning rate of each step: it rises over the warm-up and then falls.

linear         to zero, in a straight line
cosine         to zero, along half a wave
inverse-sqrt   as 1 / sqrt(step), "Attention Is All You Need" section 5.3
constant       not at all
"""

import math


def learning_rate(step: int, steps: int, highest: float, kind: str, warmup: float) -> float:
    """Of the step with this number, counted from 0, out of `steps`."""
    rising = max(round(warmup * steps), 1)
    if step < rising:
        return highest * (step + 1) / rising
    if kind == "constant":
        return highest
    if kind == "inverse-sqrt":
        return highest * math.sqrt(rising / (step + 1))
    done = min((step - rising + 1) / max(steps - rising + 1, 1), 1.0)
    return highest * (1 - done if kind == "linear" else (1 + math.cos(math.pi * done)) / 2)
