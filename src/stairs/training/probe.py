"""How long, how much: a few updates for real, before a training is begun or instead of one."""

import math
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from stairs import machine
from stairs.errors import BadInput
from stairs.progress import say
from stairs.tasks.task import POSITIONS_PER_TOKEN
from stairs.training.budgets import EVALUATION_SHARE, FINAL_SHARE, MAX_EVALUATION_POSITIONS
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions
from stairs.training.updater import Updater

PROBE_SHARE = 0.02  # of a budget, at most, for finding out which precision is faster
PROBE_SECONDS = 2.0  # seconds for that where there is no budget
GIVE_UP_RATIO = 2.0  # times the other's time: a precision is given up after one update that takes so long
WORTHWHILE_RATIO = 0.95  # bf16 must take at most this share of fp32's time
MIN_UPDATES = 20  # that a budget must have time for
EVALUATIONS = 12  # in a run of so many steps, unless told otherwise
SAMPLE_POSITIONS = 8192  # positions of validation text on which judging is measured

Evaluate = Callable[[int | None], dict[str, Any]]  # looks at about so many positions of validation text, or at all of it


def probe_plan(updater: GradientUpdater, options: TrainingOptions) -> dict[str, Any]:
    """The precision, and the number of updates if it is known: found once and kept in run.json, so that a run that goes on stays the same run."""
    steps = requested_steps(updater, options)
    found: dict[str, Any] = {"precision": options.precision} if steps is None else {"precision": options.precision, "steps": steps}
    on_cpu = updater.workers.device.type == "cpu"
    if options.precision == "auto":
        native = machine.precisions() if on_cpu else ("bf16", "fp32")
        found["precision"] = faster_precision(updater, native, options) if len(native) > 1 else native[0]
    elif options.precision == "bf16" and on_cpu and not machine.has_bf16():
        say(f"this processor emulates bfloat16: its products are about {machine.bf16_slowdown():.0f} times as slow as those of --precision fp32")
    return found


def faster_precision(updater: GradientUpdater, precisions: tuple[str, ...], options: TrainingOptions) -> str:
    """Of two precisions that are both native. The second is given up after one slow update."""
    limit = PROBE_SHARE * options.budget_seconds if options.is_timed else PROBE_SECONDS
    began = time.monotonic()
    first, second = precisions
    reference = seconds_per_step(updater, first, limit / 2)
    left = limit - (time.monotonic() - began)
    if updater.workers.broadcast(left < 2 * reference):
        return first
    other = seconds_per_step(updater, second, left, GIVE_UP_RATIO * reference)
    bf16, fp32 = (reference, other) if first == "bf16" else (other, reference)
    return "bf16" if bf16 < WORTHWHILE_RATIO * fp32 else "fp32"


def seconds_per_step(updater: GradientUpdater, precision: str, limit: float, give_up: float = math.inf) -> float:
    """Of updates that change nothing, in about `isa_limit` seconds. The first finds its memory and its kernels, and counts only if it is hopeless."""
    before, updater.precision = updater.precision, precision
    times: list[float] = []
    began = time.monotonic()
    # Every worker makes as many as the first one has time for.
    while updater.workers.broadcast(len(times) < 2 or (len(times) < 6 and time.monotonic() - began < limit)):
        started = time.monotonic()
        updater.rehearse(len(times))
        times.append(time.monotonic() - started)
        if updater.workers.broadcast(len(times) == 1 and times[0] > max(give_up, 0.5)):
            break
    updater.precision = before
    return updater.workers.broadcast(statistics.median(times[1:] or times))


def check_budget(updater: GradientUpdater, options: TrainingOptions) -> None:
    """Refuse a budget in which nothing can be learnt, before anything is written."""
    started = time.monotonic()
    updater.rehearse(0)
    update = time.monotonic() - started
    if update * MIN_UPDATES > options.budget_seconds / 2:  # the first takes longer than those behind it
        started = time.monotonic()
        updater.rehearse(1)
        update = min(update, time.monotonic() - started)
    needed = update * MIN_UPDATES / (1 - EVALUATION_SHARE - FINAL_SHARE)
    if updater.workers.broadcast(needed > options.budget_seconds):
        raise BadInput(
            f"--budget {options.budget} is too short to learn anything: an update takes {update:.2f} s here, and {MIN_UPDATES} are the least; "
            f"give --budget {math.ceil(needed * 1.5)}s or more, or a smaller --size"
        )


def requested_steps(updater: Updater, options: TrainingOptions) -> int | None:
    """As many as were asked for; None if only the time was."""
    if options.epochs is not None:
        return max(round(options.epochs * updater.epoch), 1)
    return options.steps


def seconds_per_position(evaluate: Evaluate, updater: Updater) -> dict[str, float]:
    """To judge one position of validation text, and all of it."""
    updater.trained_module.eval()
    evaluate(1)
    began = time.monotonic()
    measured = evaluate(SAMPLE_POSITIONS)
    one = (time.monotonic() - began) / SAMPLE_POSITIONS
    updater.trained_module.train()
    return {"one": one, "all": one * POSITIONS_PER_TOKEN * measured.get("tokens", SAMPLE_POSITIONS)}


def estimate(updater: GradientUpdater, options: TrainingOptions, evaluate: Evaluate) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not made."""
    found = probe_plan(updater, options)
    step = seconds_per_step(updater, found["precision"], PROBE_SECONDS)
    judging = seconds_per_position(evaluate, updater)
    steps = found.get("steps")
    if options.is_timed:
        fits = max(int(options.budget_seconds * (1 - EVALUATION_SHARE - FINAL_SHARE) / step), 1)
        steps = min(fits, steps or fits)
    assert steps is not None
    evaluations = steps // options.evaluate_every if options.evaluate_every else min(EVALUATIONS, steps)
    seconds = steps * step + evaluations * min(MAX_EVALUATION_POSITIONS * judging["one"], judging["all"]) + judging["all"]
    tokens = int(updater.examples.lengths.sum())
    held = sum(weight.nbytes for weight in updater.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if torch.cuda.is_available() and updater.workers.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    return {
        "parameters": sum(weight.numel() for weight in updater.weights),
        "tokens": tokens,
        "steps": steps,
        "epochs": round(steps / updater.epoch, 2),
        "precision": found["precision"],
        "tokens_per_second": round(tokens / updater.epoch / step),
        "minutes": round(min(seconds, options.budget_seconds if options.is_timed else math.inf) / 60, 2),
        "memory_mb": round(peak),
        "disk_mb": round((3 * held * (options.keep + 1) + 2 * held) / 1e6, 1),
    }
