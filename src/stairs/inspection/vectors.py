"""Vectors of any layer, for steps that have layers."""

from collections.abc import Callable

import torch

from stairs.errors import BadInput
from stairs.inspection.capture import capture
from stairs.models.base import Model
from stairs.text.batch import Batch


def of_layer(model: Model, layer: int) -> Callable[[Batch], torch.Tensor]:
    """`encode`, but what block number `layer` gives; -1 is the last."""
    blocks = len(getattr(model, "blocks", []))
    if not -blocks <= layer < blocks:
        there = f"it has {blocks}, numbered from 0" if blocks else "it has none"
        raise BadInput(f"{model.name} has no layer {layer}; {there}")

    def encode(batch: Batch) -> torch.Tensor:
        with capture(model) as seen:
            model.encode(batch)
        return seen[f"blocks.{layer % blocks}"]

    return encode
