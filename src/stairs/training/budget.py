"""How long, how much: a few steps for real, from which the rest is known before it is begun."""

import math
import resource
import time
from collections.abc import Callable
from typing import Any

import torch

from stairs.progress import say
from stairs.training.gradients import Gradients
from stairs.training.loop import EVALUATIONS, JUDGED_AT_ONCE
from stairs.training.options import TrainingOptions
from stairs.training.teacher import Teacher

PROBE = 2.0  # seconds of steps that are measured
RESERVE = 0.07  # of the budget, for saving and a machine that is not always alone
WORTH = 0.95  # bf16 must take at most this share of fp32's time
SAMPLE = 8192  # positions of held-out text on which judging is measured
OVERLAP = 2  # positions looked at for each one judged
JUDGING_SHARE = 0.15  # of the budget, at most, for the evaluations on the way
LAST_SHARE = 0.2  # and for the one at the end, which looks at all of the held-out text if there is time for that

Judge = Callable[[int | None], dict[str, Any]]  # looks at about so many positions of held-out text, or at all of it


def decided(gradients: Gradients, options: TrainingOptions, judge: Judge) -> dict[str, Any]:
    """The number of steps, the precision and how much is judged on the way: found once, kept in run.json, so that a run that is continued stays
    the same run."""
    began = time.monotonic()
    found: dict[str, Any] = {"precision": options.precision, "steps": planned_steps(gradients, options), "judged": JUDGED_AT_ONCE}
    if options.precision == "auto" or found["steps"] is None:
        times = {precision: seconds_per_step(gradients, precision) for precision in candidates(options.precision)}
        found["precision"] = "bf16" if times.get("bf16", math.inf) < WORTH * times.get("fp32", math.inf) else "fp32"
        if options.precision != "auto":
            found["precision"] = options.precision
        found["seconds_per_step"] = {name: round(seconds, 6) for name, seconds in times.items()}
        if found["steps"] is None:
            step = times[found["precision"]]
            judging = gradients.workers.share(seconds_per_position(judge, gradients))
            last = judging["all"]
            if gradients.in_part and last > LAST_SHARE * options.budget_seconds:
                last = LAST_SHARE * options.budget_seconds
                found["judged_last"] = max(int(last / judging["one"]), SAMPLE)
                say(f"to judge all of the held-out text would take {judging['all']:.0f} s; at the end a part of it is judged, in {last:.0f} s")
            left = options.budget_seconds * (1 - RESERVE) - (time.monotonic() - began) - last
            found["judged"] = int(min(JUDGED_AT_ONCE, max(left * JUDGING_SHARE / EVALUATIONS / judging["one"], SAMPLE)))
            found["steps"] = gradients.workers.share(steps_within(left, step, judging["one"] * found["judged"], options))
            say(f"{found['steps']} steps of {times[found['precision']]:.3f} s in {found['precision']} fit into {options.budget_seconds:.0f} s")
    return found


def planned_steps(teacher: Teacher, options: TrainingOptions) -> int | None:
    """As many as were asked for; None if only the time was."""
    if options.epochs is not None:
        return max(round(options.epochs * teacher.epoch), 1)
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


def seconds_per_position(judge: Judge, teacher: Teacher) -> dict[str, float]:
    """To judge one position of held-out text, and all of it."""
    teacher.learner.eval()
    judge(1)
    began = time.monotonic()
    measured = judge(SAMPLE)
    one = (time.monotonic() - began) / SAMPLE
    teacher.learner.train()
    return {"one": one, "all": one * OVERLAP * measured.get("tokens", SAMPLE)}


def steps_within(seconds: float, step: float, judging: float, options: TrainingOptions) -> int:
    """With the evaluations on the way counted in."""
    if options.evaluate_every is None:
        return max(int((seconds - judging * EVALUATIONS) / step), 1)
    return max(int(seconds / (step + judging / options.evaluate_every)), 1)


def estimated(gradients: Gradients, options: TrainingOptions, judge: Judge) -> dict[str, Any]:
    """What `stairs plan` prints: minutes, memory and disk of a training that is not made."""
    found = decided(gradients, options, judge)
    step = found.get("seconds_per_step", {}).get(found["precision"]) or seconds_per_step(gradients, found["precision"])
    tokens = int(gradients.examples.lengths.sum())
    judging = seconds_per_position(judge, gradients)
    evaluations = found["steps"] // options.evaluate_every if options.evaluate_every else min(EVALUATIONS, found["steps"])
    last = found["judged_last"] * judging["one"] if "judged_last" in found else judging["all"]
    held = sum(weight.nbytes for weight in gradients.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if torch.cuda.is_available() and gradients.workers.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    return {
        "parameters": sum(weight.numel() for weight in gradients.weights),
        "tokens": tokens,
        "steps": found["steps"],
        "epochs": round(found["steps"] / gradients.epoch, 2),
        "precision": found["precision"],
        "tokens_per_second": round(tokens / gradients.epoch / step),
        "minutes": round((found["steps"] * step + evaluations * found["judged"] * judging["one"] + last) / 60, 2),
        "memory_mb": round(peak),
        "disk_mb": round((3 * held * (options.keep + 1) + 2 * held) / 1e6, 1),
    }
