"""How a run is trained within so many seconds. A model that is pretrained or translates has the size and the batches that its recipe gives to the
time; how an encoder learns from labels is in `finetuning_plans.py`."""

from collections.abc import Sequence
from typing import Any, TypedDict, TypeVar, cast

import numpy as np

from stairs import machine
from stairs.models.registry import MODELS
from stairs.models.transfer_options import Insert, TransferMode
from stairs.progress import say
from stairs.tasks import untrained_task
from stairs.tasks.task import Task
from stairs.text.examples import TranslationPair
from stairs.text.shards import Shards
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.options import OptimizerKind
from stairs.training.recipe import choose_recipe

Item = TypeVar("Item")
# A bert of a minute whose labels are of whole texts keeps its token embeddings near those of skip-gram, which tell more of what a text is about:
# instead of four times the rate of the others they have a fifth of it. One minute on the embedded docstrings, accuracy in four folds, three seeds and
# two: 0.597 and 0.613, masked words named 0.280 and 0.273.
NEAR_SKIPGRAM_LR_SCALE, NEAR_SKIPGRAM_MODELS, NEAR_SKIPGRAM_SECONDS = 0.2, ("bert", "roberta"), 120.0


class PlannedOptions(TypedDict, total=False):
    """The training options that a plan decides."""

    budget: str
    epochs: float
    batch_tokens: int
    learning_rate: float
    embedding_lr_scale: float
    optimizer: OptimizerKind
    skipgram_tokens: int
    stacking: float
    deterministic: bool


class RunPlan(TypedDict, total=False):
    """How one run is trained; report.json keeps it under "plans"."""

    size: str  # of a model with new weights
    settings: dict[str, Any]  # of its config, beside those of the size
    transfer: TransferMode  # of a pretrained encoder
    insert: Insert  # where its layers go, if not to a head
    candidates: dict[str, PlannedOptions]  # ways to train that are tried, and what each has of its own; the best on the validation examples is kept
    examples: int  # of the train split that are learnt from
    validation: int
    training: PlannedOptions


def plan_pretraining(model: str, shards: Shards, seconds: float, labels_are_of_texts: bool = False) -> RunPlan:
    """The size, and how long: as long as there is time, or the default epochs of a model that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    if MODELS[model].learns_by == "sweeping":  # always to the same numbers, or a climb could not be repeated
        return {"size": "mini", "training": {"deterministic": True, "epochs": MODELS[model].epochs, "budget": f"{seconds:.3f}s"}}
    plan = plan_by_recipe(model, seconds, shards.info("train")["characters"], shards.tokenizer.vocab_size)
    if labels_are_of_texts and model in NEAR_SKIPGRAM_MODELS and seconds <= NEAR_SKIPGRAM_SECONDS:
        say(f"{model}: embeddings at {NEAR_SKIPGRAM_LR_SCALE:g} times the rate, so that they stay near skip-gram's, which tell what a text is about")
        plan["training"]["embedding_lr_scale"] = NEAR_SKIPGRAM_LR_SCALE
    return plan


def plan_translation(model: str, pairs: Sequence[TranslationPair], seconds: float, vocabulary: int) -> RunPlan:
    return plan_by_recipe(model, seconds, sum(len(pair.source) + len(pair.target) for pair in pairs), vocabulary)


def plan_by_recipe(model: str, seconds: float, characters: int, vocabulary: int) -> RunPlan:
    recipe = choose_recipe(model, seconds, characters, machine.gigaflops(), bf16=machine.has_bf16(), vocabulary=vocabulary)
    say(recipe.reason)
    options = cast(PlannedOptions, {"budget": f"{seconds:.3f}s", **recipe.training})
    return {"size": recipe.size, "settings": recipe.settings, "training": options}


def planned_task(model: str, tokenizer: Tokenizer, plan: RunPlan, **settings: Any) -> Task:
    """An untrained one, of the size and settings of its plan."""
    return untrained_task(model, tokenizer, plan["size"], **plan.get("settings", {}), **settings)


def evenly_spaced(items: Sequence[Item], count: int) -> Sequence[Item]:
    """So many of them, spread over all."""
    if count >= len(items):
        return items
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, count).astype(np.int64))]
