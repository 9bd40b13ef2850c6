"""The runs of a model in a climb: trained on the text, on labels or on pairs, and evaluated on the test examples. Each gives a part of its row."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
from safetensors import safe_open

from stairs.comparison.experiment import SHOWN_EXAMPLES, Experiment, example_text
from stairs.comparison.schema import LastLine, Row
from stairs.data import TrainingData
from stairs.fast.corpus_slice import token_counts
from stairs.models.registry import MODELS
from stairs.models.transfer_options import TransferMode
from stairs.peak_memory import PeakMemory
from stairs.tasks import BidirectionalLM, NextToken, Task, untrained_task
from stairs.tasks.paired_evaluation import evaluate_task, milliseconds_per_text
from stairs.tasks.parts.labelled_splits import LabelledSplits, weights_hash
from stairs.tasks.parts.stream import TextStatistics, language_model_metrics
from stairs.tasks.parts.supervised import Supervised
from stairs.text.examples import TranslationPair
from stairs.text.shards import Shards
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.fit import fit
from stairs.training.one_pass import fit_once
from stairs.training.options import TrainingOptions
from stairs.training.run import MODEL_FOLDER, load
from stairs.training.run_plans import RunPlan, evenly_spaced, plan_finetuning, plan_pretraining, plan_translation, transfer_task

EVALUATION_SHARE = 0.05  # of a model's time, for the evaluation on the test examples
# An encoder-decoder with one vector between the two, with attention, and with attention alone.
TRANSLATORS: dict[str, tuple[str, dict[str, str]]] = {
    "seq2seq": ("seq2seq", {}),
    "attention": ("seq2seq", {"attention": "additive"}),
    "transformer": ("transformer", {}),
}


def pretrain(experiment: Experiment, model: str, seconds: float, **settings: int) -> Row:
    """On the text, in the size that the time allows, for as long as there is: what it costs, and if the model predicts text, how well."""
    shards = experiment.shards_for(model)
    folder = experiment.out / f"{MODELS[model].pretrains_with}-{model}"
    plan = experiment.plans.of(folder.name, lambda: plan_pretraining(model, shards, seconds))
    last_line = train_run(experiment, folder, plan, lambda: untrained_task(model, shards.tokenizer, plan["size"], **settings), shards)
    row: Row = {"size": plan["size"], "run": folder.name}
    predicts = MODELS[model].pretrains_with in (NextToken.name, BidirectionalLM.name)  # the bits of other tasks are of another kind
    if predicts:
        row |= {"bits_per_character": last_line["bits_per_character"], "perplexity": last_line["perplexity"]}
    if MODELS[model].learns_by == "gradient":
        row |= {"updates": last_line["step"], "training": [last_line]}
        if predicts:
            row["unigram_bits"] = unigram_bits(shards)
    return {**row, **costs(experiment, folder, last_line)}


def finetune(experiment: Experiment, model: str, source: Path, seconds: float, is_new: bool = True) -> Row:
    """By gradients, on the labels. `is_new` says that the encoder was pretrained in this climb, and not elsewhere for days."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    data = LabelledSplits(experiment.train, experiment.dev, weights_hash(load(source).model))

    def task_with(mode: TransferMode) -> Supervised:
        whiten = is_new and mode == "features"  # long pretraining needs no help, and few examples would turn its features into noise
        return transfer_task(experiment.example_kind, load(source), experiment.train, mode, metric=experiment.metric, whiten=whiten)

    plan = experiment.plans.of(folder.name, lambda: plan_finetuning(model, task_with, data, seconds, experiment.seed, is_new))
    data = LabelledSplits(evenly_spaced(experiment.train, plan["examples"]), evenly_spaced(experiment.dev, plan["validation"]), data.encoder)
    last_line = train_run(experiment, folder, plan, lambda: task_with(plan["transfer"]), data)
    row: Row = {"transfer": plan["transfer"], "finetuning_updates": last_line["step"], "training": [last_line]}
    if plan["examples"] < len(experiment.train):
        row["training_examples"] = plan["examples"]
    return {**row, **evaluate_run(experiment, folder, last_line)}


def fit_classifier(experiment: Experiment, model: str, train: Callable[[], Task]) -> Row:
    """A classifier that needs one pass over the labels and no gradients."""
    folder = experiment.out / f"{experiment.example_kind}-{model}"
    with experiment.record_peak_memory(folder):
        last_line = fit_once(folder, experiment.run_settings, train, lambda task: {})
    return evaluate_run(experiment, folder, cast(LastLine, last_line))


def train_translator(name: str, experiment: Experiment, seconds: float) -> Row:
    """On pairs of sentences."""
    model, settings = TRANSLATORS[name]
    folder, pairs = experiment.out / f"translate-{name}", [pair for pair in experiment.train if isinstance(pair, TranslationPair)]
    assert experiment.pair_tokenizer is not None
    tokenizer = Tokenizer.train(experiment.pair_tokenizer, lambda: ([pair.source, pair.target] for pair in pairs))
    plan = experiment.plans.of(folder.name, lambda: plan_translation(model, pairs, seconds * (1 - EVALUATION_SHARE), tokenizer.vocab_size))
    data = LabelledSplits(experiment.train, experiment.dev)
    last_line = train_run(experiment, folder, plan, lambda: untrained_task(model, tokenizer, plan["size"], **settings), data)
    row: Row = {"size": plan["size"], "updates": last_line["step"], "training": [last_line]}
    return {**row, **evaluate_run(experiment, folder, last_line)}


def train_run(experiment: Experiment, folder: Path, plan: RunPlan, new_task: Callable[[], Task], data: TrainingData) -> LastLine:
    """As planned, or as the run of another climb that this one repeats."""
    options = TrainingOptions(**plan["training"], seed=experiment.seed)
    with experiment.record_peak_memory(folder):
        last_line = fit(new_task(), data, folder, options, experiment.source_of_plan(folder.name), refuse_short=False)  # its row says if it failed
    return cast(LastLine, last_line)


def unigram_bits(shards: Shards) -> float:
    """Bits per character of the test text by token frequencies alone: a model that learnt something needs fewer."""
    tokens = shards.ids("test").astype(np.int64)
    counts = token_counts(shards.ids("train"), shards.tokenizer.vocab_size) + 0.5
    bits = -np.log2(counts / counts.sum())[tokens]
    text = TextStatistics.of_split(shards, "test")
    return language_model_metrics(np.array([bits.sum()]), np.array([len(tokens)]), text)["bits_per_character"]["value"]


def evaluate_run(experiment: Experiment, folder: Path, last_line: LastLine) -> Row:
    """Its score, predictions and speed on the test split, and its costs; `last_line` is the last of its metrics.jsonl."""
    metric, test = experiment.metric, experiment.test
    with PeakMemory() as peak:
        task = load(folder)
        per_text = milliseconds_per_text(task, test)
    questions = [example_text(example).question for example in test[:SHOWN_EXAMPLES]]
    evaluation = evaluate_task(task, experiment.example_kind, metric, test, questions)
    row: Row = {
        "run": folder.name,
        "metric": metric,
        "score": evaluation.metrics[metric],
        "outcomes": evaluation.outcomes,
        "predictions": evaluation.answers,
        "ms_per_text": per_text,
        "answering_mb": peak.megabytes,
    }
    return {**evaluation.metrics, **row, **costs(experiment, folder, last_line)}  # type: ignore[typeddict-item]


def costs(experiment: Experiment, folder: Path, last_line: LastLine) -> Row:
    """The time of training, on the clock and of the processor, which does not depend on what else the machine does; the number of parameters, the
    size on disk, and the memory that the training took."""
    files = list((folder / MODEL_FOLDER).iterdir())
    parameters = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
            parameters += sum(map(math.prod, shapes))
    return {
        "seconds": round(last_line["seconds"], 3),
        "cpu_seconds": round(last_line["cpu_seconds"], 3),
        "parameters": parameters,
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2),
        "training_mb": experiment.peak_memory_mb.get(folder.name),
    }
