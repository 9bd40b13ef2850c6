"""A model of a climb reads the text: in the size that its time allows, for as long as it has."""

from pathlib import Path
from typing import Any

import numpy as np

from stairs import machine
from stairs.climb.evaluate import cost, time_taken
from stairs.climb.experiment import Experiment
from stairs.fast.corpus_slice import token_counts
from stairs.models import MODELS
from stairs.models.settings import make_config
from stairs.models.sizes import SIZES
from stairs.progress import say_verbose
from stairs.tasks import TASKS, BidirectionalLM, NextToken, Task
from stairs.tasks.parts.stream import language_model_metrics
from stairs.text.shards import Shards
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.recipe import choose_recipe


def read(experiment: Experiment, model: str, seconds: float, **settings: Any) -> dict[str, Any]:
    """Pretrain a model; what it costs, and where it predicts, how well."""
    shards = experiment.shards_for(model)
    folder = experiment.out / f"{MODELS[model].pretrains_with}-{model}"
    planned = experiment.plans.of(folder.name, lambda: plan_pretraining(model, shards, seconds))
    with experiment.record_peak_memory(folder):
        measured = trained(experiment, folder, planned, untrained(model, shards.tokenizer, planned["size"], **settings), shards)
    predicts = MODELS[model].pretrains_with in (NextToken.name, BidirectionalLM.name)  # the bits of other tasks are of another kind
    found: dict[str, Any] = {name: measured[name] for name in ("bits_per_character", "perplexity") if predicts}
    if MODELS[model].learns_by == "gradient":
        found |= {"updates": measured["step"], "training": [measured]}
        if predicts:
            found["unigram_bits"] = unigram_bits(shards)
    return {"size": planned["size"], "run": folder.name, **time_taken(measured), **found, **cost(experiment, folder)}


def trained(experiment: Experiment, folder: Path, planned: dict[str, Any], task: Task, examples: Any) -> dict[str, Any]:
    options = TrainingOptions(**planned["training"], seed=experiment.seed)
    return fit(task, examples, folder, options, experiment.source_of_plan(folder.name), refuse_short=False)  # its row says if it did not learn


def plan_pretraining(model: str, shards: Shards, seconds: float) -> dict[str, Any]:
    """The size, and how long: as long as there is time, or the usual epochs of a model that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[model].learns_by == "sweeping":  # always to the same numbers, or a climb could not be done again
        return {"size": "mini", "training": {"deterministic": True, "epochs": MODELS[model].epochs, **budget}}
    fast, size = machine.gigaflops(), shards.tokenizer.vocab_size
    recipe = choose_recipe(model, seconds, shards.info("train")["characters"], fast, bf16=machine.has_bf16(), vocabulary=size)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {**budget, **recipe.training}}


def unigram_bits(shards: Shards) -> float:
    """Bits per character of the test text for one who knows only how often each token occurs: what every model that learnt something is below."""
    tokens = shards.ids("test").astype(np.int64)
    counts = token_counts(shards.ids("train"), shards.tokenizer.vocab_size) + 0.5
    info = shards.info("test")
    bits = -np.log2(counts / counts.sum())[tokens]
    return language_model_metrics(
        np.array([bits.sum()]), np.array([len(tokens)]), characters=info["characters"], spelling_bits=info["spelling_bits"],
        spacing_bits=info["spacing_bits"], unknown_words=info["unknown_words"],
    )["bits_per_character"]["value"]  # fmt: skip


def untrained(model: str, tokenizer: Tokenizer, size: str, **settings: Any) -> Task:
    """The task on which a model learns from plain text, or from pairs, with weights that know nothing."""
    kind = MODELS[model]
    return TASKS[kind.pretrains_with](kind(make_config(model, tokenizer.vocabulary_settings, **{**SIZES[model][size], **settings})), tokenizer)
