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
from stairs.training.budgets import END_SHARE, LOOKS_SHARE, POSITIONS_AT_ONCE
from stairs.training.gradients import Gradients
from stairs.training.options import TrainingOptions
from stairs.training.updater import Teacher

PROBE_SHARE = 0.02  # of a budget, at most, for finding out which precision is faster
PROBE = 2.0  # seconds for that where there is no budget
HOPELESS = 2.0  # times the other's time: a precision is given up after one update that takes so long
WORTH = 0.95  # bf16 must take at most this share of fp32's time
FEWEST_UPDATES = 20  # that a budget must have time for
EVALUATIONS = 12  # in a run of so many steps, unless told otherwise
SAMPLE = 8192  # positions of validation text on which judging is measured

Judge = Callable[[int | None], dict[str, Any]]  # looks at about so many positions of validation text, or at all of it


def probe_plan(gradients: Gradients, options: TrainingOptions) -> dict[str, Any]:
    """The precision, and the number of updates if it is known: found once and kept in run.json, so that a run that goes on stays the same run."""
    steps = planned_steps(gradients, options)
    found: dict[str, Any] = {"precision": options.precision} if steps is None else {"precision": options.precision, "steps": steps}
    on_cpu = gradients.workers.device.type == "cpu"
    if options.precision == "auto":
        native = machine.precisions() if on_cpu else ("bf16", "fp32")
        found["precision"] = faster(gradients, native, options) if len(native) > 1 else native[0]
    elif options.precision == "bf16" and on_cpu and not machine.has_bf16():
        say(f"this processor emulates bfloat16: its products are about {machine.bf16_slowdown():.0f} times as slow as those of --precision fp32")
    return found


def faster(gradients: Gradients, precisions: tuple[str, ...], options: TrainingOptions) -> str:
    """Of two precisions that are both native. The second is given up after one slow update."""
    limit = PROBE_SHARE * options.budget_seconds if options.keeps_time else PROBE
    began = time.monotonic()
    first, second = precisions
    reference = seconds_per_step(gradients, first, limit / 2)
    left = limit - (time.monotonic() - began)
    if gradients.workers.share(left < 2 * reference):
        return first
    other = seconds_per_step(gradients, second, left, HOPELESS * reference)
    bf16, fp32 = (reference, other) if first == "bf16" else (other, reference)
    return "bf16" if bf16 < WORTH * fp32 else "fp32"


def seconds_per_step(gradients: Gradients, precision: str, limit: float, hopeless: float = math.inf) -> float:
    """Of updates that change nothing, in about `limit` seconds. The first finds its memory and its kernels, and counts only if it is hopeless."""
    before, gradients.precision = gradients.precision, precision
    times: list[float] = []
    began = time.monotonic()
    # Every worker makes as many as the first one has time for.
    while gradients.workers.share(len(times) < 2 or (len(times) < 6 and time.monotonic() - began < limit)):
        started = time.monotonic()
        gradients.rehearse(len(times))
        times.append(time.monotonic() - started)
        if gradients.workers.share(len(times) == 1 and times[0] > max(hopeless, 0.5)):
            break
    gradients.precision = before
    return gradients.workers.share(statistics.median(times[1:] or times))


def check_time(gradients: Gradients, options: TrainingOptions) -> None:
    """Refuse a budget in which nothing can be learnt, before anything is written."""
    started = time.monotonic()
    gradients.rehearse(0)
    update = time.monotonic() - started
    if update * FEWEST_UPDATES > options.budget_seconds / 2:  # the first takes longer than those behind it
        started = time.monotonic()
        gradients.rehearse(1)
        update = min(update, time.monotonic() - started)
    needed = update * FEWEST_UPDATES / (1 - LOOKS_SHARE - END_SHARE)
    if gradients.workers.share(needed > options.budget_seconds):
        raise BadInput(
            f"--budget {options.budget} is too short to learn anything: an update takes {update:.2f} s here, and {FEWEST_UPDATES} are the least; "
            f"give --budget {math.ceil(needed * 1.5)}s or more, or a smaller --size"
        )


def planned_steps(teacher: Teacher, options: TrainingOptions) -> int | None:
    """As many as were asked for; None if only the time was."""
    if options.epochs is not None:
        return max(round(options.epochs * teacher.epoch), 1)
    return options.steps


def seconds_per_position(judge: Judge, teacher: Teacher) -> dict[str, float]:
    """To judge one position of validation text, and all of it."""
    teacher.trained_module.eval()
    judge(1)
    began = time.monotonic()
    measured = judge(SAMPLE)
    one = (time.monotonic() - began) / SAMPLE
    teacher.trained_module.train()
    return {"one": one, "all": one * POSITIONS_PER_TOKEN * measured.get("tokens", SAMPLE)}


def estimated(gradients: Gradients, options: TrainingOptions, judge: Judge) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not made."""
    found = probe_plan(gradients, options)
    step = seconds_per_step(gradients, found["precision"], PROBE)
    judging = seconds_per_position(judge, gradients)
    steps = found.get("steps")
    if options.keeps_time:
        fits = max(int(options.budget_seconds * (1 - LOOKS_SHARE - END_SHARE) / step), 1)
        steps = min(fits, steps or fits)
    assert steps is not None
    evaluations = steps // options.evaluate_every if options.evaluate_every else min(EVALUATIONS, steps)
    seconds = steps * step + evaluations * min(POSITIONS_AT_ONCE * judging["one"], judging["all"]) + judging["all"]
    tokens = int(gradients.examples.lengths.sum())
    held = sum(weight.nbytes for weight in gradients.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if torch.cuda.is_available() and gradients.workers.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    return {
        "parameters": sum(weight.numel() for weight in gradients.weights),
        "tokens": tokens,
        "steps": steps,
        "epochs": round(steps / gradients.epoch, 2),
        "precision": found["precision"],
        "tokens_per_second": round(tokens / gradients.epoch / step),
        "minutes": round(min(seconds, options.budget_seconds if options.keeps_time else math.inf) / 60, 2),
        "memory_mb": round(peak),
        "disk_mb": round((3 * held * (options.keep + 1) + 2 * held) / 1e6, 1),
    }
