"""Who looks at whom: attention weights of any layer and head, the mask they obey, and how positions are told.

Of a text with more tokens than a picture can tell apart, neighbours stand together: a group looks at another with the mean of its tokens' weights,
summed over the other's, so that each row still adds up to 1.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from stairs.errors import BadInput, preview
from stairs.inspection.tokens import Data, TokenizedText, find_tokens, group_bounds, group_names, readable_token, tokenize, with_note
from stairs.layers.capture import capture
from stairs.layers.masks import causal, window

THUMBNAIL = 32  # cells of a thumbnail, each way
MIN_WEIGHT = 0.02  # weights below are no lines
NEIGHBOURS_SHOWN = 20  # tokens on either side of a word, in a picture with lines
POSITIONS_SHOWN, DIMENSIONS_SHOWN = 64, 128  # of a table of positions
DIGITS = 4
WITHOUT_ATTENTION = ("ngram", "nnlm", "cbow", "skipgram", "glove", "seq2seq", "cove", "elmo")  # and yet not free to look anywhere


def attention(task: Any, text: str, *, layer: int = 0, head: int = 0, second: str | None = None) -> Data:
    """The weights of one head: a row for each token that looks, a column for each that is looked at."""
    found = tokenize(task, text, second)
    weights = head_weights(task, found, layer, head)
    groups = group_bounds(len(found.tokens))
    return with_note({"tokens": group_names(found.tokens, groups), "layer": layer, "head": head, "weights": rounded_rows(pool_groups(weights,
        groups))}, found.cut)


def lines(task: Any, text: str, *, layer: int = 0, head: int = 0, word: str | None = None, second: str | None = None) -> Data:
    """The same as lines from word to word: all that are not faint, or those from one word, named by its spelling or its number."""
    found = tokenize(task, text, second)
    weights = head_weights(task, found, layer, head)
    places = [] if word is None else word_positions(task, word, found.tokens)
    middle = places[0] if places else NEIGHBOURS_SHOWN
    start = max(min(middle - NEIGHBOURS_SHOWN, len(found.tokens) - 2 * NEIGHBOURS_SHOWN - 1), 0)
    shown = range(start, min(start + 2 * NEIGHBOURS_SHOWN + 1, len(found.tokens)))
    joined = [
        {"from": looking - start, "to": looked_at - start, "weight": round(float(weights[looking, looked_at]), DIGITS)}
        for looking in (places or shown)
        for looked_at in shown
        if weights[looking, looked_at] >= MIN_WEIGHT
    ]
    data = {"tokens": [found.tokens[at] for at in shown], "layer": layer, "head": head, "word": [at - start for at in places], "lines": joined}
    part = f"tokens {start} to {shown.stop - 1} of {len(found.tokens)} are shown" if len(shown) < len(found.tokens) else None
    return with_note(data, found.cut or part)


def heads(task: Any, text: str, *, second: str | None = None) -> Data:
    """All heads of all layers, small."""
    found = tokenize(task, text, second)
    groups = group_bounds(len(found.tokens), THUMBNAIL)
    layers = [[rounded_rows(pool_groups(head, groups), 3) for head in layer] for layer in attention_weights(task, found, range(task.model.depth))]
    return with_note({"tokens": group_names(found.tokens, groups), "layers": layers}, found.cut)


def attention_weights(task: Any, found: TokenizedText, layers: Sequence[int]) -> list[np.ndarray]:
    """(H, T, T) of each of the layers."""
    with torch.no_grad(), capture(task.model, *(task.model.blocks[layer].attention for layer in layers)) as seen:
        task.model.encode(found.batch)
    return [weights[0].float().numpy() for weights in seen.values()]


def head_weights(task: Any, found: TokenizedText, layer: int, head: int) -> np.ndarray:
    (weights,) = attention_weights(task, found, [task.model.check_layer(layer)])
    return weights[check_head(task, head, len(weights))]


def check_head(task: Any, head: int, heads: int) -> int:
    if not -heads <= head < heads:
        raise BadInput(f"{task.model_name} has no head {head}; each layer has {heads}, numbered from 0")
    return head


def pool_groups(weights: np.ndarray, groups: list[tuple[int, int]]) -> np.ndarray:
    """(T, T) to (groups, groups)."""
    starts = [start for start, _ in groups]
    sizes = np.array([stop - start for start, stop in groups])
    return np.add.reduceat(np.add.reduceat(weights, starts, 1), starts, 0) / sizes[:, None]


def word_positions(task: Any, word: str, tokens: list[str]) -> list[int]:
    """Where a word stands first, with all its pieces; or the token that has this number."""
    forms = [[readable_token(task.tokenizer, i) for i in task.tokenizer.encode(form)] for form in (word, f" {word}")]
    if (places := find_tokens(forms, tokens)) is not None:
        return list(places)
    if word.isdecimal() and int(word) < len(tokens):
        return [int(word)]
    raise BadInput(f"the word {preview(word)} does not stand in the text, which has {', '.join(token.strip() for token in tokens[:12])}")


def mask(task: Any, text: str) -> Data:
    """Which tokens each may look at: as its attention does, or, for a step without, which ones a word is judged by."""
    found = tokenize(task, text)
    length = len(found.tokens)
    groups = group_bounds(length)
    allowed = pool_groups(attention_mask(task, found).float().numpy(), groups) / np.array([stop - start for start, stop in groups])
    return with_note({"tokens": group_names(found.tokens, groups), "mask": rounded_rows(allowed, 2)}, found.cut)


def attention_mask(task: Any, found: TokenizedText) -> torch.Tensor:
    """(T, T) bool."""
    length, model = len(found.tokens), task.model
    if hasattr(model, "blocks"):
        return model_mask(model, found).expand(1, length, length)[0]
    if model.name in ("ngram", "nnlm"):  # after the last word of the context
        return causal(length) & window(length, model.config.order - 2)
    if model.name in ("cbow", "skipgram", "glove"):
        return window(length, model.config.window) & ~torch.eye(length, dtype=torch.bool)
    return torch.ones(length, length, dtype=torch.bool)  # recurrent in both directions


def model_mask(model: Any, found: TokenizedText) -> torch.Tensor:
    """The mask that the first block is told, as it is told."""
    seen: list[torch.Tensor] = []
    block = model.blocks[0].attention
    with ExitStack() as hooks, torch.no_grad():
        hooks.callback(block.register_forward_pre_hook(lambda module, given, named: seen.append(named["mask"]), with_kwargs=True).remove)
        hooks.enter_context(capture(model, block))
        model.encode(found.batch)
    return seen[0]


def positions(task: Any, text: str = "") -> Data:
    """A row for each place and a column for each number that it is told by; of a rotary model the cosines of its turns."""
    table = position_table(task.model)
    assert table is not None
    kind = (task.model.positions or task.model.blocks[0].attention.rotary).kind
    return {"kind": kind, "positions": len(table), "width": table.shape[1], "table": rounded_rows(table[:POSITIONS_SHOWN,
        :DIMENSIONS_SHOWN].detach().float().numpy())}


def position_table(model: Any) -> torch.Tensor | None:
    """(T, D)"""
    found = getattr(model, "positions", None)
    if found is None and hasattr(model, "blocks"):
        found = model.blocks[0].attention.rotary
    return next((getattr(found, name) for name in ("weight", "table", "cosines") if hasattr(found, name)), None)


def rounded_rows(matrix: np.ndarray, digits: int = DIGITS) -> list[list[float]]:
    return [[round(number, digits) for number in row] for row in matrix.tolist()]
