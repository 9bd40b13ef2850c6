"""The steps that are climbed when the labels are pairs of sentences: one vector between reader and speaker, attention, and attention alone."""

from collections.abc import Callable
from typing import Any

from stairs.climb.ground import Ground
from stairs.climb.judging import judged
from stairs.climb.reading import trained, untrained
from stairs.tasks.supervised import Examples
from stairs.text.tokenizer import Tokenizer

TRANSLATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "seq2seq": ("seq2seq", {}),
    "attention": ("seq2seq", {"attention": "additive"}),
    "transformer": ("transformer", {}),
}


def translator(name: str) -> Callable[[Ground, float], dict[str, Any]]:
    step, settings = TRANSLATORS[name]

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        folder = ground.out / f"translate-{name}"
        tokenizer = Tokenizer.train(ground.cut, lambda: ([pair.source, pair.target] for pair in ground.train))
        planned = ground.plans.of(folder.name, lambda: {"size": "mini", "training": {"budget": f"{seconds:.3f}s"}})
        measured = trained(ground, folder, planned, untrained(step, tokenizer, "mini", **settings), Examples(ground.train, ground.dev))
        return {"size": "mini", **judged(ground, folder, measured["seconds"])}

    return climb
