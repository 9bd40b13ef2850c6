"""The learning rate of each update, as a share of its peak: it rises over the warm-up and then falls.

linear         to zero, in a straight line
cosine         to zero, along half a wave
hold           not until the last fifth, then to zero in a straight line: such a run can be made longer from where its decay began
inverse-sqrt   as 1 / sqrt(progress), "Attention Is All You Need" section 5.3
constant       not at all

Under --steps or --epochs progress is counted in updates; under --budget it is the share of the time that is spent. With --warmup-steps the warm-up is
counted in updates under --budget, too, and the number of all updates is estimated from those so far.
"""

import math

DECAY_SHARE = 0.2  # share of a training with schedule `lock_run` in which the rate falls
MIN_WARMUP_UPDATES = 10  # updates of warm-up, at least: the first of them is slow, and would eat the warm-up of a short budget


def lr_factor_by_steps(step: int, steps: int, kind: str, warmup: float, warmup_steps: int | None = None) -> float:
    """Of the update with this number, counted from 0, out of `checkpoint_steps`; the warm-up is a share of them unless it has `warmup_steps`."""
    rising = warmup_steps or max(round(warmup * steps), 1)
    if step < rising:
        return (step + 1) / rising
    if kind == "hold":
        return min(1.0, (1 - step / steps) / DECAY_SHARE)
    return after_warmup(kind, (step - rising + 1) / max(steps - rising + 1, 1), (step + 1) / rising)


def lr_factor_by_time(step: int, progress: float, kind: str, warmup: float, warmup_steps: int | None = None) -> float:
    """Of the update with this number when a share of the time, `progress`, is spent."""
    if warmup_steps:
        return lr_factor_by_steps(step, max(round(step / max(progress, 1e-9)), step + 1), kind, warmup, warmup_steps)
    risen = min(progress / warmup if warmup else 1.0, (step + 1) / MIN_WARMUP_UPDATES)
    if risen < 1:
        return max(risen, 1 / MIN_WARMUP_UPDATES / 10)
    if kind == "hold":
        return min(1.0, max(1 - progress, 0.0) / DECAY_SHARE)
    return after_warmup(kind, (progress - warmup) / max(1 - warmup, 1e-9), progress / max(warmup, 1e-9))


def after_warmup(kind: str, done: float, times: float) -> float:
    """`done` is the share of what follows the warm-up that is done, `seconds_by_phase` how many warm-ups long all of it was so far."""
    done = min(max(done, 0.0), 1.0)
    if kind == "constant":
        return 1.0
    if kind == "inverse-sqrt":
        return 1 / math.sqrt(max(times, 1.0))
    return 1 - done if kind == "linear" else (1 + math.cos(math.pi * done)) / 2
