"""Stairs: every language model from n-grams to BERT, on your own text and your own machine.

import stairs
task = stairs.load("runs/wiki")
task.answer("the cat")
"""

from importlib import import_module
from typing import Any

from stairs.machine import prepare_threads
from stairs.version import __version__

prepare_threads()  # before anything imports torch

# Imported when first asked for: they bring torch along, and `stairs --help` must not wait for it.
DOORS = {
    "load": "stairs.training.run",
    "fit": "stairs.training.fit",
    "MODELS": "stairs.models",
    "TASKS": "stairs.tasks",
    "TOKENIZERS": "stairs.text.tokenizers.tokenizer",
}

__all__ = ["MODELS", "TASKS", "TOKENIZERS", "__version__", "fit", "load"]


def __getattr__(name: str) -> Any:
    if name in DOORS:
        return getattr(import_module(DOORS[name]), name)
    raise AttributeError(f"stairs has no {name}; it has {', '.join(__all__)}")
