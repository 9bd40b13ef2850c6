"""Pretraining in a climb: in the size that the time allows, for as long as there is."""

from pathlib import Path
from typing import Any

import numpy as np

from stairs import machine
from stairs.comparison.evaluate import model_cost, training_time
from stairs.comparison.experiment import Experiment, Plan
from stairs.comparison.schema import Row
from stairs.data import TrainingData
from stairs.fast.corpus_slice import token_counts
from stairs.models.registry import MODELS
from stairs.models.settings import SIZES, make_config
from stairs.progress import say_verbose
from stairs.tasks import BidirectionalLM, NextToken, Task, pretraining_task
from stairs.tasks.parts.stream import TextStatistics, language_model_metrics
from stairs.text.shards import Shards
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.recipe import choose_recipe


def pretrain(experiment: Experiment, model: str, seconds: float, **settings: Any) -> Row:
    """What it costs, and if the model predicts text, how well."""
    shards = experiment.shards_for(model)
    folder = experiment.out / f"{MODELS[model].pretrains_with}-{model}"
    plan = experiment.plans.of(folder.name, lambda: plan_pretraining(model, shards, seconds))
    with experiment.record_peak_memory(folder):
        last_line = train_run(experiment, folder, plan, untrained_task(model, shards.tokenizer, plan["size"], **settings), shards)
    row: Row = {"size": plan["size"], "run": folder.name}
    predicts = MODELS[model].pretrains_with in (NextToken.name, BidirectionalLM.name)  # the bits of other tasks are of another kind
    if predicts:
        row |= {"bits_per_character": last_line["bits_per_character"], "perplexity": last_line["perplexity"]}
    if MODELS[model].learns_by == "gradient":
        row |= {"updates": last_line["step"], "training": [last_line]}
        if predicts:
            row["unigram_bits"] = unigram_bits(shards)
    return {**row, **training_time(last_line), **model_cost(experiment, folder)}


def train_run(experiment: Experiment, folder: Path, plan: Plan, task: Task, data: TrainingData) -> dict[str, Any]:
    options = TrainingOptions(**plan["training"], seed=experiment.seed)
    return fit(task, data, folder, options, experiment.source_of_plan(folder.name), refuse_short=False)  # its row says if it did not learn


def plan_pretraining(model: str, shards: Shards, seconds: float) -> Plan:
    """The size, and how long: as long as there is time, or the default epochs of a model that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[model].learns_by == "sweeping":  # always to the same numbers, or a climb could not be repeated
        return {"size": "mini", "training": {"deterministic": True, "epochs": MODELS[model].epochs, **budget}}
    gigaflops, vocabulary = machine.gigaflops(), shards.tokenizer.vocab_size
    recipe = choose_recipe(model, seconds, shards.info("train")["characters"], gigaflops, bf16=machine.has_bf16(), vocabulary=vocabulary)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {**budget, **recipe.training}}


def unigram_bits(shards: Shards) -> float:
    """Bits per character of the test text by token frequencies alone: a model that learnt something needs fewer."""
    tokens = shards.ids("test").astype(np.int64)
    counts = token_counts(shards.ids("train"), shards.tokenizer.vocab_size) + 0.5
    bits = -np.log2(counts / counts.sum())[tokens]
    text = TextStatistics.of_split(shards, "test")
    return language_model_metrics(np.array([bits.sum()]), np.array([len(tokens)]), text)["bits_per_character"]["value"]


def untrained_task(model: str, tokenizer: Tokenizer, size: str, **settings: Any) -> Task:
    """The task by which a model learns from plain text, or from pairs, with new weights."""
    config = make_config(model, tokenizer.vocabulary_settings, **{**SIZES[model][size], **settings})
    return pretraining_task(MODELS[model](config), tokenizer)
