"""One word in two senses: how near are its vectors to one another where the sense is the same, and where it is not?

found = separation(task, "python", {"snake": [...texts...], "language": [...]})
found[1]      # {"layer": 1, "same": 0.71, "different": 0.52}: mean cosines between occurrences, in layer 1

A static vector is the same everywhere: both means are 1. `layer` is None for steps that have one vector for each token.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from stairs.errors import BadInput, preview
from stairs.inspection.tokens import find_tokens
from stairs.inspection.vectors import layer_encoder


def sense_separation(task: Any, word: str, senses: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """For each layer, from the lowest to the highest."""
    layers = range(task.model.depth) if task.model.depth else [None]
    return [{"layer": layer, **cosines(task, word, senses, None if layer is None else layer_encoder(task.model, layer))} for layer in layers]


def cosines(task: Any, word: str, senses: Mapping[str, Sequence[str]], encode: Callable[..., Any] | None) -> dict[str, float]:
    found = [(sense, vector) for sense, texts in senses.items() for vector in occurrence_vectors(task, word, texts, encode)]
    pairs = [(first == second, float(a @ b)) for (first, a), (second, b) in combinations(found, 2)]
    same, different = ([cosine for alike, cosine in pairs if alike is kind] for kind in (True, False))
    if not same or not different:
        raise BadInput("two senses with two texts each are needed, at least, to tell how far apart they are")
    return {"same": float(np.mean(same)), "different": float(np.mean(different))}


def occurrence_vectors(task: Any, word: str, texts: Sequence[str], encode: Callable[..., Any] | None = None) -> list[np.ndarray]:
    """The vector of the word in each text, of length 1: the mean of its pieces where it is cut."""
    wanted = [task.tokenizer.tokens(form) for form in (word, f" {word}")]
    found = []
    for text, (tokens, vectors) in zip(texts, task.token_vectors(list(texts), encode), strict=True):
        places = find_tokens(wanted, tokens)
        if places is None:
            raise BadInput(f"the word {word!r} does not stand in {preview(text)}; give texts with it, as the tokenizer cuts it")
        vector = vectors[places.start : places.stop].mean(0)
        found.append(vector / max(float(np.linalg.norm(vector)), 1e-12))
    return found
