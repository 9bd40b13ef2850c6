"""Vectors of any layer, for steps that have layers."""

from collections.abc import Callable

import torch

from stairs.errors import BadInput
from stairs.models.base import Model
from stairs.text.batch import Batch


def of_layer(model: Model, layer: int) -> Callable[[Batch], torch.Tensor]:
    """`encode`, but what layer number `layer` gives; -1 is the last."""
    if not -model.depth <= layer < model.depth:
        there = f"it has {model.depth}, numbered from 0" if model.depth else "it has none"
        raise BadInput(f"{model.name} has no layer {layer}; {there}")
    return lambda batch: model.layers_of(batch)[layer]
