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
from stairs.inspection.tokens import Data, Read, grouped, names, noted, read, spelled, standing
from stairs.layers.masks import causal, window
from stairs.models.base import record_outputs

THUMBNAIL = 32  # cells of a thumbnail, each way
FAINTEST = 0.02  # weights below are no lines
AROUND = 20  # tokens on either side of a word, in a picture with lines
PLACES, NUMBERS = 64, 128  # of a table of positions
DIGITS = 4
WITHOUT_ATTENTION = ("ngram", "nnlm", "cbow", "skipgram", "glove", "seq2seq", "cove", "elmo")  # and yet not free to look anywhere


def attention(task: Any, text: str, *, layer: int = 0, head: int = 0, second: str | None = None) -> Data:
    """The weights of one head: a row for each token that looks, a column for each that is looked at."""
    found = read(task, text, second)
    weights = of_head(task, found, layer, head)
    groups = grouped(len(found.tokens))
    return noted({"tokens": names(found.tokens, groups), "layer": layer, "head": head, "weights": plain(together(weights, groups))}, found.cut)


def lines(task: Any, text: str, *, layer: int = 0, head: int = 0, word: str | None = None, second: str | None = None) -> Data:
    """The same as lines from word to word: all that are not faint, or those from one word, named by its spelling or its number."""
    found = read(task, text, second)
    weights = of_head(task, found, layer, head)
    places = [] if word is None else places_of(task, word, found.tokens)
    middle = places[0] if places else AROUND
    start = max(min(middle - AROUND, len(found.tokens) - 2 * AROUND - 1), 0)
    shown = range(start, min(start + 2 * AROUND + 1, len(found.tokens)))
    joined = [
        {"from": looking - start, "to": looked_at - start, "weight": round(float(weights[looking, looked_at]), DIGITS)}
        for looking in (places or shown)
        for looked_at in shown
        if weights[looking, looked_at] >= FAINTEST
    ]
    data = {"tokens": [found.tokens[at] for at in shown], "layer": layer, "head": head, "word": [at - start for at in places], "lines": joined}
    part = f"tokens {start} to {shown.stop - 1} of {len(found.tokens)} are shown" if len(shown) < len(found.tokens) else None
    return noted(data, found.cut or part)


def heads(task: Any, text: str, *, second: str | None = None) -> Data:
    """All heads of all layers, small."""
    found = read(task, text, second)
    groups = grouped(len(found.tokens), THUMBNAIL)
    layers = [[plain(together(head, groups), 3) for head in layer] for layer in weights_of(task, found, range(task.model.depth))]
    return noted({"tokens": names(found.tokens, groups), "layers": layers}, found.cut)


def weights_of(task: Any, found: Read, layers: Sequence[int]) -> list[np.ndarray]:
    """(H, T, T) of each of the layers."""
    places = [task.model.blocks[layer].attention.weights for layer in layers]
    with torch.no_grad():
        return [weights[0].float().numpy() for weights in record_outputs(places, lambda: task.model.encode(found.batch))]


def of_head(task: Any, found: Read, layer: int, head: int) -> np.ndarray:
    (weights,) = weights_of(task, found, [task.model.check_layer(layer)])
    return weights[check_head(task, head, len(weights))]


def check_head(task: Any, head: int, heads: int) -> int:
    if not -heads <= head < heads:
        raise BadInput(f"{task.model_name} has no head {head}; each layer has {heads}, numbered from 0")
    return head


def together(weights: np.ndarray, groups: list[tuple[int, int]]) -> np.ndarray:
    """(T, T) to (groups, groups)."""
    starts = [start for start, _ in groups]
    sizes = np.array([stop - start for start, stop in groups])
    return np.add.reduceat(np.add.reduceat(weights, starts, 1), starts, 0) / sizes[:, None]


def places_of(task: Any, word: str, tokens: list[str]) -> list[int]:
    """Where a word stands first, with all its pieces; or the token that has this number."""
    forms = [[spelled(task.tokenizer, i) for i in task.tokenizer.encode(form)] for form in (word, f" {word}")]
    if (places := standing(forms, tokens)) is not None:
        return list(places)
    if word.isdecimal() and int(word) < len(tokens):
        return [int(word)]
    raise BadInput(f"the word {preview(word)} does not stand in the text, which has {', '.join(token.strip() for token in tokens[:12])}")


def mask(task: Any, text: str) -> Data:
    """Which tokens each may look at: as its attention does, or, for a step without, which ones a word is judged by."""
    found = read(task, text)
    length = len(found.tokens)
    groups = grouped(length)
    allowed = together(looks(task, found).float().numpy(), groups) / np.array([stop - start for start, stop in groups])
    return noted({"tokens": names(found.tokens, groups), "mask": plain(allowed, 2)}, found.cut)


def looks(task: Any, found: Read) -> torch.Tensor:
    """(T, T) bool."""
    length, model = len(found.tokens), task.model
    if hasattr(model, "blocks"):
        return obeyed(model, found).expand(1, length, length)[0]
    if model.name in ("ngram", "nnlm"):  # after the last word of the context
        return causal(length) & window(length, model.config.order - 2)
    if model.name in ("cbow", "skipgram", "glove"):
        return window(length, model.config.window) & ~torch.eye(length, dtype=torch.bool)
    return torch.ones(length, length, dtype=torch.bool)  # recurrent in both directions


def obeyed(model: Any, found: Read) -> torch.Tensor:
    """The mask that the first block is told, as it is told."""
    seen: list[torch.Tensor] = []
    block = model.blocks[0].attention
    with ExitStack() as hooks, torch.no_grad():
        hooks.callback(block.register_forward_pre_hook(lambda module, given, named: seen.append(named["mask"]), with_kwargs=True).remove)
        record_outputs([block.weights], lambda: model.encode(found.batch))
    return seen[0]


def positions(task: Any, text: str = "") -> Data:
    """A row for each place and a column for each number that it is told by; of a rotary model the cosines of its turns."""
    table = table_of(task.model)
    assert table is not None
    kind = type(task.model.positions or task.model.blocks[0].attention.rotary).__name__.lower()
    return {"kind": kind, "positions": len(table), "width": table.shape[1], "table": plain(table[:PLACES, :NUMBERS].detach().float().numpy())}


def table_of(model: Any) -> torch.Tensor | None:
    """(T, D)"""
    found = getattr(model, "positions", None)
    if found is None and hasattr(model, "blocks"):
        found = model.blocks[0].attention.rotary
    return next((getattr(found, name) for name in ("weight", "table", "cosines") if hasattr(found, name)), None)


def plain(matrix: np.ndarray, digits: int = DIGITS) -> list[list[float]]:
    return [[round(number, digits) for number in row] for row in matrix.tolist()]
