"""Vectors that were computed once: kept in the cache, under the weights and the rows they follow from."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from safetensors.numpy import load_file, save_file

from stairs.errors import BadInput, StairsError
from stairs.files import cache_folder, new_folder, verified_manifest
from stairs.models.base import Model
from stairs.progress import say
from stairs.tasks.parts.rows import EncodedInput

NAME = "features.safetensors"


def weights_hash(model: Model) -> str:
    """Of all its tensors, by name."""
    digest = hashlib.sha256(repr(model.describe()).encode())
    for name, tensor in sorted(model.tensors().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).data)
    return digest.hexdigest()


def cached_features(model: Model, rows: Sequence[EncodedInput], about: str, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
    """What `compute` gives for the rows, from the cache if it is there. `metadata` is all that it depends on besides."""
    key = hashlib.sha256(f"{weights_hash(model)} {about} {[(row.ids, row.segments, row.second) for row in rows]}".encode()).hexdigest()[:20]
    folder = cache_folder() / f"features-{key}"
    if folder.exists():
        try:
            verified_manifest(folder)
            found = load_file(folder / NAME)
            say(f"{len(rows)} texts were encoded before; their vectors come from {folder}")
            return np.split(found["vectors"], found["ends"][:-1]) if found["ends"].size else list(found["vectors"])
        except BadInput as fault:
            say(f"encoding again: {fault}")
    vectors = compute()
    flat = not vectors or vectors[0].ndim == 1
    try:
        with new_folder(folder) as aside:
            ends = np.zeros(0, np.int64) if flat else np.cumsum([len(own) for own in vectors])
            save_file({"vectors": np.stack(vectors) if flat else np.concatenate(vectors), "ends": ends}, aside / NAME)
    except StairsError as fault:  # a full disk costs the next run some time, and nothing more
        say(f"the vectors are not kept: {fault}")
    return vectors
