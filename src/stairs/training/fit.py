"""fit: one way to train, whatever the step. It writes a run folder; `load` gives the trained task back."""

import copy
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stairs import machine, progress
from stairs.errors import BadInput, EnvironmentFault
from stairs.files import verified_manifest
from stairs.progress import format_count, say, track
from stairs.tasks.task import Task
from stairs.text.shards import Shards
from stairs.training import checkpoint, clock, probe, sweeps
from stairs.training.budgets import MAX_EVALUATION_POSITIONS, Budget, StepBudget, TimeBudget
from stairs.training.clock import ClockLog, read_log
from stairs.training.defaults import default_epochs, validated_for
from stairs.training.device import cpu_threads, describe_differences, environment, find_device, is_memory_error
from stairs.training.distributed import Workers, process_group
from stairs.training.gradients import GradientUpdater
from stairs.training.loop import Loop
from stairs.training.options import TrainingOptions
from stairs.training.probe import EVALUATIONS, check_budget, probe_plan, requested_steps
from stairs.training.run import FORMAT, MODEL_FOLDER, Run, versions
from stairs.training.run_lock import RUN_FILE
from stairs.training.signals import catch_signals
from stairs.training.sweeps import SweepLoop, SweepUpdater
from stairs.training.tensorboard import require_tensorboard

MAX_ENCODING_SHARE = 0.85  # share of a budget that may be gone, on encoding, before the first update


def fit(
    task: Task, data: Any, out: str | Path, options: TrainingOptions | None = None, plans_from: str | Path | None = None, refuse_short: bool = True
) -> dict[str, Any]:
    """Train `task` on the train split, choose its weights by the validation split, judge them once on the test split, and keep both in `out`. Returns
    the last measurement. `examples` are the shards of a text, or labelled ones, `LabelledSplits`; `like` is another run whose probed plan and clock
    this one follows, to come to the same bits. A budget in which nothing can be learnt is refused, unless `refuse_short` is False.

    A run that is finished is not trained again; one that was interrupted is taken up where it stands. Under torchrun every worker calls it,
    and all but the first get an empty measurement.
    """
    options = validated_for(task, options or TrainingOptions())
    if task.learns_by == "counting":
        return count_into(task, data, Run(out), options.seed)
    if options.tensorboard:
        require_tensorboard()
    try:
        return train_into(task, data, Run(out), options, Run(plans_from) if plans_from else None, refuse_short)
    except (RuntimeError, MemoryError) as error:
        if not is_memory_error(error):
            raise
        advice = "--size or --vocab-size" if task.learns_by == "sweeping" else "--size or --batch-tokens"
        raise EnvironmentFault(f"the memory is not enough to train this {task.model_name}; choose a smaller {advice}") from error


def run_settings(task: Task, shards: Shards, seed: int) -> dict[str, Any]:
    split_format = {} if shards.split_format is None else {"split_format": shards.split_format}  # a corpus that is split in another way is other data
    data = {"corpus": shards.fingerprint, "tokenizer": task.tokenizer.hash, **split_format}
    return {"format": FORMAT, **task.describe(), "seed": seed, "data": data, "versions": versions()}


def train_into(task: Task, shards: Shards, run: Run, options: TrainingOptions, plans_from: Run | None, refuse_short: bool) -> dict[str, Any]:
    """Training turn by turn, from wherever the run stands."""
    began, cpu_began = clock.now(), time.process_time()
    sweeping = task.learns_by == "sweeping"
    with ExitStack() as stack:
        stack.enter_context(cpu_threads(options.threads))
        workers = stack.enter_context(process_group(find_device("cpu" if sweeping else options.device)))
        if not workers.is_rank_zero:
            progress.bars_enabled = progress.messages_enabled = False
        rows = task.examples(shards, "train")
        options = default_epochs(task, rows, options)
        settings = run_settings(task, shards, options.seed) | {
            "training": options.frozen_fields(),
            "resumable": options.resumable_fields(),
            "environment": environment(options, workers.device, workers.world_size, sweeping),
            "machine": machine.description(),
        }
        allowed = ("data.corpus", "data.split_format") if options.accept_new_corpus else ()
        is_new = workers.on_rank_zero(lambda: lock_run(stack, run, settings, allowed))
        wish = stack.enter_context(catch_signals())
        task.start(options.seed, rows)
        kept = copy.deepcopy(task) if options.shard else task
        teacher = SweepUpdater(task, rows, options, workers) if sweeping else GradientUpdater(task, rows, options, workers)
        loop = (SweepLoop if sweeping else Loop)(task, shards, run, options, teacher, wish)
        loop.cpu_began = cpu_began  # the examples were encoded for it
        by_clock = isinstance(teacher, GradientUpdater) and options.is_timed
        try:
            if refuse_short and is_new and by_clock and plans_from is None:
                check_budget(teacher, options)  # type: ignore[arg-type]
        except BadInput:
            workers.on_rank_zero(run.discard)
            raise
        known = probed_plan(run, teacher, options, partial(task.evaluate_split, shards, "validation"), plans_from)
        ends = {"budget": options.budget_seconds} if by_clock else {"finished": known.get("steps")}
        if workers.broadcast(workers.is_rank_zero and is_finished(run, {**ends, "corpus": shards.fingerprint})):
            say(f"{run.folder} is finished; nothing to do")
            return run.metrics()[-1] if workers.is_rank_zero else {}
        if workers.world_size > 1 and isinstance(teacher, GradientUpdater):
            teacher.rehearse(0)  # arranges the buckets in which gradients travel, so that the first step after a restart is like any other
        loop.resume()
        workers.on_rank_zero(loop.keep_tokenizer)
        pace: Budget
        if by_clock:
            limit = requested_steps(teacher, options)
            if task.evaluates_generation and workers.world_size == 1:
                began += compile_seconds(task, shards)  # which no budget is to pay for
            spent = min(clock.now() - began, MAX_ENCODING_SHARE * options.budget_seconds)
            loop.state.seconds_by_phase.setdefault("encoding", round(spent, 3))
            pace = time_budget(task, shards, run, options, workers, limit, spent)
        else:
            every = options.evaluate_every or loop.steps_per_round or max(known["steps"] // EVALUATIONS, 1)
            # few examples have short epochs, and patience is not to end before anything is learnt
            if task.training_defaults and not options.evaluate_every:
                every = max(every, -(-known["steps"] // EVALUATIONS))
            pace = StepBudget(known["steps"], options, every, MAX_EVALUATION_POSITIONS if not sweeping else sweeps.EVALUATION_TOKENS)
        loop.budget = pace
        if loop.state.step:
            say(f"{run.folder}: going on from {loop.place()}")
        end = loop.train(pace)
        if options.warmup_steps and loop.state.step < options.warmup_steps:
            say(f"the learning rate was still rising after {loop.state.step} updates; train longer, or give a shorter --warmup-steps")
        if not by_clock:
            return loop.finish(end, kept, finished=known["steps"])
        if workers.is_rank_zero:
            run.update_settings(probed_plan={**known, "steps": loop.state.step})
        return loop.finish(end, kept, finished=loop.state.step, budget=options.budget_seconds)


def compile_seconds(task: Task, shards: Any) -> float:
    """Let the inner loops be compiled that judging will call, if they are not yet."""
    started = clock.now()
    task.trained_module.eval()
    task.generate_for_timing(shards, 1)
    task.trained_module.train()
    return clock.now() - started


def time_budget(task: Task, shards: Any, run: Run, options: TrainingOptions, workers: Workers, limit: int | None, spent: float) -> TimeBudget:
    """The pace of a training under --budget. Only the first worker asks it, and only it writes the log."""
    there = torch.get_num_threads()
    chosen = options.threads is None and there > 1 and workers.world_size == 1 and workers.device.type == "cpu"
    log = ClockLog(run.folder if workers.is_rank_zero else None)
    return TimeBudget(
        log, options, steps=limit, threads=(there, 1) if chosen else (there,), positions=task.count_positions(shards),
        positions_at_end=task.count_positions(shards, shards.final_split), generates=task.evaluates_generation, spent=spent,
    )  # fmt: skip


def plan(task: Task, shards: Any, options: TrainingOptions) -> dict[str, Any]:
    """The minutes, memory and disk that `fit` with the same arguments would take, from a few steps that are thrown away."""
    options = validated_for(task, options)
    judge = partial(task.evaluate_split, shards, "validation")
    with cpu_threads(options.threads):
        rows = task.examples(shards, "train")
        options = default_epochs(task, rows, options)
        task.start(options.seed, rows)
        if task.learns_by == "sweeping":
            return sweeps.estimate(SweepUpdater(task, rows, options, Workers(0, 1, find_device("cpu"))), options, judge)
        return probe.estimate(GradientUpdater(task, rows, options, Workers(0, 1, find_device(options.device))), options, judge)


def lock_run(stack: ExitStack, run: Run, settings: dict[str, Any], allowed: tuple[str, ...]) -> bool:
    """Become the one writer, and say what has changed since the last time; whether the run is new."""
    is_new = not (run.folder / RUN_FILE).exists()
    stack.enter_context(run.open_for_writing(settings, allowed))
    changed = describe_differences(run.recorded_settings.get("environment", {}), settings["environment"])
    if changed:
        say(changed)
    before = run.recorded_settings.get("training", {}).get("budget")
    if before != settings["training"]["budget"]:
        extend_run(run)
    run.update_settings(**{name: settings[name] for name in ("data", "training", "resumable", "environment", "machine")})
    return is_new


def extend_run(run: Run) -> None:
    """Back to where the rate began to fall: a run that has more time now goes on from there."""
    log = ClockLog(run.folder)
    place, turn = next(((i, turn) for i, turn in enumerate(log.actions) if turn.kind == "decay"), (None, None))
    if place is None or turn is None:
        return
    checkpoint.drop_checkpoints_after(run.folder, turn.step)
    found = checkpoint.newest_checkpoint(run.folder)
    if found is None:
        raise BadInput(f"{run.folder} has lost the checkpoint from before its decay, so it cannot be made longer; use --init-from {run.folder}")
    run.rewind(turn.step, turn.step)
    log.truncate(place)
    say(f"{run.folder}: made longer, from step {turn.step}, where its rate began to fall")


def probed_plan(run: Run, teacher: SweepUpdater | GradientUpdater, options: TrainingOptions, judge: probe.Evaluate,
    plans_from: Run | None) -> dict[str, Any]:
    """The precision, and the number of steps if it is known before; what a probe once found stays found."""
    workers = teacher.workers
    if workers.is_rank_zero and plans_from is not None and "probed_plan" not in run.recorded_settings:
        copy_clock(run, plans_from)
    given = plans_from.settings.get("probed_plan") if plans_from is not None and workers.is_rank_zero else None
    known = workers.broadcast(run.recorded_settings.get("probed_plan", given) if workers.is_rank_zero else None)
    if known is None:
        known = sweeps.probe_plan(teacher, options, judge) if isinstance(teacher, SweepUpdater) else probe_plan(teacher, options)
    asked = requested_steps(teacher, options)
    grows = isinstance(teacher, SweepUpdater) or not options.accept_new_corpus  # other text has epochs of other lengths
    if not options.is_timed and (options.steps or (asked and grows)):
        known = {**known, "steps": asked}
    teacher.apply_plan(known)
    if workers.is_rank_zero:
        run.update_settings(probed_plan=known)
    return known


def copy_clock(run: Run, plans_from: Run) -> None:
    """Take over the clock of another run, so that this one does the same at the same time."""
    log = ClockLog(run.folder)
    log.actions = read_log(plans_from.folder / clock.CLOCK_LOG)
    if log.actions:
        log.truncate(len(log.actions))


def is_finished(run: Run, wanted: dict[str, Any]) -> bool:
    """With a model of so many steps, or, under a budget, of so many seconds, and of this text."""
    if not run.is_finished:
        return False
    damage = run.damage()
    if damage is not None:
        say(f"{damage}: it is made again")
        return False
    manifest = verified_manifest(run.folder / MODEL_FOLDER)
    return all(manifest.get(name) == value for name, value in wanted.items())


def count_into(task: Task, shards: Shards, run: Run, seed: int) -> dict[str, Any]:
    with run.open_for_writing(run_settings(task, shards, seed)):
        if run.is_finished:
            damage = run.damage()
            if damage is None:
                say(f"{run.folder} is finished; nothing to do")
                return run.metrics()[-1]
            say(f"{damage}: it is trained again")
            run.drop_metrics()
        measured = count(task, shards)
        run.log(**measured)  # first the measurement, then the model: a finished run has both
        run.save_model(task)
    return measured


def count(task: Task, shards: Shards) -> dict[str, Any]:
    """Training by counting: one pass, no gradient, nothing to resume."""
    ids = shards.ids("train")
    if not len(ids):
        raise BadInput(f"the train part of {shards.folder} holds no tokens; give a longer text")
    model: Any = task.model
    started, cpu_started = time.monotonic(), time.process_time()
    with track("counting", total=len(ids), unit="tokens") as advance:
        assumed = model.count(ids, advance=advance)
    if assumed:
        say(f"too little text to estimate the discounts of the {', '.join(f'{n}-grams' for n in assumed)}; 0.5, 1 and 1.5 are assumed")
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
    tokens = shards.info("train")["tokens"]
    sizes = ", ".join(f"{format_count(size)} {order}-grams" for order, size in enumerate(np.asarray(model.sizes), 1))
    say(f"counted {format_count(tokens)} tokens in {seconds:.1f} s ({format_count(tokens / seconds)} tokens/s): {sizes}")
    validation = {task.monitor: task.evaluate_split(shards, "validation")[task.monitor]}
    measured = task.evaluate_split(shards, shards.final_split)
    times = {"seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
    return {"step": 1, "trained_tokens": tokens, **times, "validation": validation, **measured}
