"""A step of a climb learns what the labels ask: at once, by gradients through all of it, or as a head on vectors that are computed once."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stairs import machine
from stairs.climb.evaluate import judged
from stairs.climb.experiment import Experiment
from stairs.climb.pretrain import plan_pretraining, trained, untrained
from stairs.models.transfer_options import SUPERVISED_TASKS, TransferOptions
from stairs.progress import say, say_verbose
from stairs.tasks import TASKS
from stairs.tasks.parts.epochs import epochs_for_updates
from stairs.tasks.parts.feature_cache import weights_hash
from stairs.tasks.parts.supervised import LabelledSplits, Supervised
from stairs.training.distributed import Workers, find_device
from stairs.training.gradients import GradientUpdater
from stairs.training.one_pass import fit_once
from stairs.training.options import TrainingOptions
from stairs.training.probe import PROBE_SHARE, seconds_per_step
from stairs.training.run import load

LEAST_UPDATES = 800  # more than others need: an encoder that has read for minutes learns more slowly from labels
FEWEST_STEPS = 150  # updates of all weights: with fewer, the vectors as they are do better
UPDATES_SHARE = 0.8  # of the time is for updates, about
ENCODING_SHARE = 0.6  # of a head's time, at most, for computing the vectors it learns from
PROBED, ENCODED = 320, 32  # examples on which updates, and encoding, are timed
NEW_RATE = 4.0  # an encoder that has read for minutes learns faster than one that has read for days


def at_once(experiment: Experiment, model: str, learn: Callable[[], Any]) -> dict[str, Any]:
    """A classifier that needs no gradients."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    with experiment.record_peak_memory(folder):
        measured = fit_once(folder, experiment.run_settings, learn, lambda task: {})
    return judged(experiment, folder, measured)


def taught(experiment: Experiment, model: str, source: Path, seconds: float, new: bool = True) -> dict[str, Any]:
    """By gradients. The mean of its vectors stands for a text: the vector of one token has to be learnt first, which takes more examples."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    kind: Any = TASKS[SUPERVISED_TASKS[experiment.example_kind]]
    encoder = load(source).model
    examples = LabelledSplits(experiment.train, experiment.dev, weights_hash(encoder))
    settings = {**kind.settings_from(experiment.train), "metric": experiment.metric}
    pooling: dict[str, Any] = {"pooling": "mean"} if experiment.example_kind == "classify" else {}

    def task_with(way: str) -> Supervised:
        fresh = load(source)
        whitened = new and way == "features"  # what has read for days needs no help, and few examples would turn its vectors into noise
        transfer = TransferOptions(transfer=way, whiten=whitened, **pooling)  # type: ignore[arg-type]
        return kind(fresh.model, fresh.tokenizer, transfer, **settings)

    planned = experiment.plans.of(folder.name, lambda: plan_finetuning(model, task_with, examples, seconds, experiment.seed, new))
    examples = LabelledSplits(evenly(experiment.train, planned["examples"]), evenly(experiment.dev, planned["validation"]), examples.encoder)
    with experiment.record_peak_memory(folder):
        measured = trained(experiment, folder, planned, task_with(planned["transfer"]), examples)
    few = {"learnt_from": planned["examples"]} if planned["examples"] < len(experiment.train) else {}
    about = {"transfer": planned["transfer"], "finetuning_updates": measured["step"], "training": [measured], **few}
    return {**about, **judged(experiment, folder, measured)}


def plan_finetuning(model: str, task_with: Callable[[str], Supervised], examples: LabelledSplits, seconds: float, seed: int, new: bool) -> dict[str,
    Any]:
    """All of the encoder, for as many epochs as are worth it or as there is time for; else a head on its vectors."""
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    task = task_with("full")
    if not task.model.default_layers:  # ELMo stays as it is, as in its paper: a mix of its layers learns with the head
        epoch = -(-len(examples.train) // task.training_defaults["batch_examples"])
        updates = updates_within(task, examples, seconds, seed)
        if updates >= FEWEST_STEPS:
            rate: dict[str, Any] = {"learning_rate": task.learning_rate * NEW_RATE} if new and hasattr(task.model, "blocks") else {}
            epochs = epochs_for_updates(epoch, minimum=LEAST_UPDATES)
            counts = {"examples": len(examples.train), "validation": len(examples.validation)}
            return {"transfer": "full", **counts, "training": {**budget, "epochs": epochs, **rate}}
        say_verbose(f"{model}: there is time for {updates} updates of all its weights; a head on its vectors learns instead")
    head = task_with("features")
    share = min(seconds / seconds_to_encode(head, examples), 1.0)
    count, validation = (max(int(share * len(part)), min(ENCODED, len(part))) for part in (examples.train, examples.validation))
    if count < len(examples.train):
        say(f"{model}: there is time to encode {count} of {len(examples.train)} examples; its head learns from those")
    return {"transfer": "features", "examples": count, "validation": validation, "training": {**budget, "epochs": head.training_defaults["epochs"]}}


def finetuning_seconds(experiment: Experiment, model: str, seconds: float) -> float:
    """What teaching a model will take, at most `parse_duration`: by a few updates of all of one that has read nothing, in the size that this time
    allows, or by encoding some examples where only a head and a mix learn."""
    if f"{experiment.example_kind}-{model}" in experiment.plans.known:
        return seconds  # it is decided already
    shards = experiment.shards_for(model)
    fresh = untrained(model, shards.tokenizer, plan_pretraining(model, shards, seconds)["size"])
    kind: Any = TASKS[SUPERVISED_TASKS[experiment.example_kind]]
    examples = LabelledSplits(experiment.train, experiment.dev)
    task = kind(fresh.model, fresh.tokenizer, TransferOptions(transfer="features" if fresh.model.default_layers else "full"),
        **kind.settings_from(experiment.train))
    if fresh.model.default_layers:
        return min(seconds_to_encode(task, examples), seconds)
    epoch = -(-len(experiment.train) // task.training_defaults["batch_examples"])
    possible = updates_within(task, examples, seconds, experiment.seed)
    return seconds * min(1.0, epochs_for_updates(epoch, minimum=LEAST_UPDATES) * epoch / max(possible, 1))


def updates_within(task: Supervised, examples: LabelledSplits, seconds: float, seed: int) -> int:
    """How many updates of all weights there is time for, by a few that change nothing."""
    task.start(seed)
    part = LabelledSplits(evenly(examples.train, PROBED), examples.validation)
    options = TrainingOptions(batch_examples=task.training_defaults["batch_examples"], budget=f"{seconds:.3f}s", seed=seed)
    gradients = GradientUpdater(task, task.examples(part), options, Workers(0, 1, find_device(options.device)))
    return int(seconds * UPDATES_SHARE / seconds_per_step(gradients, machine.precisions()[0], PROBE_SHARE * seconds))


def seconds_to_encode(task: Supervised, examples: LabelledSplits) -> float:
    """What it takes to compute the vectors of all examples, by those of a few, and to learn a head from them."""
    part = evenly(examples.train, ENCODED)
    rows = task.rows(part)
    task.compute_vectors(rows[: ENCODED // 4])  # finds its memory and its kernels
    began = time.monotonic()
    task.compute_vectors(rows)
    each = (time.monotonic() - began) / len(part)
    return each * (len(examples.train) + len(examples.validation)) / ENCODING_SHARE


def evenly(examples: Sequence[Any], count: int) -> Sequence[Any]:
    """So many of them, spread over all."""
    if count >= len(examples):
        return examples
    return [examples[i] for i in np.unique(np.linspace(0, len(examples) - 1, count).astype(np.int64))]
