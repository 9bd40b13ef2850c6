"""The attention of a model as that of its paper, which is the only one that transformers has.

Some options are the same attention in other words, and are written out: positions that are added to the tokens become a table, scores that are not
divided by sqrt(D) get queries that are larger by it, and shared projections are written once for each role. The others are refused.
"""

import math

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.layers.block import Attention
from stairs.layers.positions import LearnedPositions, SinusoidalPositions
from stairs.models.base import Model
from stairs.models.settings import TransformerConfig
from stairs.models.settings.attention import AttentionConfig

ROLES = ("query", "key", "value")


def plain_tensors(model: Model, config: AttentionConfig, activations: tuple[str, ...]) -> dict[str, Tensor]:
    """The tensors of a model with the usual attention that computes the same; `activations` are those that the other tool knows."""
    refuse_other_attention(model.name, config, activations)
    tensors = model.tensors()
    for path, part in model.named_modules():
        if not isinstance(part, Attention):
            continue
        scale = 1.0 if config.score == "scaled" else math.sqrt(len(part.output.weight) // part.heads)
        own = {role: {name: tensors[f"{path}.{owner}.{name}"] for name in ("weight", "bias")} for role, owner in zip(ROLES, part.roles, strict=True)}
        for role, linear in own.items():
            tensors |= {f"{path}.{role}.{name}": scale * tensor if role == "query" and scale != 1.0 else tensor for name, tensor in linear.items()}
    return tensors | position_table(model, config)


def position_table(model: Model, config: AttentionConfig) -> dict[str, Tensor]:
    """Of sines, and of zeros where there are no positions."""
    added = getattr(model, "positions", None)
    if isinstance(added, LearnedPositions) or isinstance(config, TransformerConfig):
        return {}
    table = added.table[: config.context] if isinstance(added, SinusoidalPositions) else torch.zeros(config.context, config.width)
    return {"positions.weight": table.clone()}


def refuse_other_attention(name: str, config: AttentionConfig, activations: tuple[str, ...]) -> None:
    is_translator = isinstance(config, TransformerConfig)
    activation = getattr(config, "activation", activations[0])
    reasons = {
        f"{config.positions} positions": config.positions not in (("sinusoidal",) if is_translator else ("learned", "sinusoidal", "none")),
        f"the attention pattern {config.attention_pattern}": config.attention_pattern != "full",
        f"the attention score {config.score}": config.score not in ("scaled", "dot", "folded"),
        "other heads for its source": isinstance(config, TransformerConfig) and config.cross_heads not in (None, config.heads),
        "no residual connections": not config.residual,
        f"the activation {activation}": activation not in activations,
    }
    what = next((reason for reason, applies in reasons.items() if applies), None)
    if what is not None:
        usual = "sinusoidal" if is_translator else "learned"
        raise Unsupported(f"a {name} with {what} has no counterpart in transformers; train one with {usual} positions and the usual attention")
