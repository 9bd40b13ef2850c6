"""The parts of an attention that a config names, for every model made of blocks: positions, pattern, score, mask.

Departures: those of the parts stand in their own files in `layers/`.
"""

from typing import TypedDict

import torch
from torch import Tensor, nn

from stairs.errors import Unsupported
from stairs.layers.attention_positions import AttentionPositions, BucketPositions, RelativePositions, RotaryPositions, TransformerXLPositions
from stairs.layers.block import Attention
from stairs.layers.masks import causal, padding
from stairs.layers.patterns import LinformerProjection, Pattern, RowMask, SparsePattern, WindowPattern
from stairs.layers.positions import LearnedPositions, SinusoidalPositions
from stairs.layers.score_names import ScoreName, SharedProjections
from stairs.models.settings.attention import AttentionConfig
from stairs.text.batch import NO_DEPTH, NO_DISTANCE, Batch

MAX_BLOCK, MIN_BLOCK = 128, 32  # positions of a block by which a window is computed: see benchmarks/long_attention.py


class BlockParts(TypedDict):
    """What every block of a model is built with."""

    dropout: float
    activation: str
    has_residual: bool
    score: ScoreName
    share_projections: SharedProjections
    positions: AttentionPositions | None
    pattern: Pattern | None


def block_parts(config: AttentionConfig, activation: str, layer: int, linformer: nn.ModuleList | None = None, *, is_causal: bool) -> BlockParts:
    """Of the block with this number; `linformer` is what `linformer_projections` made, for blocks that are not causal."""
    return {
        "dropout": config.dropout,
        "activation": activation,
        "has_residual": config.residual,
        "score": "dot" if config.score == "folded" else config.score,
        "share_projections": config.share_projections,
        "positions": attention_positions(config, is_causal),
        "pattern": attention_pattern(config, layer, linformer),
    }


def added_positions(config: AttentionConfig, amplitude: float = 1.0) -> LearnedPositions | SinusoidalPositions | None:
    """What is added to the token vectors."""
    if config.positions == "learned":
        return LearnedPositions(config.context, config.width)
    return SinusoidalPositions(config.context, config.width, amplitude) if config.positions == "sinusoidal" else None


def attention_positions(config: AttentionConfig, is_causal: bool) -> AttentionPositions | None:
    """What works inside each attention."""
    head_width = config.width // config.heads
    if config.positions == "rotary":
        return RotaryPositions(config.context, head_width)
    if config.positions == "relative":
        return RelativePositions(config.max_distance, head_width)
    if config.positions == "transformer-xl":
        return TransformerXLPositions(config.width, config.heads, is_causal, config.has_relative_segments)
    return BucketPositions(config.heads, is_causal) if config.positions == "buckets" else None


def linformer_projections(config: AttentionConfig) -> nn.ModuleList | None:
    """One for all layers or one for each, which belong to the model."""
    if config.attention_pattern != "linformer":
        return None
    shared = config.linformer_projection == "shared"
    return nn.ModuleList(LinformerProjection(config.context, config.rank, shared) for _ in range(1 if shared else config.layers))


def attention_pattern(config: AttentionConfig, layer: int, linformer: nn.ModuleList | None) -> Pattern | None:
    if config.attention_pattern == "window":
        return WindowPattern(config.radius, max(min(config.radius, MAX_BLOCK), MIN_BLOCK))
    if config.attention_pattern == "sparse":
        return SparsePattern(config.radius, config.block, config.global_blocks, config.random_blocks, config.context, seed=layer)
    if linformer is None:
        return None
    projection = linformer[layer % len(linformer)]
    assert isinstance(projection, LinformerProjection)
    return projection


def attention_mask(config: AttentionConfig, batch: Batch, *, is_causal: bool, padding_is_last: bool = False) -> Tensor | RowMask:
    """What each position may attend to: (B, 1 or T, T), or for a pattern what it is made of. Padding that comes last needs no mask where nothing
    attends to what comes later: (T, T)."""
    real = torch.ones_like(batch.real[:1]) if padding_is_last else batch.real
    if config.attention_pattern != "full" and not (is_causal and config.attention_pattern == "linformer"):
        return RowMask(real, is_causal, batch.attention_mask, batch.position_ids)
    mask = causal(batch.ids.shape[1], batch.ids.device) if is_causal else padding(real)
    mask = mask & padding(real) if is_causal and not padding_is_last else mask
    return mask if batch.attention_mask is None else batch.attention_mask & mask


def tree_positions(largest: int, batch: Batch) -> tuple[Tensor, Tensor]:
    """Where the tokens stand in dependency trees, see `layers/structural_positions.py`: depths (B, T) and distances (B, T, T), none beyond
    `largest`; -1 and `largest` + 1 for what is no word."""
    if batch.tree_depths is None or batch.tree_distances is None:
        what = "this model was tuned with --structural-positions and reads words at their place in a dependency tree, which plain text does not have"
        raise Unsupported(f"{what}; tag or score a CoNLL-U file with it, or take the run that it was tuned from")
    is_word = batch.tree_distances != NO_DISTANCE
    return batch.tree_depths.clamp(NO_DEPTH, largest), torch.where(is_word, batch.tree_distances.clamp(-largest, largest), largest + 1)


def has_local_start(config: AttentionConfig) -> bool:
    """Whether heads can start by attending to neighbours: queries and keys read the positions in the token vectors, each in its own way."""
    return config.positions in ("learned", "sinusoidal") and config.share_projections == "none" and config.score in ("scaled", "folded")


@torch.no_grad()
def fold_scaling(config: AttentionConfig, model: nn.Module) -> None:
    """T5: scores are not divided by sqrt(D), but the projection of the query starts smaller by it, so that the first scores are the same."""
    for part in model.modules():
        if isinstance(part, Attention) and config.score == "folded":
            part.get_parameter("query.weight").div_((part.output.weight.shape[0] // part.heads) ** 0.5)
