"""How fast, how long, how much: measured by a few real updates, before a training or instead of one."""

import math
import resource
import statistics
import time
from typing import Any

import torch

from stairs.errors import BadInput
from stairs.tasks.task import POSITIONS_PER_TOKEN
from stairs.training.budgets import EVALUATION_SHARE, FINAL_SHARE, MAX_EVALUATION_POSITIONS
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions
from stairs.training.updater import Evaluate, ProbedPlan, Updater

PROBE_SHARE = 0.02  # of a budget, at most, for finding out which precision is faster
PROBE_SECONDS = 2.0  # for that where there is no budget
GIVE_UP_RATIO = 2.0  # a precision is given up after one update that takes this many times the other's time
WORTHWHILE_RATIO = 0.95  # bf16 must take at most this share of fp32's time
MIN_UPDATES = 20  # that must fit into a budget
EVALUATIONS = 12  # in a run of a known number of steps, by default
SAMPLE_POSITIONS = 8192  # of validation data, on which evaluation is timed


def faster_precision(updater: GradientUpdater, precisions: tuple[str, ...], options: TrainingOptions) -> str:
    """The faster of two native precisions. The second is given up after one slow update."""
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


def check_budget(updater: GradientUpdater, options: TrainingOptions) -> None:
    """Refuse a budget that is too short to learn anything, before anything is written."""
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
    return {"one": one, "all": one * POSITIONS_PER_TOKEN * measurements.get("tokens", SAMPLE_POSITIONS)}


def estimate(updater: GradientUpdater, options: TrainingOptions, plan: ProbedPlan, evaluate: Evaluate) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not run."""
    step_seconds = seconds_per_step(updater, plan["precision"], PROBE_SECONDS)
    cost = seconds_per_position(evaluate, updater)
    steps = plan.get("steps")
    if options.is_timed:
        affordable = max(int(options.budget_seconds * (1 - EVALUATION_SHARE - FINAL_SHARE) / step_seconds), 1)
        steps = min(affordable, steps or affordable)
    assert steps is not None
    evaluations = steps // options.evaluate_every if options.evaluate_every else min(EVALUATIONS, steps)
    seconds = steps * step_seconds + evaluations * min(MAX_EVALUATION_POSITIONS * cost["one"], cost["all"]) + cost["all"]
    tokens = int(updater.examples.lengths.sum())
    size = sum(weight.nbytes for weight in updater.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if torch.cuda.is_available() and updater.workers.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    return {
        "parameters": sum(weight.numel() for weight in updater.weights),
        "tokens": tokens,
        "steps": steps,
        "epochs": round(steps / updater.steps_per_epoch, 2),
        "precision": plan["precision"],
        "tokens_per_second": round(tokens / updater.steps_per_epoch / step_seconds),
        "minutes": round(min(seconds, options.budget_seconds if options.is_timed else math.inf) / 60, 2),
        "memory_mb": round(peak),
        "disk_mb": round((3 * size * (options.keep + 1) + 2 * size) / 1e6, 1),
    }
