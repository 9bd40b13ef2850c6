"""Translation in a climb: an encoder-decoder with one vector between the two, with attention, and with attention alone."""

from collections.abc import Sequence
from typing import Any, cast

from stairs import machine
from stairs.comparison.evaluate import EVALUATION_SHARE, evaluate_run
from stairs.comparison.experiment import Experiment, Plan
from stairs.comparison.pretrain import train_run, untrained_task
from stairs.comparison.schema import Row
from stairs.progress import say_verbose
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.recipe import choose_recipe

MODELS_BY_NAME: dict[str, tuple[str, dict[str, Any]]] = {
    "seq2seq": ("seq2seq", {}),
    "attention": ("seq2seq", {"attention": "additive"}),
    "transformer": ("transformer", {}),
}


def plan_translation(model: str, pairs: Sequence[Any], seconds: float, vocabulary: int) -> Plan:
    characters = sum(len(pair.source) + len(pair.target) for pair in pairs)
    recipe = choose_recipe(model, seconds, characters, machine.gigaflops(), bf16=machine.has_bf16(), vocabulary=vocabulary)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {"budget": f"{seconds:.3f}s", **recipe.training}}


def train_translator(name: str, experiment: Experiment, seconds: float) -> Row:
    model, settings = MODELS_BY_NAME[name]
    folder, pairs = experiment.out / f"translate-{name}", cast("Sequence[TranslationPair]", experiment.train)
    assert experiment.pair_tokenizer is not None
    tokenizer = Tokenizer.train(experiment.pair_tokenizer, lambda: ([pair.source, pair.target] for pair in pairs))
    plan = experiment.plans.of(folder.name, lambda: plan_translation(model, pairs, seconds * (1 - EVALUATION_SHARE), tokenizer.vocab_size))
    with experiment.record_peak_memory(folder):
        task = untrained_task(model, tokenizer, plan["size"], **settings)
        last_line = train_run(experiment, folder, plan, task, LabelledSplits(experiment.train, experiment.dev))
    row: Row = {"size": plan["size"], "updates": last_line["step"], "training": [last_line]}
    return {**row, **evaluate_run(experiment, folder, last_line)}
