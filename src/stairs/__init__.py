"""Stairs: every language model from n-grams to BERT, on your own text and your own machine.

    import stairs
    gpt = stairs.train("gpt", "corpus.txt", budget="10m")
    gpt.generate("the cat")

`help(stairs.train)` explains a verb; `dir(gpt)` lists those of a task. MODELS, TASKS and TOKENIZERS are what they work with.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from stairs.errors import BadInput, StairsError
from stairs.machine import prepare_threads
from stairs.version import __version__

if TYPE_CHECKING:
    from stairs import sklearn as sklearn
    from stairs.api import adopt, climb, load, train, tune
    from stairs.embeddings import Embeddings
    from stairs.models.registry import MODELS
    from stairs.tasks import TASKS
    from stairs.text.tokenizers.tokenizer import TOKENIZERS

prepare_threads()  # before anything imports torch

# Imported at their first use: some bring torch along, and `stairs --help` must not wait for it.
EXPORTS = {
    **dict.fromkeys(("train", "load", "tune", "climb", "adopt"), "stairs.api"),
    "Embeddings": "stairs.embeddings",
    "MODELS": "stairs.models.registry",
    "TASKS": "stairs.tasks",
    "TOKENIZERS": "stairs.text.tokenizers.tokenizer",
}

__all__ = ["MODELS", "TASKS", "TOKENIZERS", "BadInput", "Embeddings", "StairsError", "__version__", "adopt", "climb", "load", "train", "tune"]


def __getattr__(name: str) -> object:
    if name == "sklearn":
        return import_module("stairs.sklearn")
    if name in EXPORTS:
        return getattr(import_module(EXPORTS[name]), name)
    raise AttributeError(f"stairs has no {name}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
