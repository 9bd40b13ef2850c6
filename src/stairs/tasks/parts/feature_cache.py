"""Vectors that were computed once, in a cache whose key is a hash of the weights and the rows they depend on."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from safetensors.numpy import load_file, save_file

from stairs.cache import cache_folder
from stairs.errors import BadInput, StairsError
from stairs.files import new_folder, verified_manifest
from stairs.models.base import Model
from stairs.progress import say
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.labelled_splits import weights_hash

FEATURES_FILE = "features.safetensors"


def cached_features(model: Model, rows: Sequence[EncodedInput], depends_on: str, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
    """What `compute` gives for the rows, from the cache if it is there. `depends_on` describes all that it depends on besides weights and rows."""
    key = hashlib.sha256(f"{weights_hash(model)} {depends_on} {[(row.ids, row.segments, row.second) for row in rows]}".encode()).hexdigest()[:20]
    folder = cache_folder() / f"features-{key}"
    if folder.exists():
        try:
            verified_manifest(folder)
            arrays = load_file(folder / FEATURES_FILE)
            say(f"{len(rows)} texts were encoded before; their vectors come from {folder}")
            return np.split(arrays["vectors"], arrays["ends"][:-1]) if arrays["ends"].size else list(arrays["vectors"])
        except BadInput as fault:
            say(f"encoding again: {fault}")
    vectors = compute()
    one_per_row = not vectors or vectors[0].ndim == 1
    try:
        with new_folder(folder) as aside:
            ends = np.zeros(0, np.int64) if one_per_row else np.cumsum([len(own) for own in vectors])
            save_file({"vectors": np.stack(vectors) if one_per_row else np.concatenate(vectors), "ends": ends}, aside / FEATURES_FILE)
    except StairsError as fault:  # a full disk costs the next run some time, and nothing more
        say(f"the vectors are not cached: {fault}")
    return vectors
