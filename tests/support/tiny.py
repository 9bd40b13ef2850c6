"""Settings of every model, small enough for a test. A new model joins the contract tests with its line here."""

import dataclasses
from typing import Any

from stairs.models.settings import CONFIGS

TINY: dict[str, dict[str, Any]] = {
    "ngram": {"order": 3},
    "nnlm": {"order": 3, "width": 8, "hidden": 12},
    "gpt": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "bert": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "roberta": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "unilm": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "xlnet": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "seq2seq": {"context": 16, "width": 8, "hidden": 12, "attention": "additive"},
    "cove": {"context": 16, "width": 8, "hidden": 12, "layers": 2},
    "elmo": {"context": 16, "width": 8, "hidden": 12, "filters": (4, 6)},
    "transformer": {"context": 16, "width": 16, "heads": 2, "layers": 2},
    "cnn": {"context": 16, "word_width": 8, "width": 12, "dilated_layers": 2, "input_dropout": 0.0},
    "cbow": {"width": 8, "window": 2},
    "skipgram": {"width": 8, "window": 2},
    "glove": {"width": 8, "window": 2},
    "vectors": {"width": 8},
}


def tiny(model: str, **changes: Any) -> dict[str, Any]:
    return {**TINY[model], **changes}


def noiseless(model: str, **changes: Any) -> dict[str, Any]:
    """The same without dropout and label smoothing, so that a loss is what its equation says."""
    fields = {field.name for field in dataclasses.fields(CONFIGS[model])}
    return {**tiny(model), **{name: 0.0 for name in ("dropout", "label_smoothing") if name in fields}, **changes}
