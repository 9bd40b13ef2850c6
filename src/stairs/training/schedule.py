"""The learning rate of each update, as a share of its peak: it rises over the warm-up and then falls.

linear         to zero, in a straight line
cosine         to zero, along half a wave
hold           not until the last fifth, then to zero in a straight line: such a run can be made longer from where its decay began
inverse-sqrt   as 1 / sqrt(progress), "Attention Is All You Need" section 5.3
constant       not at all

Under --steps or --epochs progress is counted in updates; under --budget it is the share of the time that is spent.
"""

import math

DECAY = 0.2  # share of a training with schedule `hold` in which the rate falls
LEAST_RISING = 10  # updates of warm-up, at least: the first of them is slow, and would eat the warm-up of a short budget


def rate_by_steps(step: int, steps: int, kind: str, warmup: float) -> float:
    """Of the update with this number, counted from 0, out of `steps`."""
    rising = max(round(warmup * steps), 1)
    if step < rising:
        return (step + 1) / rising
    if kind == "hold":
        return min(1.0, (1 - step / steps) / DECAY)
    return after_warmup(kind, (step - rising + 1) / max(steps - rising + 1, 1), (step + 1) / rising)


def rate_by_clock(step: int, progress: float, kind: str, warmup: float) -> float:
    """Of the update with this number when a share of the time, `progress`, is spent."""
    risen = min(progress / warmup if warmup else 1.0, (step + 1) / LEAST_RISING)
    if risen < 1:
        return max(risen, 1 / LEAST_RISING / 10)
    if kind == "hold":
        return min(1.0, max(1 - progress, 0.0) / DECAY)
    return after_warmup(kind, (progress - warmup) / max(1 - warmup, 1e-9), progress / max(warmup, 1e-9))


def after_warmup(kind: str, done: float, times: float) -> float:
    """`done` is the share of what follows the warm-up that is done, `times` how many warm-ups long all of it was so far."""
    done = min(max(done, 0.0), 1.0)
    if kind == "constant":
        return 1.0
    if kind == "inverse-sqrt":
        return 1 / math.sqrt(max(times, 1.0))
    return 1 - done if kind == "linear" else (1 + math.cos(math.pi * done)) / 2
