"""Arrays beside the config of a saved task, as safetensors, read and written without torch."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from stairs.errors import BadInput


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """As `saved_model.load_weights`, with arrays for tensors."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path} is not a readable safetensors file: {error}") from None


def save_arrays(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def arrays_with_prefix(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Those whose name begins so, by the rest of it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
