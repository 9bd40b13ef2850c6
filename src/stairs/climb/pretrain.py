"""A model of a climb reads the text: in the size that its time allows, for as long as it has."""

from pathlib import Path
from typing import Any

import numpy as np

from stairs import machine
from stairs.climb.evaluate import cost, time_taken
from stairs.climb.experiment import Ground
from stairs.models import MODELS
from stairs.models.settings import make_config
from stairs.models.sizes import SIZES
from stairs.progress import say_verbose
from stairs.tasks import TASKS, BidirectionalLM, NextToken, Task
from stairs.tasks.parts.stream import language_model_metrics, token_counts
from stairs.text.shards.shards import Shards
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.recipe import choose_recipe


def read(ground: Ground, step: str, seconds: float, **settings: Any) -> dict[str, Any]:
    """Pretrain a model; what it costs, and where it predicts, how well."""
    shards = ground.shards_for(step)
    folder = ground.out / f"{MODELS[step].pretrains_with}-{step}"
    planned = ground.plans.of(folder.name, lambda: plan_reading(step, shards, seconds))
    with ground.training(folder):
        measured = trained(ground, folder, planned, untrained(step, shards.tokenizer, planned["size"], **settings), shards)
    predicts = MODELS[step].pretrains_with in (NextToken.name, BidirectionalLM.name)  # the bits of other tasks are of another kind
    found: dict[str, Any] = {name: measured[name] for name in ("bits_per_character", "perplexity") if predicts}
    if MODELS[step].learns_by == "gradient":
        found |= {"updates": measured["step"], "training": [measured]}
        if predicts:
            found["unigram_bits"] = unigram_bits(shards)
    return {"size": planned["size"], "run": folder.name, **time_taken(measured), **found, **cost(ground, folder)}


def trained(ground: Ground, folder: Path, planned: dict[str, Any], task: Task, examples: Any) -> dict[str, Any]:
    options = TrainingOptions(**planned["training"], seed=ground.seed)
    return fit(task, examples, folder, options, ground.run_like(folder.name), refuse_short=False)  # its row says if it did not learn


def plan_reading(step: str, shards: Shards, seconds: float) -> dict[str, Any]:
    """The size, and how long: as long as there is time, or the usual epochs of a model that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[step].learns_by == "sweeping":  # always to the same numbers, or a climb could not be done again
        return {"size": "mini", "training": {"deterministic": True, "epochs": MODELS[step].epochs, **budget}}
    fast, size = machine.gigaflops(), shards.tokenizer.vocab_size
    recipe = choose_recipe(step, seconds, shards.info("train")["characters"], fast, bf16=machine.has_bf16(), vocabulary=size)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {**budget, **recipe.training}}


def unigram_bits(shards: Shards) -> float:
    """Bits per character of the test text for one who knows only how often each token occurs: what every model that learnt something is below."""
    tokens = shards.ids("test").astype(np.int64)
    counts = token_counts(shards.ids("train"), shards.tokenizer.vocab_size) + 0.5
    info = shards.info("test")
    known = {name: info[name] for name in ("characters", "spelling_bits", "spacing_bits", "unknown_words")}
    bits = -np.log2(counts / counts.sum())[tokens]
    return language_model_metrics(np.array([bits.sum()]), np.array([len(tokens)]), **known)["bits_per_character"]["value"]


def untrained(step: str, tokenizer: Tokenizer, size: str, **settings: Any) -> Task:
    """The task on which a model learns from plain text, or from pairs, with weights that know nothing."""
    kind = MODELS[step]
    return TASKS[kind.pretrains_with](kind(make_config(step, tokenizer.vocabulary_settings, **{**SIZES[step][size], **settings})), tokenizer)
