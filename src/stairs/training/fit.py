"""fit: one way to train any model. It writes a run folder; `load` returns the trained task."""

import copy
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch

from stairs import machine, progress
from stairs.data import TrainingData
from stairs.errors import BadInput, EnvironmentFault
from stairs.files import verified_manifest
from stairs.machine import cpu_threads, find_device, is_memory_error
from stairs.progress import say
from stairs.tasks.task import Task, text_data
from stairs.training import clock, probe, sweeps
from stairs.training.budgets import MAX_EVALUATION_POSITIONS, Budget, StepBudget, TimeBudget
from stairs.training.checkpoint import drop_checkpoints_after, newest_checkpoint
from stairs.training.clock import ClockLog, read_log
from stairs.training.distributed import Workers, describe_differences, environment, process_group
from stairs.training.gradients import GradientUpdater
from stairs.training.loop import Loop, catch_signals
from stairs.training.one_pass import count_into
from stairs.training.options import TrainingOptions
from stairs.training.records import run_settings
from stairs.training.reporting import require_tensorboard
from stairs.training.run import MODEL_FOLDER, RUN_FILE, Run
from stairs.training.sweeps import SweepUpdater
from stairs.training.updater import Evaluate, ProbedPlan

MAX_ENCODING_SHARE = 0.85  # of a budget: time for encoding counts up to this share, so that some is left for updates


def fit(
    task: Task,
    data: TrainingData,
    out: str | Path,
    options: TrainingOptions | None = None,
    plans_from: str | Path | None = None,
    refuse_short: bool = True,
) -> dict[str, Any]:
    """Train `task` on the train split, choose its weights by the validation split, evaluate them once on the test split, and write the run `out`.
    Returns the last measurement. `data` are the shards of a corpus or labelled splits; `plans_from` is another run whose probed plan and clock this
    one follows, to get the same bits. A budget that is too short to learn anything is refused, unless `refuse_short` is False.

    A finished run is not trained again; an interrupted one is resumed. Under torchrun every worker calls it, and all but rank 0 get an empty
    measurement.
    """
    options = (options or TrainingOptions()).for_task(task)
    if task.learns_by == "counting":
        return count_into(task, text_data(data), Run(out), options.seed)
    if options.tensorboard:
        require_tensorboard()
    try:
        return train_into(task, data, Run(out), options, Run(plans_from) if plans_from else None, refuse_short)
    except (RuntimeError, MemoryError) as error:
        if not is_memory_error(error):
            raise
        advice = "--size or --vocab-size" if task.learns_by == "sweeping" else "--size or --batch-tokens"
        raise EnvironmentFault(f"not enough memory to train this {task.model_name}; choose a smaller {advice}") from error


def plan(task: Task, data: TrainingData, options: TrainingOptions) -> dict[str, Any]:
    """The minutes, memory and disk that `fit` with the same arguments would take, from a few steps whose result is discarded."""
    options = options.for_task(task)
    evaluate = partial(task.evaluate_split, data, "validation")
    with cpu_threads(options.threads):
        examples = task.examples(data, "train")
        options = options.with_default_epochs(task, examples)
        task.start(options.seed, examples)
        if task.learns_by == "sweeping":
            return sweeps.estimate(SweepUpdater(task, examples, options, Workers(0, 1, find_device("cpu"))), options, evaluate)
        updater = GradientUpdater(task, examples, options, Workers(0, 1, find_device(options.device)))
        return probe.estimate(updater, options, gradient_plan(updater, options), evaluate)


def train_into(task: Task, data: TrainingData, run: Run, options: TrainingOptions, plans_from: Run | None, refuse_short: bool) -> dict[str, Any]:
    """Train step by step, from wherever the run is."""
    started, cpu_started = clock.now(), time.process_time()
    sweeping = task.learns_by == "sweeping"
    with ExitStack() as stack:
        stack.enter_context(cpu_threads(options.threads))
        workers = stack.enter_context(process_group(find_device("cpu" if sweeping else options.device)))
        if not workers.is_rank_zero:
            progress.bars_enabled = progress.messages_enabled = False
        examples = task.examples(data, "train")
        options = options.with_default_epochs(task, examples)
        settings = run_settings(task, data, options.seed) | {
            "training": options.frozen_fields(),
            "resumable": options.resumable_fields(),
            "environment": environment(options, workers.device, workers.world_size, sweeping),
            "machine": machine.description(),
        }
        allowed = ("data.corpus", "data.split_format") if options.accept_new_corpus else ()
        is_new = workers.on_rank_zero(lambda: lock_run(stack, run, settings, allowed))
        stop_request = stack.enter_context(catch_signals())
        task.start(options.seed, examples)
        unsharded_task = copy.deepcopy(task) if options.shard else task  # what FSDP shards cannot be saved as a model
        updater = SweepUpdater(task, examples, options, workers) if sweeping else GradientUpdater(task, examples, options, workers)
        loop = Loop(task, data, run, options, updater, stop_request, cpu_started)  # the examples were encoded for it
        is_timed = isinstance(updater, GradientUpdater) and options.is_timed
        if isinstance(updater, GradientUpdater) and is_timed and refuse_short and is_new and plans_from is None:
            try:
                probe.check_budget(updater, options)
            except BadInput:
                workers.on_rank_zero(run.discard)
                raise
        run_plan = probed_plan(run, updater, options, partial(task.evaluate_split, data, "validation"), plans_from)
        goal = {"budget": options.budget_seconds} if is_timed else {"trained_steps": run_plan.get("steps")}
        if workers.broadcast(workers.is_rank_zero and has_model(run, {**goal, "corpus": data.fingerprint})):
            say(f"{run.folder} is finished; nothing to do")
            return run.metrics()[-1] if workers.is_rank_zero else {}
        if workers.world_size > 1 and isinstance(updater, GradientUpdater):
            updater.rehearse(0)  # DDP arranges its buckets, so that the first step after a restart is like any other
        loop.resume()
        workers.on_rank_zero(loop.checkpoints.save_tokenizer)
        if is_timed:
            if task.evaluates_generation and workers.world_size == 1:
                started += compile_seconds(task, data)  # which no budget should pay for
            spent = min(clock.now() - started, MAX_ENCODING_SHARE * options.budget_seconds)
            loop.state.seconds_by_phase.setdefault("encoding", round(spent, 3))
            budget: Budget = time_budget(task, data, run, options, workers, options.requested_steps(updater.steps_per_epoch), spent)
        else:
            budget = step_budget(task, options, updater, run_plan["steps"])
        end = loop.train(budget)
        if options.warmup_steps and loop.state.step < options.warmup_steps:
            say(f"the learning rate was still rising after {loop.state.step} updates; train longer, or give a smaller --warmup-steps")
        if not is_timed:
            return loop.finish(end, unsharded_task, trained_steps=run_plan["steps"])
        if workers.is_rank_zero:
            run.update_settings(probed_plan={**run_plan, "steps": loop.state.step})
        return loop.finish(end, unsharded_task, trained_steps=loop.state.step, budget=options.budget_seconds)


def step_budget(task: Task, options: TrainingOptions, updater: SweepUpdater | GradientUpdater, steps: int) -> StepBudget:
    """Labelled examples and sweeps are evaluated after every epoch, but labelled ones not more often than `probe.EVALUATIONS` times: few examples
    have short epochs, and patience should not run out before anything is learnt."""
    every = options.evaluate_every or max(steps // probe.EVALUATIONS, 1)
    if not options.evaluate_every and (updater.is_sweeping or task.training_defaults):
        every = updater.steps_per_epoch
        if task.training_defaults:
            every = max(every, -(-steps // probe.EVALUATIONS))
    return StepBudget(steps, options, every, sweeps.EVALUATION_TOKENS if updater.is_sweeping else MAX_EVALUATION_POSITIONS)


def time_budget(task: Task, data: TrainingData, run: Run, options: TrainingOptions, workers: Workers, limit: int | None, spent: float) -> TimeBudget:
    """Only rank 0 asks it, and only rank 0 writes its log."""
    threads = torch.get_num_threads()
    may_choose = options.threads is None and threads > 1 and workers.world_size == 1 and workers.device.type == "cpu"
    return TimeBudget(
        ClockLog(run.folder if workers.is_rank_zero else None), options, steps=limit, threads=(threads, 1) if may_choose else (threads,),
        positions=task.count_positions(data), final_positions=task.count_positions(data, data.final_split),
        generates=task.evaluates_generation, spent=spent,
    )  # fmt: skip


def compile_seconds(task: Task, data: TrainingData) -> float:
    """Compile the kernels that the evaluation will call, if they are not compiled yet: how long that takes."""
    started = clock.now()
    task.trained_module.eval()
    task.generate_for_timing(data, 1)
    task.trained_module.train()
    return clock.now() - started


def lock_run(stack: ExitStack, run: Run, settings: dict[str, Any], allowed: tuple[str, ...]) -> bool:
    """Become the run's only writer, and say what has changed since the last time; whether the run is new."""
    is_new = not (run.folder / RUN_FILE).exists()
    stack.enter_context(run.open_for_writing(settings, allowed))
    difference = describe_differences(run.recorded_settings.get("environment", {}), settings["environment"])
    if difference:
        say(difference)
    if run.recorded_settings.get("training", {}).get("budget") != settings["training"]["budget"]:
        extend_run(run)
    run.update_settings(**{name: settings[name] for name in ("data", "training", "resumable", "environment", "machine")})
    return is_new


def extend_run(run: Run) -> None:
    """Go back to where the learning rate began to fall: a run with a longer budget resumes there."""
    log = ClockLog(run.folder)
    index, action = next(((i, action) for i, action in enumerate(log.actions) if action.kind == "decay"), (None, None))
    if index is None or action is None:
        return
    drop_checkpoints_after(run.folder, action.step)
    if newest_checkpoint(run.folder) is None:
        raise BadInput(f"{run.folder} has lost the checkpoint from before its decay, so it cannot be extended; use --init-from {run.folder}")
    run.rewind(action.step, action.step)
    log.truncate(index)
    say(f"{run.folder}: extended from step {action.step}, where its learning rate began to fall")


def probed_plan(
    run: Run, updater: SweepUpdater | GradientUpdater, options: TrainingOptions, evaluate: Evaluate, plans_from: Run | None
) -> ProbedPlan:
    """The precision, and the number of steps if it is known in advance; a run is probed once."""
    workers = updater.workers
    if workers.is_rank_zero and plans_from is not None and "probed_plan" not in run.recorded_settings:
        copy_clock(run, plans_from)
    other_plan = plans_from.settings.get("probed_plan") if plans_from is not None and workers.is_rank_zero else None
    run_plan: ProbedPlan | None = workers.broadcast(run.recorded_settings.get("probed_plan", other_plan) if workers.is_rank_zero else None)
    if run_plan is None:
        run_plan = sweeps.probe_plan(updater, options, evaluate) if isinstance(updater, SweepUpdater) else gradient_plan(updater, options)
    steps = options.requested_steps(updater.steps_per_epoch)
    grows = updater.is_sweeping or not options.accept_new_corpus  # the epochs of another text have another length
    if not options.is_timed and steps and (options.steps or grows):
        run_plan = {**run_plan, "steps": steps}
    updater.apply_plan(run_plan)
    if workers.is_rank_zero:
        run.update_settings(probed_plan=run_plan)
    return run_plan


def gradient_plan(updater: GradientUpdater, options: TrainingOptions) -> ProbedPlan:
    """The precision, probed only where the processor has two, and the number of updates if it is known."""
    steps, on_cpu = options.requested_steps(updater.steps_per_epoch), updater.workers.device.type == "cpu"
    plan: ProbedPlan = {"precision": options.precision} if steps is None else {"precision": options.precision, "steps": steps}
    if options.precision == "auto":
        native = machine.precisions() if on_cpu else ("bf16", "fp32")
        plan["precision"] = probe.faster_precision(updater, native, options) if len(native) > 1 else native[0]
    elif options.precision == "bf16" and on_cpu and not machine.has_bf16():
        say(f"this processor emulates bfloat16: its products are about {machine.bf16_slowdown():.0f} times as slow as with --precision fp32")
    return plan


def copy_clock(run: Run, plans_from: Run) -> None:
    """Take over the clock of another run, so that this one does the same at the same time."""
    log = ClockLog(run.folder)
    log.actions = read_log(plans_from.folder / clock.CLOCK_LOG)
    if log.actions:
        log.truncate(len(log.actions))


def has_model(run: Run, expected: dict[str, Any]) -> bool:
    """Whether the run is finished with a model of so many steps, or of so many seconds, and of this data."""
    if not run.is_finished:
        return False
    damage = run.damage()
    if damage is not None:
        say(f"{damage}: it is trained again")
        return False
    manifest = verified_manifest(run.folder / MODEL_FOLDER)
    return all(manifest.get(name) == value for name, value in expected.items())
