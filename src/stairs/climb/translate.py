"""The steps that are climbed when the labels are pairs of sentences: one vector between reader and speaker, attention, and attention alone."""

from collections.abc import Callable
from typing import Any

from stairs import machine
from stairs.climb.evaluate import JUDGING_SHARE, judged
from stairs.climb.experiment import Ground
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


def plan_translator(step: str, ground: Ground, seconds: float, vocabulary: int) -> dict[str, Any]:
    characters = sum(len(pair.source) + len(pair.target) for pair in ground.train)
    recipe = choose_recipe(step, seconds, characters, machine.gigaflops(), bf16=machine.has_bf16(), vocabulary=vocabulary)
    say_verbose(recipe.reason)
    return {"size": recipe.size, "training": {"budget": f"{seconds:.3f}s", **recipe.training}}


def translator(name: str) -> Callable[[Ground, float], dict[str, Any]]:
    step, settings = TRANSLATORS[name]

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        folder = ground.out / f"translate-{name}"
        tokenizer = Tokenizer.train(ground.cut, lambda: ([pair.source, pair.target] for pair in ground.train))
        planned = ground.plans.of(folder.name, lambda: plan_translator(step, ground, seconds * (1 - JUDGING_SHARE), tokenizer.vocab_size))
        examples = LabelledSplits(ground.train, ground.dev)
        with ground.training(folder):
            measured = trained(ground, folder, planned, untrained(step, tokenizer, planned["size"], **settings), examples)
        about = {"size": planned["size"], "updates": measured["step"], "training": [measured]}
        return {**about, **judged(ground, folder, measured)}

    return climb
