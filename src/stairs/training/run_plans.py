"""How a run is trained within so many seconds: the size of a model and its batches, how much of an encoder learns from labels, on how many examples.

A model that is pretrained or translates has the size that its recipe gives to the time. An encoder learns from labels with all its weights, for as
many epochs as are worthwhile or as there is time for; where there is time for few updates only, a head learns on its features.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypedDict, TypeVar

import numpy as np

from stairs import machine
from stairs.models.registry import MODELS
from stairs.models.transfer_options import TransferMode, TransferOptions
from stairs.progress import say, say_verbose
from stairs.tasks import SUPERVISED_TASKS, TASKS, TEXT_KINDS, untrained_task
from stairs.tasks.parts.fine_tuning import epochs_for_updates
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task
from stairs.text.examples import Example, TranslationPair
from stairs.text.shards import Shards
from stairs.training.fit import seconds_per_update
from stairs.training.options import TrainingOptions
from stairs.training.probe import PROBE_SHARE
from stairs.training.recipe import choose_recipe

WORTHWHILE_UPDATES = 800  # more than others need: an encoder with minutes of pretraining learns more slowly from labels
MIN_FULL_UPDATES = 150  # of all weights: with fewer, the features as they are do better
UPDATE_SHARE = 0.8  # of the time is for updates, about
ENCODING_SHARE = 0.6  # of a head's time, at most, for computing the features it learns from
PROBED_EXAMPLES, ENCODED_EXAMPLES = 320, 32  # on which updates, and encoding, are timed
NEW_ENCODER_LR_SCALE = 4.0  # an encoder with minutes of pretraining takes a higher learning rate than one with days
Item = TypeVar("Item")


class PlannedOptions(TypedDict, total=False):
    """The training options that a plan decides."""

    budget: str
    epochs: float
    batch_tokens: int
    learning_rate: float
    deterministic: bool


class RunPlan(TypedDict, total=False):
    """How one run is trained; report.json keeps it under "plans"."""

    size: str  # of a model with new weights
    transfer: TransferMode  # of a pretrained encoder
    examples: int  # of the train split that are learnt from
    validation: int
    training: PlannedOptions


def plan_pretraining(model: str, shards: Shards, seconds: float) -> RunPlan:
    """The size, and how long: as long as there is time, or the default epochs of a model that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    if MODELS[model].learns_by == "sweeping":  # always to the same numbers, or a climb could not be repeated
        return {"size": "mini", "training": {"deterministic": True, "epochs": MODELS[model].epochs, "budget": f"{seconds:.3f}s"}}
    return plan_by_recipe(model, seconds, shards.info("train")["characters"], shards.tokenizer.vocab_size)


def plan_translation(model: str, pairs: Sequence[TranslationPair], seconds: float, vocabulary: int) -> RunPlan:
    return plan_by_recipe(model, seconds, sum(len(pair.source) + len(pair.target) for pair in pairs), vocabulary)


def plan_by_recipe(model: str, seconds: float, characters: int, vocabulary: int) -> RunPlan:
    recipe = choose_recipe(model, seconds, characters, machine.gigaflops(), bf16=machine.has_bf16(), vocabulary=vocabulary)
    say_verbose(recipe.reason)
    options: PlannedOptions = {"budget": f"{seconds:.3f}s", "batch_tokens": recipe.batch_tokens}
    if recipe.learning_rate is not None:
        options["learning_rate"] = recipe.learning_rate
    return {"size": recipe.size, "training": options}


def transfer_task(
    example_kind: str, encoder: Task, train: Sequence[Example], mode: TransferMode, *, metric: str | None = None, whiten: bool = False
) -> Supervised:
    """A head on an encoder. A text is the mean of its vectors: pooling by one token has to be learnt first, which takes more examples. One that is
    trained from scratch pools as its paper does."""
    kind = TASKS[SUPERVISED_TASKS[example_kind]]
    assert issubclass(kind, Supervised)
    settings = {**kind.settings_from(train), **({} if metric is None else {"metric": metric})}
    transfer = TransferOptions(transfer=mode, whiten=whiten, pooling="mean" if example_kind in TEXT_KINDS and mode != "scratch" else None)
    return kind(encoder.model, encoder.tokenizer, transfer, **settings)


def plan_finetuning(
    model: str, task_with: Callable[[TransferMode], Supervised], data: LabelledSplits, seconds: float, seed: int, is_new: bool
) -> RunPlan:
    """The whole encoder, for as many epochs as are worthwhile or as there is time for; otherwise a head on its features. `is_new` says that the
    encoder was pretrained for minutes, and not elsewhere for days."""
    options: PlannedOptions = {"budget": f"{seconds:.3f}s"}
    task = task_with("full")
    if not task.model.default_layers:  # ELMo is frozen, as in its paper: a mix of its layers learns with the head
        epoch = -(-len(data.train) // task.training_defaults["batch_examples"])
        updates = updates_within(task, data, seconds, seed)
        if updates >= MIN_FULL_UPDATES:
            options["epochs"] = epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES)
            if is_new and task.model.is_transformer:
                options["learning_rate"] = task.learning_rate * NEW_ENCODER_LR_SCALE
            return {"transfer": "full", "examples": len(data.train), "validation": len(data.validation), "training": options}
        say_verbose(f"{model}: there is time for {updates} updates of all its weights; a head on its features is trained instead")
    head = task_with("features")
    options["epochs"] = head.training_defaults["epochs"]
    share = min(seconds / seconds_to_encode(head, data), 1.0)
    count, validation = (max(int(share * len(part)), min(ENCODED_EXAMPLES, len(part))) for part in (data.train, data.validation))
    if count < len(data.train):
        say(f"{model}: there is time to encode {count} of {len(data.train)} examples; its head is trained on those")
    return {"transfer": "features", "examples": count, "validation": validation, "training": options}


def plan_from_scratch(task: Supervised, data: LabelledSplits, seconds: float) -> RunPlan:
    """All weights of an encoder that learns from the labels alone, for its default epochs or as long as there is time."""
    defaults = task.training_defaults
    epoch = -(-len(data.train) // defaults["batch_examples"])
    options: PlannedOptions = {"budget": f"{seconds:.3f}s", "epochs": epochs_for_updates(epoch, defaults["epochs"], WORTHWHILE_UPDATES)}
    return {"transfer": "scratch", "examples": len(data.train), "validation": len(data.validation), "training": options}


def finetuning_seconds(model: str, shards: Shards, example_kind: str, data: LabelledSplits, seconds: float, seed: int) -> float:
    """What fine-tuning a model will take, at most `seconds`: by timing a few updates of an untrained one of the size that this time allows, or by
    encoding some examples where only a head and a mix of layers learn."""
    encoder = untrained_task(model, shards.tokenizer, plan_pretraining(model, shards, seconds)["size"])
    freezes = bool(encoder.model.default_layers)
    task = transfer_task(example_kind, encoder, data.train, "features" if freezes else "full")
    if freezes:
        return min(seconds_to_encode(task, data), seconds)
    epoch = -(-len(data.train) // int(task.training_defaults["batch_examples"]))
    possible = updates_within(task, data, seconds, seed)
    return seconds * min(1.0, epochs_for_updates(epoch, minimum=WORTHWHILE_UPDATES) * epoch / max(possible, 1))


def updates_within(task: Supervised, data: LabelledSplits, seconds: float, seed: int) -> int:
    """How many updates of all weights there is time for, by timing a few that change nothing."""
    part = LabelledSplits(evenly_spaced(data.train, PROBED_EXAMPLES), data.validation)
    options = TrainingOptions(batch_examples=task.training_defaults["batch_examples"], budget=f"{seconds:.3f}s", seed=seed)
    return int(seconds * UPDATE_SHARE / seconds_per_update(task, part, options, PROBE_SHARE * seconds))


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
