"""What each token may attend to: the attention mask of a run, and the patterns that save time, beside each other.

`layers/masks.py` and `layers/patterns.py` have the equations and papers.
"""

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from stairs.inspection.attention import Rows, pool_groups, rounded_rows
from stairs.inspection.tokens import MAX_GROUPS, TokenizedText, Truncatable, group_bounds, group_names, tokenize
from stairs.inspection.views import is_transformer, linformer_of, reads_a_row, view
from stairs.layers.masks import causal, window
from stairs.layers.patterns import SparsePattern, WindowPattern
from stairs.layers.score_names import PatternName
from stairs.models.base import Model
from stairs.models.elmo import ELMo
from stairs.models.glove import GloVe
from stairs.models.ngram import NGram
from stairs.models.nnlm import NNLM
from stairs.models.settings.attention import AttentionConfig
from stairs.models.word2vec import Word2Vec
from stairs.tasks import Task

MAX_LAYERS = 4  # masks of so many layers are shown, if they differ
RADIUS, RANK = 2, 4  # of the patterns that are not the run's own: small, to be seen in a short text


class MaskPart(TypedDict):
    """Of one layer, or one direction, or the mixtures of the keys."""

    name: str
    rows: list[str]
    mask: Rows  # the share of each column, a token, that a row may attend to


class MaskData(Truncatable):
    tokens: list[str]
    mask: Rows  # the share of each column that a row may attend to in any layer
    parts: list[MaskPart]  # what it is made of, if that is more than one mask


class PatternMask(TypedDict):
    name: str
    scores: int  # computed for the text
    columns: list[str]
    kinds: list[list[str]]  # of each token and column: "window", "global", "random", "all", or "" where no score is computed


class PatternsData(Truncatable):
    tokens: list[str]
    patterns: list[PatternMask]


@view(reads_a_row)
def mask(task: Task, text: str) -> MaskData:
    """Which tokens each may attend to; for a model without attention, which ones its prediction or vector depends on."""
    row = tokenize(task, text)
    groups = group_bounds(len(row.tokens))
    names = group_names(row.tokens, groups)

    def pooled(allowed: Tensor) -> Rows:
        sizes = np.array([stop - start for start, stop in groups])
        return rounded_rows(pool_groups(allowed.float().numpy(), groups) / sizes, 2)

    parts: list[MaskPart] = [{"name": name, "rows": names, "mask": pooled(part)} for name, part in mask_parts(task.model, row).items()]
    if (projection := linformer_of(task.model)) is not None:
        shares = projection.keys.weight[:, : len(row.tokens)].detach().abs()
        bounds = group_bounds(len(shares))
        mixtures = np.stack([(shares[start:stop] / shares.max()).mean(0).numpy() for start, stop in bounds])
        starts = [start for start, _ in groups]
        fed = np.maximum.reduceat(mixtures, starts, 1)
        parts = [{"name": "the words (columns) in each mixture of keys (rows)", "rows": [f"mixture {start}" for start, _ in bounds],
                  "mask": rounded_rows(fed, 2)}]  # fmt: skip
    return {"tokens": names, "mask": pooled(attention_mask(task.model, row)), "parts": parts, "truncation": row.truncation}


@view(is_transformer)
def patterns(task: Task, text: str) -> PatternsData:
    """Full attention, a window, a window with global and random blocks, and Linformer, for this text; the run's own pattern has its own sizes."""
    row = tokenize(task, text)
    tokens = row.tokens[:MAX_GROUPS]
    config, ids = task.model.config, torch.arange(len(tokens))
    assert isinstance(config, AttentionConfig)
    own = config.attention_pattern
    is_causal = not bool(attention_mask(task.model, row)[0, 1:].any())
    radius = config.radius if own in ("window", "sparse") else RADIUS
    rank = config.rank if own == "linformer" else RANK
    block, first, drawn = (config.block, config.global_blocks, config.random_blocks) if own == "sparse" else (radius, 1, 1)
    context = config.context if own == "sparse" else len(tokens)  # within which random blocks are drawn
    sparse = {"window": (0, 0), "global": (first, 0), "random": (first, drawn)}
    blocks = {kind: SparsePattern(radius, block, *counts, context).allows(ids, ids, is_causal) for kind, counts in sparse.items()}
    full = ids <= ids[:, None] if is_causal else torch.ones(len(ids), len(ids), dtype=torch.bool)
    shown: dict[PatternName, PatternMask] = {
        "full": pattern("full", tokens, {"all": full}),
        "window": pattern(f"window of radius {radius}", tokens, {"window": WindowPattern(radius).allows(ids, ids, is_causal)}),
        "sparse": pattern(f"window, {count_of(first, 'global')} and {count_of(drawn, 'random')} of {block}", tokens, blocks),
        "linformer": pattern(f"Linformer of rank {rank}" + ", which reads ahead" * is_causal, [str(number) for number in range(rank)],
                             {"all": torch.ones(len(ids), rank, dtype=torch.bool)}),
    }  # fmt: skip
    shown[own]["name"] += f", as this {task.model_name}"
    part = f"tokens 0 to {len(tokens) - 1} of {len(row.tokens)} are shown" if len(tokens) < len(row.tokens) else None
    return {"tokens": tokens, "patterns": list(shown.values()), "truncation": row.truncation or part}


def count_of(number: int, kind: str) -> str:
    return f"{number} {kind} block{'' if number == 1 else 's'}"


def pattern(name: str, columns: list[str], kinds: dict[str, Tensor]) -> PatternMask:
    """From masks of which each includes those before it: a score has the kind of the first that allows it."""
    cells = [["" for _ in columns] for _ in next(iter(kinds.values()))]
    for kind, allowed in reversed(kinds.items()):
        for at, to in allowed.nonzero().tolist():
            cells[at][to] = kind
    return {"name": name, "scores": sum(cell != "" for line in cells for cell in line), "columns": columns, "kinds": cells}


def mask_parts(model: Model, row: TokenizedText) -> dict[str, Tensor]:
    """The masks of both directions of an ELMo, and of the layers of a model whose layers differ."""
    length = len(row.tokens)
    if isinstance(model, ELMo):
        return {"forward language model": causal(length), "backward language model": causal(length).T}
    layers = layer_masks(model, row) if model.is_transformer else []
    if all(layer.equal(layers[0]) for layer in layers):
        return {}
    return {f"layer {number}": layer for number, layer in enumerate(layers[:MAX_LAYERS])}


def layer_masks(model: Model, row: TokenizedText) -> list[Tensor]:
    """(T, T) bool for each layer: what it attends to in any head is what its mask allows. A Linformer attends to mixtures of all words."""
    if linformer_of(model) is not None:
        return [torch.ones(len(row.tokens), len(row.tokens), dtype=torch.bool)] * model.block_count
    return [weights[0].amax(0) > 0 for weights in model.attention_weights(row.batch)]


def attention_mask(model: Model, row: TokenizedText) -> Tensor:
    """(T, T) bool: what each token may attend to in any layer."""
    length = len(row.tokens)
    if model.is_transformer:
        return torch.stack(layer_masks(model, row)).any(0)
    if isinstance(model, NGram | NNLM):  # the last word of the context predicts the next
        return causal(length) & window(length, model.config.order - 2)
    if isinstance(model, Word2Vec | GloVe):
        return window(length, model.config.window) & ~torch.eye(length, dtype=torch.bool)
    return torch.ones(length, length, dtype=torch.bool)  # recurrent in both directions
