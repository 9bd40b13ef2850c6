"""What a training would take, from a few updates whose result is discarded."""

import math
import resource
from functools import partial
from typing import Any

import torch

from stairs.data import TrainingData
from stairs.machine import cpu_threads, find_device
from stairs.tasks.task import Task
from stairs.training.fit import SingleProcess, gradient_plan
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions
from stairs.training.probe import EVALUATIONS, PROBE_SECONDS, seconds_per_position, seconds_per_step
from stairs.training.sweeps import EVALUATION_TOKENS, SweepUpdater, probe_plan, seconds_per_slice
from stairs.training.time_budget import EVALUATION_SHARE, FINAL_SHARE, MAX_EVALUATION_POSITIONS
from stairs.training.updater import Evaluate, ProbedPlan


def plan(task: Task, data: TrainingData, options: TrainingOptions) -> dict[str, Any]:
    """The minutes, memory and disk that `fit` with the same arguments would take."""
    options = options.for_task(task)
    evaluate = partial(task.evaluate_split, data, "validation")
    with cpu_threads(options.threads):
        if task.learns_by == "sweeping":
            return estimate_sweeps(SweepUpdater(task, data, options, SingleProcess(find_device("cpu"))), evaluate)
        updater = GradientUpdater(task, data, options, SingleProcess(find_device(options.device)))
        return estimate_gradients(updater, gradient_plan(updater), evaluate)


def estimate_gradients(updater: GradientUpdater, plan: ProbedPlan, evaluate: Evaluate) -> dict[str, Any]:
    options = updater.options
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


def estimate_sweeps(updater: SweepUpdater, evaluate: Evaluate) -> dict[str, Any]:
    options = updater.options
    plan = probe_plan(updater, evaluate)
    step_seconds, cost = seconds_per_slice(updater), seconds_per_position(evaluate, updater)
    evaluations = plan["steps"] // (options.evaluate_every or updater.steps_per_epoch)
    evaluation = min(cost["one"] * EVALUATION_TOKENS, cost["all"])
    size = sum(tensor.nbytes for tensor in updater.state_tensors())
    return {
        "parameters": sum(weight.numel() for weight in updater.trained_module.parameters()),
        "tokens": len(updater.ids),
        "steps": plan["steps"],
        "epochs": round(plan["steps"] / updater.steps_per_epoch, 2),
        "words_per_second": round(len(updater.ids) / updater.steps_per_epoch / step_seconds),
        "minutes": round((plan["steps"] * step_seconds + evaluations * evaluation + cost["all"]) / 60, 2),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "disk_mb": round(size * (options.keep + 3) / 1e6, 1),
    }
