"""Vectors of any layer, for steps that have layers."""

from collections.abc import Callable

import torch

from stairs.models.base import Model
from stairs.text.batch import Batch


def layer_encoder(model: Model, layer: int) -> Callable[[Batch], torch.Tensor]:
    """`encode`, but what layer number `layer` gives; -1 is the last."""
    number = model.check_layer(layer)
    return lambda batch: model.hidden_states(batch)[number]
