"""fit: one way to train, whatever the step. It writes a run folder; `load` gives the trained task back."""

import copy
import dataclasses
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stairs import progress
from stairs.errors import BadInput, EnvironmentFault
from stairs.files import manifest_of
from stairs.progress import say, short, track
from stairs.tasks.task import Task
from stairs.text.shards import Shards
from stairs.training import budget, sweeps
from stairs.training.board import needed
from stairs.training.distributed import Workers, joined
from stairs.training.gradients import Gradients
from stairs.training.leaving import watched
from stairs.training.loop import JUDGED_AT_ONCE, Loop
from stairs.training.machine import differences, environment, find_device, is_memory_error, threads
from stairs.training.options import TrainingOptions
from stairs.training.run import FORMAT, MODEL, Run, versions
from stairs.training.sweeps import Epochs, Sweeps, settled


def fit(
    task: Task, examples: Any, out: str | Path, options: TrainingOptions | None = None, decided: dict[str, Any] | None = None
) -> dict[str, Any]:  # fmt: skip
    """Train `task` on the train split, judge it on the held-out one, and keep both in `out`. Returns the last measurement. `examples` are the shards
    of a text, or labelled ones, `Examples`; `decided` is what a probe found for another run, if this one shall be like it.

    A run that is finished is not trained again; one that was interrupted is taken up where it stands. Under torchrun every worker calls it,
    and all but the first get an empty measurement.
    """
    options = settled_for(task, options or TrainingOptions())
    if task.learns_by == "counting":
        return count_into(task, examples, Run(out), options.seed)
    if options.tensorboard:
        needed()
    try:
        return learn_into(task, examples, Run(out), options, decided)
    except (RuntimeError, MemoryError) as error:
        if not is_memory_error(error):
            raise
        advice = "--size or --vocab-size" if task.learns_by == "sweeping" else "--size or --batch-tokens"
        raise EnvironmentFault(f"the memory is not enough to train this {task.step}; choose a smaller {advice}") from error


def settled_for(task: Task, options: TrainingOptions) -> TrainingOptions:
    """The options as the task and its step understand them."""
    if task.usual is None:
        return settled(task.model, options)
    options.check()
    if options.steps is None and options.epochs is None and options.budget is None:
        options = dataclasses.replace(options, epochs=task.usual["epochs"])
    if options.batch_examples is None:
        options = dataclasses.replace(options, batch_examples=task.usual["batch_examples"])
    return options


def settings_of(task: Task, shards: Shards, seed: int) -> dict[str, Any]:
    data = {"corpus": shards.manifest["corpus"], "tokenizer": task.tokenizer.hash}
    return {"format": FORMAT, **task.describe(), "seed": seed, "data": data, "versions": versions()}


def learn_into(task: Task, shards: Shards, run: Run, options: TrainingOptions, decided: dict[str, Any] | None) -> dict[str, Any]:
    """Training step by step, from wherever the run stands."""
    sweeping = task.learns_by == "sweeping"
    with ExitStack() as stack:
        stack.enter_context(threads(options.threads))
        workers = stack.enter_context(joined(find_device("cpu" if sweeping else options.device)))
        if not workers.leads:
            progress.shown = progress.talkative = False
        rows = task.examples(shards, "train")
        settings = settings_of(task, shards, options.seed) | {
            "training": options.binding(),
            "adjustable": options.adjustable(),
            "environment": environment(options, workers.device, workers.count, sweeping),
        }
        allowed = ("data.corpus",) if options.accept_new_corpus else ()
        workers.first(lambda: hold(stack, run, settings, allowed))
        wish = stack.enter_context(watched())
        task.start(options.seed, rows)
        kept = copy.deepcopy(task) if options.shard else task
        teacher = Sweeps(task, rows, options, workers) if sweeping else Gradients(task, rows, options, workers)
        loop = (Epochs if sweeping else Loop)(task, shards, run, options, teacher, wish)
        steps, loop.judged_at_once, loop.judged_last = agreed(run, teacher, options, partial(task.evaluate_shards, shards, "held_out"), decided)
        if workers.share(workers.leads and finished(run, steps)):
            say(f"{run.folder} is finished; nothing to do")
            return run.metrics()[-1] if workers.leads else {}
        if workers.count > 1 and isinstance(teacher, Gradients):
            teacher.rehearse(0)  # arranges the buckets in which gradients travel, so that the first step after a restart is like any other
        loop.resume()
        workers.first(loop.keep_tokenizer)
        if loop.state.step:
            say(f"{run.folder}: going on from {loop.place(steps)}")
        loop.train(steps)
        return loop.finish(steps, kept)


def plan(task: Task, shards: Any, options: TrainingOptions) -> dict[str, Any]:
    """The minutes, memory and disk that `fit` with the same arguments would take, from a few steps that are thrown away."""
    options = settled_for(task, options)
    judge = partial(task.evaluate_shards, shards, "held_out")
    with threads(options.threads):
        rows = task.examples(shards, "train")
        task.start(options.seed, rows)
        if task.learns_by == "sweeping":
            return sweeps.estimated(Sweeps(task, rows, options, Workers(0, 1, find_device("cpu"))), options, judge)
        return budget.estimated(Gradients(task, rows, options, Workers(0, 1, find_device(options.device))), options, judge)


def hold(stack: ExitStack, run: Run, settings: dict[str, Any], allowed: tuple[str, ...]) -> None:
    """Become the one writer, and say what has changed since the last time."""
    stack.enter_context(run.writing(settings, allowed))
    changed = differences(run.written.get("environment", {}), settings["environment"])
    if changed:
        say(changed)
    run.record(**{name: settings[name] for name in ("data", "training", "adjustable", "environment")})


def agreed(
    run: Run, teacher: Sweeps | Gradients, options: TrainingOptions, judge: budget.Judge, decided: dict[str, Any] | None
) -> tuple[int, int, int | None]:  # fmt: skip
    """The number of steps, and of positions judged on the way and at the end; what a probe once found stays found."""
    workers = teacher.workers
    known = workers.share(run.written.get("decided", decided) if workers.leads else None)
    if known is None:
        known = sweeps.decided(teacher, options, judge) if isinstance(teacher, Sweeps) else budget.decided(teacher, options, judge)
    teacher.agree(known)
    asked = budget.planned_steps(teacher, options)
    if options.steps or (asked and (isinstance(teacher, Sweeps) or not options.accept_new_corpus)):  # other text has epochs of other lengths
        known = {**known, "steps": asked}
    if workers.leads:
        run.record(decided=known)
    return known["steps"], known.get("judged", JUDGED_AT_ONCE), known.get("judged_last")


def finished(run: Run, steps: int) -> bool:
    if not run.finished:
        return False
    damage = run.damage()
    if damage is not None:
        say(f"{damage}: it is made again")
        return False
    return manifest_of(run.folder / MODEL).get("finished") == steps


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
    started = time.monotonic()
    with track("counting", total=len(ids), unit="tokens") as advance:
        assumed = model.learn(ids, advance=advance)
    if assumed:
        say(f"too little text to estimate the discounts of the {', '.join(f'{n}-grams' for n in assumed)}; 0.5, 1 and 1.5 are assumed")
    seconds = time.monotonic() - started
    tokens = shards.info("train")["tokens"]
    sizes = ", ".join(f"{short(size)} {order}-grams" for order, size in enumerate(np.asarray(model.sizes), 1))
    say(f"counted {short(tokens)} tokens in {seconds:.1f} s ({short(tokens / seconds)} tokens/s): {sizes}")
    return {"step": 1, "trained_tokens": tokens, "seconds": round(seconds, 3), **task.evaluate_shards(shards)}
