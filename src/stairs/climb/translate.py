"""The steps that are climbed when the labels are pairs of sentences: one vector between reader and speaker, attention, and attention alone."""

from collections.abc import Callable
from typing import Any

from stairs import machine
from stairs.climb.evaluate import EVALUATION_SHARE, judged
from stairs.climb.experiment import Experiment
from stairs.climb.pretrain import trained, untrained
from stairs.progress import say_verbose
from stairs.tasks.parts.supervised import LabelledSplits
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.recipe import choose_recipe

TRANSLATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "seq2seq": ("seq2seq", {}),
    "attention": ("seq2seq", {"attention": "additive"}),
    "transformer": ("transformer", {}),
}


def plan_translator(model: str, experiment: Experiment, seconds: float, vocabulary: int) -> dict[str, Any]:
    characters = sum(len(pair.source) + len(pair.target) for pair in experiment.train)
    recipe = choose_recipe(model, seconds, characters, machine.gigaflops(), bf16=machine.has_bf16(), vocabulary=vocabulary)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {"budget": f"{seconds:.3f}s", **recipe.training}}


def translator(name: str) -> Callable[[Experiment, float], dict[str, Any]]:
    model, settings = TRANSLATORS[name]

    def climb(experiment: Experiment, seconds: float) -> dict[str, Any]:
        folder = experiment.out / f"translate-{name}"
        tokenizer = Tokenizer.train(experiment.pair_tokenizer, lambda: ([pair.source, pair.target] for pair in experiment.train))
        planned = experiment.plans.of(folder.name, lambda: plan_translator(model, experiment, seconds * (1 - EVALUATION_SHARE), tokenizer.vocab_size))
        examples = LabelledSplits(experiment.train, experiment.dev)
        with experiment.record_peak_memory(folder):
            measured = trained(experiment, folder, planned, untrained(model, tokenizer, planned["size"], **settings), examples)
        about = {"size": planned["size"], "updates": measured["step"], "training": [measured]}
        return {**about, **judged(experiment, folder, measured)}

    return climb
