"""The weights of a folder of another tool, and how its tensor names become ours.

model.safetensors, or several files with model.safetensors.index.json, or pytorch_model.bin, which pytorch_pickle.py guards.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from stairs.errors import BadInput, Unsupported, preview
from stairs.formats.huggingface import pytorch_pickle
from stairs.text.tokenizers.spec import read_json

WEIGHTS, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
POINTER = b"version https://git-lfs"
OLD_NAMES = ((".gamma", ".weight"), (".beta", ".bias"))  # of norms, in weights that came from TensorFlow


class TensorPair(NamedTuple):
    """A tensor of theirs and the tensor of ours with the same numbers; or several of ours, concatenated."""

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False  # GPT-2 has matrices (in, out)

    def to_ours(self, tensor: Tensor) -> Iterable[Tensor]:
        return (part.contiguous() for part in (tensor.T if self.transposed else tensor).chunk(len(self.ours)))

    def to_theirs(self, own: dict[str, Tensor]) -> Tensor:
        joined = torch.cat([own[name] for name in self.ours])
        return (joined.T if self.transposed else joined).contiguous()


def linear_pairs(theirs: str, *ours: str, transposed: bool = False) -> list[TensorPair]:
    """The weight and the bias of a linear layer."""
    return [
        TensorPair(f"{theirs}.weight", tuple(f"{name}.weight" for name in ours), transposed),
        TensorPair(f"{theirs}.bias", tuple(f"{name}.bias" for name in ours)),
    ]


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors, as float32 and finite."""
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder):
        refuse_other_files(path)
        if path.suffix == ".bin":
            tensors |= pytorch_pickle.read(path)
            continue
        try:
            tensors |= load_file(path)
        except (SafetensorError, OSError) as error:
            raise BadInput(f"{path} is not a safetensors file that can be read: {preview(str(error), 100)}; download it again") from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point():
            tensors[name] = tensor.float()
            if not bool(tensor.isfinite().all()):
                raise BadInput(f"{folder}: the tensor {preview(name)} holds NaN or infinity; give valid weights")
    return {modern_name(name): tensor for name, tensor in tensors.items()}


def modern_name(name: str) -> str:
    for old, new in OLD_NAMES:
        name = name.removesuffix(old) + new if name.endswith(old) else name
    return name


def refuse_unlike(required: dict[str, tuple[Any, tuple[Any, ...]]], where: str, what: str) -> None:
    """Refuses settings that are not among the required ones; `what` is the model they should describe."""
    for name, (value, allowed) in required.items():
        if value not in allowed:
            raise Unsupported(f"{where}: {name} is {preview(value)}, and {what} has {allowed[0]}; only {what} as in the paper can be adopted")


def weight_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        names = read_json(folder / INDEX).get("weight_map")
        if not isinstance(names, dict) or not all(isinstance(name, str) and name == Path(name).name for name in names.values()):
            raise BadInput(f"{folder / INDEX} does not name files of this folder; restore it")
        return [folder / name for name in sorted(set(names.values()))]
    if (folder / PICKLE).is_file():
        return [folder / PICKLE]
    raise BadInput(f"{folder} has neither {WEIGHTS} nor {INDEX} nor {PICKLE}; give a folder with PyTorch weights")


def refuse_other_files(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(POINTER))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}; restore the folder") from None
    if start == POINTER:
        raise BadInput(f"{path} is a Git LFS pointer, not the weights; run git lfs pull in its folder")
    if start.lstrip()[:1] == b"<":
        raise BadInput(f"{path} is a web page, not weights; download it again")


def to_our_names(tensors: dict[str, Tensor], pairs: Sequence[TensorPair], shapes: dict[str, torch.Size], folder: Path) -> dict[str, Tensor]:
    """Their tensors under our names. BadInput lists those that are missing, unknown, or of another shape than the config says."""
    expected = {pair.theirs: pair for pair in pairs}
    wrong = [f"{name} is missing" for name in expected if name not in tensors]
    wrong += [f"{preview(name)} is unknown" for name in tensors if name not in expected]
    ours: dict[str, Tensor] = {}
    for name, pair in expected.items():
        if name not in tensors:
            continue
        shape = pair.to_theirs({name: torch.empty(shapes[name], device="meta") for name in pair.ours}).shape
        if tensors[name].shape != shape or not tensors[name].is_floating_point():
            kind = "" if tensors[name].is_floating_point() else f" of {tensors[name].dtype}".replace("torch.", "")
            wrong.append(f"{name} is {tuple(tensors[name].shape)}{kind} and not {tuple(shape)}")
        else:
            ours |= zip(pair.ours, pair.to_ours(tensors[name]), strict=True)
    if wrong:
        raise BadInput(f"the weights in {folder} do not fit its config.json: {'; '.join(wrong[:3])} ({len(wrong)} in all); give a complete folder")
    return ours


def to_their_names(own: dict[str, Tensor], pairs: Sequence[TensorPair]) -> dict[str, Tensor]:
    return {pair.theirs: pair.to_theirs(own) for pair in pairs}
