"""What changes from layer to layer: the vector of each token, the weights with which a task mixes the layers, and the senses of a word.

senses = sense_separation(task, "python", {"snake": [...texts...], "language": [...]})
senses[1]      # {"layer": 1, "same": 0.71, "different": 0.52}: mean cosines between occurrences, in layer 1

A static vector is the same everywhere: both means are 1. `layer` is None for models with one vector per token.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.inspection.attention import Rows, rounded_rows
from stairs.inspection.tokens import Truncatable, find_tokens, group_bounds, group_names, tokenize
from stairs.inspection.views import has_layers, has_token_vectors, mixes_layers, view
from stairs.models.base import Model
from stairs.tasks import Task
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch

Encoder = Callable[[Batch], Tensor]


class LayersData(Truncatable):
    tokens: list[str]
    cosines: Rows  # with the vector in the lowest layer: a row for each layer, a column for each token
    lengths: Rows


class LayerShare(TypedDict):
    layer: int
    share: float


class Mix(TypedDict):
    gamma: float
    is_trained: bool
    shares: list[LayerShare]


class MixData(TypedDict):
    mixes: list[Mix]


class Separation(TypedDict):
    layer: int | None
    same: float  # mean cosine of two occurrences of one sense
    different: float  # and of two senses


class SensesData(TypedDict):
    word: str
    senses: dict[str, int]  # texts of each
    layers: list[Separation]


@view(has_layers)
def layers(task: Task, text: str, *, second: str | None = None) -> LayersData:
    """The cosine of each token's vector in each layer with its vector in the lowest one, and its length."""
    row = tokenize(task, text, second)
    with torch.no_grad():
        vectors = np.stack([layer[0].double().numpy() for layer in task.model.hidden_states(row.batch)])  # (L, T, D)
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1), 1e-30)
    cosines = (vectors * vectors[0]).sum(-1) / (lengths * lengths[0])
    groups = group_bounds(len(row.tokens))
    starts, sizes = [start for start, _ in groups], np.array([stop - start for start, stop in groups])
    mean_cosines, mean_lengths = (rounded_rows(np.add.reduceat(rows, starts, 1) / sizes) for rows in (cosines, lengths))
    return {"tokens": group_names(row.tokens, groups), "cosines": mean_cosines, "lengths": mean_lengths, "truncation": row.truncation}


@view(mixes_layers)
def mix(task: Supervised, text: str = "") -> MixData:
    """Gamma and the softmax-normalised weight of each layer (Peters et al. 2018)."""
    weights = task.feature_extractor.weights()
    if not weights:
        raise Unsupported(f"this {task.name} run of {task.model_name} reads one layer and mixes none; tune with --layers all")
    mixes: list[Mix] = []
    for entry in weights:
        shares: list[LayerShare] = [{"layer": layer, "share": share} for layer, share in entry["layers"].items()]
        mixes.append({"gamma": entry["gamma"], "is_trained": entry["is_trained"], "shares": shares})
    return {"mixes": mixes}


@view(has_token_vectors)
def senses(task: Task, text: str, *, word: str | None = None) -> SensesData:
    """How far apart the senses of a word are in each layer. Each line of the text is `sense: a text with the word`."""
    if not word:
        raise BadInput("no word given whose senses are to be compared; give it with --word")
    texts: dict[str, list[str]] = {}
    for line in filter(str.strip, text.splitlines()):
        sense, colon, rest = (part.strip() for part in line.replace("：", ":", 1).partition(":"))
        if not (sense and colon and rest):
            raise BadInput(f"{preview(line)} names no sense; write each text as in  river: the bank of the river")
        texts.setdefault(sense, []).append(rest)
    return {"word": word, "senses": {sense: len(own) for sense, own in texts.items()}, "layers": sense_separation(task, word, texts)}


def sense_separation(task: Task, word: str, senses: Mapping[str, Sequence[str]]) -> list[Separation]:
    """For each layer, from the lowest to the highest."""
    depth = task.model.depth
    if not depth:
        return [{"layer": None, **cosines_of_senses(task, word, senses, None)}]
    return [{"layer": layer, **cosines_of_senses(task, word, senses, layer_encoder(task.model, layer))} for layer in range(depth)]


class Cosines(TypedDict):
    same: float
    different: float


def cosines_of_senses(task: Task, word: str, senses: Mapping[str, Sequence[str]], encode: Encoder | None) -> Cosines:
    occurrences = [(sense, vector) for sense, texts in senses.items() for vector in occurrence_vectors(task, word, texts, encode)]
    pairs = [(first == second, float(a @ b)) for (first, a), (second, b) in combinations(occurrences, 2)]
    same, different = ([cosine for is_same, cosine in pairs if is_same is kind] for kind in (True, False))
    if not same or not different:
        raise BadInput("at least two senses with two texts each are needed to compare them; give more texts")
    return {"same": float(np.mean(same)), "different": float(np.mean(different))}


def occurrence_vectors(task: Task, word: str, texts: Sequence[str], encode: Encoder | None) -> list[np.ndarray]:
    """The unit vector of the word in each text; of a word in several pieces, that of their mean."""
    forms = [task.tokenizer.tokens(form) for form in (word, f" {word}")]
    vectors = []
    for text, (tokens, of_tokens) in zip(texts, task.token_vectors(list(texts), encode), strict=True):
        occurrence = find_tokens(forms, tokens)
        if occurrence is None:
            raise BadInput(f"the word {word!r} is not in {preview(text)}; give texts in which it occurs as a whole word")
        vector = of_tokens[occurrence.start : occurrence.stop].mean(0)
        vectors.append(vector / max(float(np.linalg.norm(vector)), 1e-12))
    return vectors


def layer_encoder(model: Model, layer: int) -> Encoder:
    """`encode`, but with the vectors of one layer; -1 is the last."""
    number = model.check_layer(layer)
    return lambda batch: model.hidden_states(batch)[number]
