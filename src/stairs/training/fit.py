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
from stairs.files import manifest_of
from stairs.progress import say, short, track
from stairs.tasks.task import Task
from stairs.text.shards.shards import Shards
from stairs.training import checkpoint, clock, probe, sweeps
from stairs.training.budgets import POSITIONS_AT_ONCE, ByClock, BySteps, Pace
from stairs.training.clock import ClockLog, read_log
from stairs.training.defaults import settled_for, with_epochs
from stairs.training.device import differences, environment, find_device, is_memory_error, threads
from stairs.training.distributed import Workers, joined
from stairs.training.gradients import Gradients
from stairs.training.loop import Loop
from stairs.training.options import TrainingOptions
from stairs.training.probe import EVALUATIONS, check_time, planned_steps, probe_plan
from stairs.training.run import FORMAT, MODEL, Run, versions
from stairs.training.run_lock import RUN
from stairs.training.signals import watched
from stairs.training.sweeps import Epochs, Sweeps
from stairs.training.tensorboard import needed

LATEST_START = 0.85  # share of a budget that may be gone, on encoding, before the first update


def fit(
    task: Task, examples: Any, out: str | Path, options: TrainingOptions | None = None, like: str | Path | None = None, refuse_short: bool = True
) -> dict[str, Any]:
    """Train `task` on the train split, choose its weights by the validation split, judge them once on the test split, and keep both in `out`. Returns
    the last measurement. `examples` are the shards of a text, or labelled ones, `LabelledSplits`; `like` is another run whose probed plan and clock
    this one follows, to come to the same bits. A budget in which nothing can be learnt is refused, unless `refuse_short` is False.

    A run that is finished is not trained again; one that was interrupted is taken up where it stands. Under torchrun every worker calls it,
    and all but the first get an empty measurement.
    """
    options = settled_for(task, options or TrainingOptions())
    if task.learns_by == "counting":
        return count_into(task, examples, Run(out), options.seed)
    if options.tensorboard:
        needed()
    try:
        return learn_into(task, examples, Run(out), options, Run(like) if like else None, refuse_short)
    except (RuntimeError, MemoryError) as error:
        if not is_memory_error(error):
            raise
        advice = "--size or --vocab-size" if task.learns_by == "sweeping" else "--size or --batch-tokens"
        raise EnvironmentFault(f"the memory is not enough to train this {task.model_name}; choose a smaller {advice}") from error


def settings_of(task: Task, shards: Shards, seed: int) -> dict[str, Any]:
    divided = {"shards": shards.manifest["format"]} if "format" in shards.manifest else {}  # a text that is divided in another way is other data
    data = {"corpus": shards.manifest["corpus"], "tokenizer": task.tokenizer.hash, **divided}
    return {"format": FORMAT, **task.describe(), "seed": seed, "data": data, "versions": versions()}


def learn_into(task: Task, shards: Shards, run: Run, options: TrainingOptions, like: Run | None, refuse_short: bool) -> dict[str, Any]:
    """Training turn by turn, from wherever the run stands."""
    began, cpu_began = clock.now(), time.process_time()
    sweeping = task.learns_by == "sweeping"
    with ExitStack() as stack:
        stack.enter_context(threads(options.threads))
        workers = stack.enter_context(joined(find_device("cpu" if sweeping else options.device)))
        if not workers.leads:
            progress.shown = progress.talkative = False
        rows = task.examples(shards, "train")
        options = with_epochs(task, rows, options)
        settings = settings_of(task, shards, options.seed) | {
            "training": options.binding(),
            "adjustable": options.adjustable(),
            "environment": environment(options, workers.device, workers.count, sweeping),
            "machine": machine.description(),
        }
        allowed = ("data.corpus", "data.shards") if options.accept_new_corpus else ()
        is_new = workers.first(lambda: hold(stack, run, settings, allowed))
        wish = stack.enter_context(watched())
        task.start(options.seed, rows)
        kept = copy.deepcopy(task) if options.shard else task
        teacher = Sweeps(task, rows, options, workers) if sweeping else Gradients(task, rows, options, workers)
        loop = (Epochs if sweeping else Loop)(task, shards, run, options, teacher, wish)
        loop.cpu_began = cpu_began  # the examples were encoded for it
        by_clock = isinstance(teacher, Gradients) and options.keeps_time
        try:
            if refuse_short and is_new and by_clock and like is None:
                check_time(teacher, options)  # type: ignore[arg-type]
        except BadInput:
            workers.first(run.discard)
            raise
        known = agree_on_plan(run, teacher, options, partial(task.evaluate_split, shards, "validation"), like)
        ends = {"budget": options.budget_seconds} if by_clock else {"finished": known.get("steps")}
        if workers.share(workers.leads and is_finished(run, {**ends, "corpus": shards.manifest["corpus"]})):
            say(f"{run.folder} is finished; nothing to do")
            return run.metrics()[-1] if workers.leads else {}
        if workers.count > 1 and isinstance(teacher, Gradients):
            teacher.rehearse(0)  # arranges the buckets in which gradients travel, so that the first step after a restart is like any other
        loop.resume()
        workers.first(loop.keep_tokenizer)
        pace: Pace
        if by_clock:
            limit = planned_steps(teacher, options)
            if task.evaluates_generation and workers.count == 1:
                began += seconds_to_compile(task, shards)  # which no budget is to pay for
            spent = min(clock.now() - began, LATEST_START * options.budget_seconds)
            loop.state.times.setdefault("encoding", round(spent, 3))
            pace = clock_of(task, shards, run, options, workers, limit, spent)
        else:
            every = options.evaluate_every or loop.round or max(known["steps"] // EVALUATIONS, 1)
            # few examples have short epochs, and patience is not to end before anything is learnt
            if task.training_defaults and not options.evaluate_every:
                every = max(every, -(-known["steps"] // EVALUATIONS))
            pace = BySteps(known["steps"], options, every, POSITIONS_AT_ONCE if not sweeping else sweeps.JUDGED_AT_ONCE)
        loop.pace = pace
        if loop.state.step:
            say(f"{run.folder}: going on from {loop.place()}")
        end = loop.train(pace)
        if options.warmup_steps and loop.state.step < options.warmup_steps:
            say(f"the learning rate was still rising after {loop.state.step} updates; train longer, or give a shorter --warmup-steps")
        if not by_clock:
            return loop.finish(end, kept, finished=known["steps"])
        if workers.leads:
            run.record(decided={**known, "steps": loop.state.step})
        return loop.finish(end, kept, finished=loop.state.step, budget=options.budget_seconds)


def seconds_to_compile(task: Task, shards: Any) -> float:
    """Let the inner loops be compiled that judging will call, if they are not yet."""
    started = clock.now()
    task.trained_module.eval()
    task.generate_for_timing(shards, 1)
    task.trained_module.train()
    return clock.now() - started


def clock_of(task: Task, shards: Any, run: Run, options: TrainingOptions, workers: Workers, limit: int | None, spent: float) -> ByClock:
    """The pace of a training under --budget. Only the first worker asks it, and only it writes the log."""
    there = torch.get_num_threads()
    chosen = options.threads is None and there > 1 and workers.count == 1 and workers.device.type == "cpu"
    log = ClockLog(run.folder if workers.leads else None)
    return ByClock(
        log, options, steps=limit, threads=(there, 1) if chosen else (there,), positions=task.count_positions(shards),
        positions_at_end=task.count_positions(shards, shards.final_split), generates=task.evaluates_generation, spent=spent,
    )  # fmt: skip


def plan(task: Task, shards: Any, options: TrainingOptions) -> dict[str, Any]:
    """The minutes, memory and disk that `fit` with the same arguments would take, from a few steps that are thrown away."""
    options = settled_for(task, options)
    judge = partial(task.evaluate_split, shards, "validation")
    with threads(options.threads):
        rows = task.examples(shards, "train")
        options = with_epochs(task, rows, options)
        task.start(options.seed, rows)
        if task.learns_by == "sweeping":
            return sweeps.estimated(Sweeps(task, rows, options, Workers(0, 1, find_device("cpu"))), options, judge)
        return probe.estimated(Gradients(task, rows, options, Workers(0, 1, find_device(options.device))), options, judge)


def hold(stack: ExitStack, run: Run, settings: dict[str, Any], allowed: tuple[str, ...]) -> bool:
    """Become the one writer, and say what has changed since the last time; whether the run is new."""
    is_new = not (run.folder / RUN).exists()
    stack.enter_context(run.writing(settings, allowed))
    changed = differences(run.written.get("environment", {}), settings["environment"])
    if changed:
        say(changed)
    before = run.written.get("training", {}).get("budget")
    if before != settings["training"]["budget"]:
        lengthen(run)
    run.record(**{name: settings[name] for name in ("data", "training", "adjustable", "environment", "machine")})
    return is_new


def lengthen(run: Run) -> None:
    """Back to where the rate began to fall: a run that has more time now goes on from there."""
    log = ClockLog(run.folder)
    place, turn = next(((i, turn) for i, turn in enumerate(log.turns) if turn.do == "decay"), (None, None))
    if place is None or turn is None:
        return
    checkpoint.drop_after(run.folder, turn.step)
    found = checkpoint.newest(run.folder)
    if found is None:
        raise BadInput(f"{run.folder} has lost the checkpoint from before its decay, so it cannot be made longer; use --fork {run.folder}")
    run.rewind(turn.step, turn.step)
    log.cut(place)
    say(f"{run.folder}: made longer, from step {turn.step}, where its rate began to fall")


def agree_on_plan(run: Run, teacher: Sweeps | Gradients, options: TrainingOptions, judge: probe.Judge, like: Run | None) -> dict[str, Any]:
    """The precision, and the number of steps if it is known before; what a probe once found stays found."""
    workers = teacher.workers
    if workers.leads and like is not None and "decided" not in run.written:
        follow_clock(run, like)
    given = like.settings.get("decided") if like is not None and workers.leads else None
    known = workers.share(run.written.get("decided", given) if workers.leads else None)
    if known is None:
        known = sweeps.decided(teacher, options, judge) if isinstance(teacher, Sweeps) else probe_plan(teacher, options)
    asked = planned_steps(teacher, options)
    grows = isinstance(teacher, Sweeps) or not options.accept_new_corpus  # other text has epochs of other lengths
    if not options.keeps_time and (options.steps or (asked and grows)):
        known = {**known, "steps": asked}
    teacher.agree(known)
    if workers.leads:
        run.record(decided=known)
    return known


def follow_clock(run: Run, like: Run) -> None:
    """Take over the clock of another run, so that this one does the same at the same time."""
    log = ClockLog(run.folder)
    log.turns = read_log(like.folder / clock.LOG)
    if log.turns:
        log.cut(len(log.turns))


def is_finished(run: Run, wanted: dict[str, Any]) -> bool:
    """With a model of so many steps, or, under a budget, of so many seconds, and of this text."""
    if not run.finished:
        return False
    damage = run.damage()
    if damage is not None:
        say(f"{damage}: it is made again")
        return False
    manifest = manifest_of(run.folder / MODEL)
    return all(manifest.get(name) == value for name, value in wanted.items())


def count_into(task: Task, shards: Shards, run: Run, seed: int) -> dict[str, Any]:
    with run.writing(settings_of(task, shards, seed)):
        if run.finished:
            damage = run.damage()
            if damage is None:
                say(f"{run.folder} is finished; nothing to do")
                return run.metrics()[-1]
            say(f"{damage}: it is trained again")
            run.forget()
        measured = count(task, shards)
        run.log(**measured)  # first the measurement, then the model: a finished run has both
        run.keep(task)
    return measured


def count(task: Task, shards: Shards) -> dict[str, Any]:
    """Training by counting: one pass, no gradient, nothing to resume."""
    ids = shards.ids("train")
    if not len(ids):
        raise BadInput(f"the train part of {shards.folder} holds no tokens; give a longer text")
    model: Any = task.model
    started, cpu_started = time.monotonic(), time.process_time()
    with track("counting", total=len(ids), unit="tokens") as advance:
        assumed = model.learn(ids, advance=advance)
    if assumed:
        say(f"too little text to estimate the discounts of the {', '.join(f'{n}-grams' for n in assumed)}; 0.5, 1 and 1.5 are assumed")
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
    tokens = shards.info("train")["tokens"]
    sizes = ", ".join(f"{short(size)} {order}-grams" for order, size in enumerate(np.asarray(model.sizes), 1))
    say(f"counted {short(tokens)} tokens in {seconds:.1f} s ({short(tokens / seconds)} tokens/s): {sizes}")
    validation = {task.monitor: task.evaluate_split(shards, "validation")[task.monitor]}
    measured = task.evaluate_split(shards, shards.final_split)
    times = {"seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
    return {"step": 1, "trained_tokens": tokens, **times, "validation": validation, **measured}
