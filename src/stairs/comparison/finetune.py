"""Learning from labels in a climb: in one pass, by fine-tuning the whole encoder, or as a head on features that are computed once."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from stairs import machine
from stairs.comparison.evaluate import evaluate_run
from stairs.comparison.experiment import Experiment, Plan
from stairs.comparison.pretrain import plan_pretraining, train_run, untrained_task
from stairs.comparison.schema import Row
from stairs.machine import find_device
from stairs.models.transfer_options import TransferOptions
from stairs.progress import say, say_verbose
from stairs.tasks import SUPERVISED_TASKS, TASKS, Task
from stairs.tasks.parts.feature_cache import weights_hash
from stairs.tasks.parts.fine_tuning import epochs_for_updates
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.training.distributed import Workers
from stairs.training.gradients import GradientUpdater
from stairs.training.one_pass import fit_once
from stairs.training.options import TrainingOptions
from stairs.training.probe import PROBE_SHARE, seconds_per_step
from stairs.training.run import load

WORTHWHILE_UPDATES = 800  # more than others need: an encoder with minutes of pretraining learns more slowly from labels
MIN_FULL_UPDATES = 150  # of all weights: with fewer, the features as they are do better
UPDATE_SHARE = 0.8  # of the time is for updates, about
ENCODING_SHARE = 0.6  # of a head's time, at most, for computing the features it learns from
PROBED_EXAMPLES, ENCODED_EXAMPLES = 320, 32  # on which updates, and encoding, are timed
NEW_ENCODER_LR_SCALE = 4.0  # an encoder with minutes of pretraining takes a higher learning rate than one with days
Item = TypeVar("Item")


def fit_classifier(experiment: Experiment, model: str, train: Callable[[], Task]) -> Row:
    """A classifier that needs one pass and no gradients."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    with experiment.record_peak_memory(folder):
        last_line = fit_once(folder, experiment.run_settings, train, lambda task: {})
    return evaluate_run(experiment, folder, last_line)


def finetune(experiment: Experiment, model: str, source: Path, seconds: float, is_new: bool = True) -> Row:
    """By gradients. A text is the mean of its vectors: pooling by one token has to be learnt first, which takes more examples. `is_new` says that
    the encoder was pretrained in this climb, and not elsewhere for days."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    kind = supervised_task(experiment.example_kind)
    data = LabelledSplits(experiment.train, experiment.dev, weights_hash(load(source).model))
    settings = {**kind.settings_from(experiment.train), "metric": experiment.metric}
    pooling: dict[str, Any] = {"pooling": "mean"} if experiment.example_kind == "classify" else {}

    def task_with(mode: str) -> Supervised:
        fresh = load(source)
        whiten = is_new and mode == "features"  # long pretraining needs no help, and few examples would turn its features into noise
        transfer = TransferOptions(transfer=mode, whiten=whiten, **pooling)  # type: ignore[arg-type]
        return cast(Supervised, kind(fresh.model, fresh.tokenizer, transfer, **settings))

    plan = experiment.plans.of(folder.name, lambda: plan_finetuning(model, task_with, data, seconds, experiment.seed, is_new))
    data = LabelledSplits(evenly_spaced(experiment.train, plan["examples"]), evenly_spaced(experiment.dev, plan["validation"]), data.encoder)
    with experiment.record_peak_memory(folder):
        last_line = train_run(experiment, folder, plan, task_with(plan["transfer"]), data)
    row: Row = {"transfer": plan["transfer"], "finetuning_updates": last_line["step"], "training": [last_line]}
    if plan["examples"] < len(experiment.train):
        row["training_examples"] = plan["examples"]
    return {**row, **evaluate_run(experiment, folder, last_line)}


def supervised_task(example_kind: str) -> Any:
    """The class of the task, which makes its settings from examples."""
    return TASKS[SUPERVISED_TASKS[example_kind]]


def plan_finetuning(model: str, task_with: Callable[[str], Supervised], data: LabelledSplits, seconds: float, seed: int, is_new: bool) -> Plan:
    """The whole encoder, for as many epochs as are worthwhile or as there is time for; otherwise a head on its features."""
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    task = task_with("full")
    if not task.model.default_layers:  # ELMo is frozen, as in its paper: a mix of its layers learns with the head
        epoch = -(-len(data.train) // task.training_defaults["batch_examples"])
        updates = updates_within(task, data, seconds, seed)
        if updates >= MIN_FULL_UPDATES:
            rate: dict[str, Any] = {"learning_rate": task.learning_rate * NEW_ENCODER_LR_SCALE} if is_new and task.model.is_transformer else {}
            epochs = epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES)
            counts = {"examples": len(data.train), "validation": len(data.validation)}
            return {"transfer": "full", **counts, "training": {**budget, "epochs": epochs, **rate}}
        say_verbose(f"{model}: there is time for {updates} updates of all its weights; a head on its features is trained instead")
    head = task_with("features")
    share = min(seconds / seconds_to_encode(head, data), 1.0)
    count, validation = (max(int(share * len(part)), min(ENCODED_EXAMPLES, len(part))) for part in (data.train, data.validation))
    if count < len(data.train):
        say(f"{model}: there is time to encode {count} of {len(data.train)} examples; its head is trained on those")
    return {"transfer": "features", "examples": count, "validation": validation, "training": {**budget, "epochs": head.training_defaults["epochs"]}}


def finetuning_seconds(experiment: Experiment, model: str, seconds: float) -> float:
    """What fine-tuning a model will take, at most `seconds`: by timing a few updates of an untrained one of the size that this time allows, or by
    encoding some examples where only a head and a mix of layers learn."""
    if f"{experiment.example_kind}-{model}" in experiment.plans.known:
        return seconds  # it is decided already
    shards = experiment.shards_for(model)
    fresh = untrained_task(model, shards.tokenizer, plan_pretraining(model, shards, seconds)["size"])
    kind = supervised_task(experiment.example_kind)
    data = LabelledSplits(experiment.train, experiment.dev)
    transfer = TransferOptions(transfer="features" if fresh.model.default_layers else "full")
    task = kind(fresh.model, fresh.tokenizer, transfer, **kind.settings_from(experiment.train))
    if fresh.model.default_layers:
        return min(seconds_to_encode(task, data), seconds)
    epoch = -(-len(experiment.train) // int(task.training_defaults["batch_examples"]))
    possible = updates_within(task, data, seconds, experiment.seed)
    return seconds * min(1.0, epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES) * epoch / max(possible, 1))


def updates_within(task: Supervised, data: LabelledSplits, seconds: float, seed: int) -> int:
    """How many updates of all weights there is time for, by timing a few that change nothing."""
    task.start(seed)
    part = LabelledSplits(evenly_spaced(data.train, PROBED_EXAMPLES), data.validation)
    options = TrainingOptions(batch_examples=task.training_defaults["batch_examples"], budget=f"{seconds:.3f}s", seed=seed)
    gradients = GradientUpdater(task, task.examples(part), options, Workers(0, 1, find_device(options.device)))
    return int(seconds * UPDATE_SHARE / seconds_per_step(gradients, machine.precisions()[0], PROBE_SHARE * seconds))


def seconds_to_encode(task: Supervised, data: LabelledSplits) -> float:
    """What it takes to compute the features of all examples, by timing a few, and to train a head on them."""
    part = evenly_spaced(data.train, ENCODED_EXAMPLES)
    rows = task.rows(part)
    task.compute_vectors(rows[: ENCODED_EXAMPLES // 4])  # allocates memory and loads kernels
    began = time.monotonic()
    task.compute_vectors(rows)
    each = (time.monotonic() - began) / len(part)
    return each * (len(data.train) + len(data.validation)) / ENCODING_SHARE


def evenly_spaced(items: Sequence[Item], count: int) -> Sequence[Item]:
    """So many of them, spread over all."""
    if count >= len(items):
        return items
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, count).astype(np.int64))]
