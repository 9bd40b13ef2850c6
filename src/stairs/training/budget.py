"""How long, how much: a few steps for real, from which the rest is known before it is begun."""

import math
import resource
import time
from typing import Any

import torch

from stairs.progress import say
from stairs.training.gradients import Gradients
from stairs.training.loop import EVALUATIONS, JUDGED_AT_ONCE
from stairs.training.options import TrainingOptions

PROBE = 2.0  # seconds of steps that are measured
RESERVE = 0.1  # of the budget, for saving, the last evaluation, and a machine that is not always alone
WORTH = 0.95  # bf16 must take at most this share of fp32's time
JUDGING = 0.5  # seconds of a learning step that judging as many positions takes: one pass forward instead of forward and back


def decided(gradients: Gradients, options: TrainingOptions) -> dict[str, Any]:
    """The number of steps and the precision: found once, kept in run.json, so that a run that is continued stays the same run."""
    found: dict[str, Any] = {"precision": options.precision, "steps": planned_steps(gradients, options)}
    if options.precision == "auto" or found["steps"] is None:
        times = {precision: seconds_per_step(gradients, precision) for precision in candidates(options.precision)}
        found["precision"] = "bf16" if times.get("bf16", math.inf) < WORTH * times.get("fp32", math.inf) else "fp32"
        if options.precision != "auto":
            found["precision"] = options.precision
        found["seconds_per_step"] = {name: round(seconds, 6) for name, seconds in times.items()}
        if found["steps"] is None:
            found["steps"] = steps_within(options.budget_seconds, times[found["precision"]], options)
            say(f"{found['steps']} steps of {times[found['precision']]:.3f} s in {found['precision']} fit into {options.budget_seconds:.0f} s")
    return found


def planned_steps(gradients: Gradients, options: TrainingOptions) -> int | None:
    """As many as were asked for; None if only the time was."""
    if options.epochs is not None:
        return max(round(options.epochs * gradients.order.batches_per_epoch), 1)
    return options.steps


def candidates(precision: str) -> list[str]:
    return ["fp32", "bf16"] if precision == "auto" else [precision]


def seconds_per_step(gradients: Gradients, precision: str) -> float:
    """The middle of a few; the first, which finds its memory and its kernels, does not count."""
    before, gradients.precision = gradients.precision, precision
    gradients.rehearse(0)
    times: list[float] = []
    began = time.monotonic()
    # Every worker makes as many steps as the first one has time for.
    while gradients.workers.share(len(times) < 3 or (time.monotonic() - began < PROBE and len(times) < 20)):
        started = time.monotonic()
        gradients.rehearse(len(times) + 1)
        times.append(time.monotonic() - started)
    gradients.precision = before
    return gradients.workers.share(sorted(times)[len(times) // 2])


def steps_within(budget: float, step: float, options: TrainingOptions) -> int:
    """With the evaluations on the way counted in."""
    judging = step * JUDGING * JUDGED_AT_ONCE / options.batch_tokens
    evaluations = 0.0 if options.evaluate_every is None else judging / options.evaluate_every
    fixed = judging * EVALUATIONS if options.evaluate_every is None else 0.0
    return max(int((budget * (1 - RESERVE) - min(fixed, budget / 2)) / (step + evaluations)), 1)


def estimated(gradients: Gradients, options: TrainingOptions) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not made."""
    found = decided(gradients, options)
    step = found.get("seconds_per_step", {}).get(found["precision"]) or seconds_per_step(gradients, found["precision"])
    tokens = int(gradients.examples.lengths.sum())
    judging = step * JUDGING * JUDGED_AT_ONCE / options.batch_tokens
    evaluations = found["steps"] // options.evaluate_every if options.evaluate_every else min(EVALUATIONS, found["steps"])
    held = sum(weight.nbytes for weight in gradients.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if torch.cuda.is_available() and gradients.workers.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    return {
        "parameters": sum(weight.numel() for weight in gradients.weights),
        "tokens": tokens,
        "steps": found["steps"],
        "epochs": round(found["steps"] / gradients.order.batches_per_epoch, 2),
        "precision": found["precision"],
        "tokens_per_second": round(tokens / gradients.order.batches_per_epoch / step),
        "minutes": round((found["steps"] * step + evaluations * judging) / 60, 2),
        "memory_mb": round(peak),
        "disk_mb": round((3 * held * (options.keep + 1) + 2 * held) / 1e6, 1),
    }
