"""fit: one way to train any model. It writes a run folder; `load` returns the trained task."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, cast

import torch
from torch import Tensor

from stairs import machine, progress
from stairs.data import TrainingData
from stairs.errors import BadInput, EnvironmentFault
from stairs.files import verified_manifest
from stairs.machine import cpu_threads, find_device, is_memory_error
from stairs.progress import catch_signals, say
from stairs.tasks.parts.labelled_splits import text_data
from stairs.tasks.task import Task
from stairs.training import clock, probe, sweeps
from stairs.training.checkpoint import TrainingState
from stairs.training.clock import Action
from stairs.training.distributed import process_group
from stairs.training.gradients import GradientUpdater
from stairs.training.loop import Loop
from stairs.training.one_pass import count_into
from stairs.training.options import TrainingOptions, lr_factor_by_steps
from stairs.training.records import describe_differences, run_settings
from stairs.training.run import MODEL_FOLDER, RUN_FILE, Run
from stairs.training.stacking import joined_blocks
from stairs.training.sweeps import SweepUpdater
from stairs.training.tensorboard import require_tensorboard
from stairs.training.time_budget import MAX_EVALUATION_POSITIONS, compile_seconds, copy_clock, extend_run, time_budget
from stairs.training.updater import Budget, Data, Evaluate, ProbedPlan, Updater, Workers

MAX_ENCODING_SHARE = 0.85  # of a budget: time for encoding counts up to this share, so that some is left for updates


def fit(
    task: Task,
    data: TrainingData,
    out: str | Path,
    options: TrainingOptions | None = None,
    plans_from: str | Path | None = None,
    refuse_short: bool = True,
) -> dict[str, object]:
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


def train_into(task: Task, data: TrainingData, run: Run, options: TrainingOptions, plans_from: Run | None, refuse_short: bool) -> dict[str, object]:
    """Train step by step, from wherever the run is."""
    started, sweeping = clock.now(), task.learns_by == "sweeping"
    with ExitStack() as stack:
        stack.enter_context(cpu_threads(options.threads))
        device = find_device("cpu" if sweeping else options.device)
        is_alone = "RANK" not in os.environ or os.environ.get("WORLD_SIZE", "1") == "1"
        workers: Workers = SingleProcess(device) if is_alone else stack.enter_context(process_group(device))
        if not workers.is_rank_zero:
            progress.bars_enabled = progress.messages_enabled = False
        loop = Loop(task, data, run, options, workers, SweepUpdater if sweeping else GradientUpdater)
        updater, options = loop.updater, loop.updater.options
        settings = run_settings(task, data, options.seed) | {
            "training": options.frozen_fields(),
            "resumable": options.resumable_fields(),
            "environment": environment(options, workers, sweeping),
            "machine": machine.description(),
        }
        allowed = ("data.corpus", "data.split_format") if options.accept_new_corpus else ()
        is_new = workers.on_rank_zero(lambda: lock_run(stack, run, settings, allowed))
        stack.enter_context(catch_signals(loop.stop_request))
        is_timed = isinstance(updater, GradientUpdater) and options.is_timed
        if isinstance(updater, GradientUpdater) and is_timed and refuse_short and is_new and plans_from is None:
            try:
                probe.check_budget(updater)
            except BadInput:
                workers.on_rank_zero(run.discard)
                raise
        run_plan = probed_plan(run, updater, partial(task.evaluate_split, data, "validation"), plans_from)
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
            budget = step_budget(task, updater, run_plan["steps"])
        end = loop.train(budget)
        if options.warmup_steps and loop.state.step < options.warmup_steps:
            say(f"the learning rate was still rising after {loop.state.step} updates; train longer, or give a smaller --warmup-steps")
        if not is_timed:
            return loop.finish(end, trained_steps=run_plan["steps"])
        if workers.is_rank_zero:
            run.update_settings(probed_plan={**run_plan, "steps": loop.state.step})
        return loop.finish(end, trained_steps=loop.state.step, budget=options.budget_seconds)


def seconds_per_update(task: Task, data: TrainingData, options: TrainingOptions, limit: float) -> float:
    """By timing a few updates of new weights that change nothing, in about `limit` seconds."""
    updater = GradientUpdater(task, data, options, SingleProcess(find_device(options.device)))
    return probe.seconds_per_step(updater, machine.precisions()[0], limit)


@dataclass(frozen=True)
class SingleProcess:
    """`Workers` of which there is one: nothing to reduce, nobody to tell."""

    device: torch.device
    rank: ClassVar[int] = 0
    world_size: ClassVar[int] = 1
    is_rank_zero: ClassVar[bool] = True

    def all_reduce(self, *numbers: float) -> list[float]:
        return list(numbers)

    def all_reduce_tensor(self, tensor: Tensor) -> Tensor:
        return tensor

    def broadcast(self, data: Data) -> Data:
        return data

    def on_rank_zero(self, work: Callable[[], Data]) -> Data:
        return work()

    def broadcast_tensor(self, target: Tensor, source: Tensor | None) -> None:
        if source is not None:
            target.copy_(source)


class StepBudget:
    """A number of updates that is known in advance."""

    def __init__(self, steps: int, options: TrainingOptions, every: int, positions: int, layers: int = 0) -> None:
        """Evaluate `positions` after `every` updates; `layers` is the number of blocks, for a training that stacks them."""
        self.steps, self.options, self.every, self.positions, self.layers = steps, options, every, positions, layers

    def next(self, state: TrainingState) -> Action:
        is_last = state.step >= self.steps
        if (state.step % self.every == 0 or is_last) and state.evaluated_step < state.step:
            return Action("evaluate", state.step, positions=self.positions)
        if is_last or state.is_impatient(self.options.patience):
            return Action("end", state.step)
        blocks = joined_blocks(state.step / self.steps, self.layers, self.options.stacking)
        return Action("update", state.step, lr_factor=lr_factor_by_steps(state.step, self.steps, self.options), blocks=blocks)

    def amount_done(self, state: TrainingState) -> tuple[float, float, str]:
        return state.step, self.steps, "steps"

    def sync(self) -> None:
        """There is nothing to flush."""


def step_budget(task: Task, updater: Updater, steps: int) -> StepBudget:
    """Labelled examples and sweeps are evaluated after every epoch, but labelled ones not more often than `probe.EVALUATIONS` times: few examples
    have short epochs, and patience should not run out before anything is learnt."""
    options = updater.options
    every = options.evaluate_every or max(steps // probe.EVALUATIONS, 1)
    if not options.evaluate_every and (updater.is_sweeping or task.training_defaults):
        every = updater.steps_per_epoch
        if task.training_defaults:
            every = max(every, -(-steps // probe.EVALUATIONS))
    return StepBudget(steps, options, every, sweeps.EVALUATION_TOKENS if updater.is_sweeping else MAX_EVALUATION_POSITIONS, task.model.block_count)


def environment(options: TrainingOptions, workers: Workers, sweeping: bool) -> dict[str, object]:
    """Everything that bit-exactness depends on, besides the settings and the data."""
    if sweeping:  # by compiled loops of our own; --deterministic makes them independent of the threads
        threads = {} if options.deterministic else {"threads": torch.get_num_threads()}
        return {**threads, "numba": version("numba"), "cpu": torch.backends.cpu.get_cpu_capability(), "workers": workers.world_size}
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "device": workers.device.type,
        "compile": options.compile,
        "workers": workers.world_size,
    }


def lock_run(stack: ExitStack, run: Run, settings: dict[str, object], allowed: tuple[str, ...]) -> bool:
    """Become the run's only writer, and say what has changed since the last time; whether the run is new."""
    is_new = not (run.folder / RUN_FILE).exists()
    stack.enter_context(run.open_for_writing(settings, allowed))
    if not is_new:
        difference = describe_differences(run.recorded_settings.get("environment", {}), cast(Mapping[str, object], settings["environment"]))
        if difference:
            say(difference)
    if run.recorded_settings.get("training", {}).get("budget") != cast(Mapping[str, object], settings["training"])["budget"]:
        extend_run(run)
    run.update_settings(**{name: settings[name] for name in ("data", "training", "resumable", "environment", "machine")})
    return is_new


def probed_plan(run: Run, updater: Updater, evaluate: Evaluate, plans_from: Run | None) -> ProbedPlan:
    """The precision, and the number of steps if it is known in advance; a run is probed once."""
    workers, options = updater.workers, updater.options
    if workers.is_rank_zero and plans_from is not None and "probed_plan" not in run.recorded_settings:
        copy_clock(run, plans_from)
    other_plan = plans_from.settings.get("probed_plan") if plans_from is not None and workers.is_rank_zero else None
    run_plan: ProbedPlan | None = workers.broadcast(run.recorded_settings.get("probed_plan", other_plan) if workers.is_rank_zero else None)
    if run_plan is None:
        assert isinstance(updater, SweepUpdater | GradientUpdater)
        run_plan = sweeps.probe_plan(updater, evaluate) if isinstance(updater, SweepUpdater) else gradient_plan(updater)
    steps = options.requested_steps(updater.steps_per_epoch)
    grows = updater.is_sweeping or not options.accept_new_corpus  # the epochs of another text have another length
    if not options.is_timed and steps and (options.steps or grows):
        run_plan = {**run_plan, "steps": steps}
    updater.apply_plan(run_plan)
    if workers.is_rank_zero:
        run.update_settings(probed_plan=run_plan)
    return run_plan


def gradient_plan(updater: GradientUpdater) -> ProbedPlan:
    """The precision, probed only where the processor has two, and the number of updates if it is known."""
    options = updater.options
    steps, on_cpu = options.requested_steps(updater.steps_per_epoch), updater.workers.device.type == "cpu"
    plan: ProbedPlan = {"precision": options.precision} if steps is None else {"precision": options.precision, "steps": steps}
    if options.precision == "auto":
        native = machine.precisions() if on_cpu else ("bf16", "fp32")
        plan["precision"] = probe.faster_precision(updater, native) if len(native) > 1 else native[0]
    elif options.precision == "bf16" and on_cpu and not machine.has_bf16():
        say(f"this processor emulates bfloat16: its products are about {machine.bf16_slowdown():.0f} times as slow as with --precision fp32")
    return plan


def has_model(run: Run, expected: dict[str, object]) -> bool:
    """Whether the run is finished with a model of so many steps, or of so many seconds, and of this data."""
    if not run.is_finished:
        return False
    damage = run.damage()
    if damage is not None:
        say(f"{damage}: it is trained again")
        return False
    manifest = verified_manifest(run.folder / MODEL_FOLDER)
    return all(manifest.get(name) == value for name, value in expected.items())
