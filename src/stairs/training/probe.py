"""How fast, how long, how much: measured by a few real updates, before a training or instead of one."""

import math
import statistics
import time
from typing import cast

from stairs.errors import BadInput
from stairs.tasks.task import POSITIONS_PER_TOKEN
from stairs.training.gradients import GradientUpdater
from stairs.training.time_budget import EVALUATION_SHARE, FINAL_SHARE
from stairs.training.updater import Evaluate, Updater

PROBE_SHARE = 0.02  # of a budget, at most, for finding out which precision is faster
PROBE_SECONDS = 2.0  # for that where there is no budget
GIVE_UP_RATIO = 2.0  # a precision is given up after one update that takes this many times the other's time
WORTHWHILE_RATIO = 0.95  # bf16 must take at most this share of fp32's time
MIN_UPDATES = 20  # that must fit into a budget
EVALUATIONS = 12  # in a run of a known number of steps, by default
SAMPLE_POSITIONS = 8192  # of validation data, on which evaluation is timed


def faster_precision(updater: GradientUpdater, precisions: tuple[str, ...]) -> str:
    """The faster of two native precisions. The second is given up after one slow update."""
    options = updater.options
    limit = PROBE_SHARE * options.budget_seconds if options.is_timed else PROBE_SECONDS
    started = time.monotonic()
    first, second = precisions
    reference = seconds_per_step(updater, first, limit / 2)
    remaining = limit - (time.monotonic() - started)
    if updater.workers.broadcast(remaining < 2 * reference):
        return first
    other = seconds_per_step(updater, second, remaining, GIVE_UP_RATIO * reference)
    bf16, fp32 = (reference, other) if first == "bf16" else (other, reference)
    return "bf16" if bf16 < WORTHWHILE_RATIO * fp32 else "fp32"


def seconds_per_step(updater: GradientUpdater, precision: str, limit: float, give_up: float = math.inf) -> float:
    """Of updates that change nothing, in about `limit` seconds. The first allocates memory and loads kernels: it counts only if it takes longer than
    `give_up` seconds."""
    before, updater.precision = updater.precision, precision
    times: list[float] = []
    probe_started = time.monotonic()
    # Every worker makes as many as rank 0 has time for.
    while updater.workers.broadcast(len(times) < 2 or (len(times) < 6 and time.monotonic() - probe_started < limit)):
        started = time.monotonic()
        updater.rehearse(len(times))
        times.append(time.monotonic() - started)
        if updater.workers.broadcast(len(times) == 1 and times[0] > max(give_up, 0.5)):
            break
    updater.precision = before
    return updater.workers.broadcast(statistics.median(times[1:] or times))


def check_budget(updater: GradientUpdater) -> None:
    """Refuse a budget that is too short to learn anything, before anything is written."""
    options = updater.options
    started = time.monotonic()
    updater.rehearse(0)
    update = time.monotonic() - started
    if update * MIN_UPDATES > options.budget_seconds / 2:  # the first takes longer than the others
        started = time.monotonic()
        updater.rehearse(1)
        update = min(update, time.monotonic() - started)
    needed = update * MIN_UPDATES / (1 - EVALUATION_SHARE - FINAL_SHARE)
    if updater.workers.broadcast(needed > options.budget_seconds):
        raise BadInput(
            f"--budget {options.budget} is too short to learn anything: an update takes {update:.2f} s here, and at least {MIN_UPDATES} are needed; "
            f"give --budget {math.ceil(needed * 1.5)}s or more, or a smaller --size"
        )


def seconds_per_position(evaluate: Evaluate, updater: Updater) -> dict[str, float]:
    """Seconds to evaluate one position of validation data, and all of it."""
    updater.trained_module.eval()
    evaluate(1)
    started = time.monotonic()
    measurements = evaluate(SAMPLE_POSITIONS)
    one = (time.monotonic() - started) / SAMPLE_POSITIONS
    updater.trained_module.train()
    return {"one": one, "all": one * POSITIONS_PER_TOKEN * cast(int, measurements.get("tokens", SAMPLE_POSITIONS))}
