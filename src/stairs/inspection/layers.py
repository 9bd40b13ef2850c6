"""What changes from layer to layer: each token's vector, the shares in which a task mixes the layers, and the senses of a word."""

from typing import Any

import numpy as np
import torch

from stairs.errors import BadInput, Unsupported, preview
from stairs.inspection.senses import sense_separation
from stairs.inspection.tokens import Data, group_bounds, group_names, tokenize, with_note


def layers(task: Any, text: str, *, second: str | None = None) -> Data:
    """Of each token in each layer: the cosine with its vector in the lowest one, and the length of its vector."""
    found = tokenize(task, text, second)
    with torch.no_grad():
        vectors = np.stack([layer[0].double().numpy() for layer in task.model.hidden_states(found.batch)])  # (L, T, D)
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1), 1e-30)
    cosines = (vectors * vectors[0]).sum(-1) / (lengths * lengths[0])
    groups = group_bounds(len(found.tokens))
    starts, sizes = [start for start, _ in groups], np.array([stop - start for start, stop in groups])
    means = (np.add.reduceat(rows, starts, 1) / sizes for rows in (cosines, lengths))
    rounded = [[[round(number, 4) for number in row] for row in rows.tolist()] for rows in means]
    return with_note({"tokens": group_names(found.tokens, groups), "cosines": rounded[0], "lengths": rounded[1]}, found.cut)


def mix(task: Any, text: str = "") -> Data:
    """gamma and the share of each layer, of each place where the task mixes them."""
    found = task.feature_extractor.weights()
    if not found:
        raise Unsupported(f"this {task.name} run of {task.model_name} reads one layer and mixes none; tune with --layers all")
    mixes = [
        {"gamma": one["gamma"], "is_trained": one["is_trained"], "shares": [{"layer": layer, "share": share} for layer,
            share in one["layers"].items()]}
        for one in found
    ]
    return {"mixes": mixes}


def senses(task: Any, text: str, *, word: str | None = None) -> Data:
    """How far apart the senses of a word are in each layer. A line of the text is `sense: a text with the word`."""
    if not word:
        raise BadInput("no word came whose senses are to be told apart; give it with --word")
    texts: dict[str, list[str]] = {}
    for line in filter(str.strip, text.splitlines()):
        sense, colon, rest = (part.strip() for part in line.replace("：", ":", 1).partition(":"))
        if not (sense and colon and rest):
            raise BadInput(f"{preview(line)} names no sense; write each text as in  river: the bank of the river")
        texts.setdefault(sense, []).append(rest)
    return {"word": word, "senses": {sense: len(own) for sense, own in texts.items()}, "layers": sense_separation(task, word, texts)}
