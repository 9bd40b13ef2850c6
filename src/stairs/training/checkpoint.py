"""Checkpoints: immutable folders, whole or not there, from which a training goes on as if nothing had happened.

step-000000200/   model.safetensors, optimizer.safetensors, state.json, and a manifest of sizes and sha256
best-000000150/   model.safetensors of the step that did best on validation text
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from stairs.errors import BadInput, Diverged
from stairs.files import new_folder, verified_manifest
from stairs.progress import say
from stairs.tasks.task import WEIGHTS, load_weights
from stairs.training.distributed import Workers, full_tensor

OPTIMIZER_FILE, STATE_FILE = "optimizer.safetensors", "state.json"


@dataclass
class TrainingState:
    """How far a training is."""

    step: int = 0  # updates made
    evaluated_step: int = 0  # the step of the last evaluation
    best: float | None = None  # the best evaluation
    best_step: int | None = None  # and its step
    evaluations_since_best: int = 0  # evaluations since then
    validation_fingerprint: str = ""  # the hash of the data that the best was best on
    seconds: float = 0.0  # spent training
    cpu_seconds: float = 0.0  # of all threads of the process, for that
    actions_taken: int = 0  # turns taken, of those in the log of the clock
    decay: int | None = None  # the step at which the rate began to fall, if it was held before
    seconds_by_phase: dict[str, float] = field(default_factory=lambda: {"updates": 0.0, "evaluation": 0.0, "saving": 0.0})  # what the seconds went to


def checkpoint_name(step: int) -> str:
    return f"step-{step:09d}"


def best_name(step: int) -> str:
    return f"best-{step:09d}"


def named_tensors(learner: nn.Module) -> dict[str, Tensor]:
    """Every weight and buffer once, however many names it has."""
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in learner.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), (name, tensor))
    return {name: tensor.detach() for name, tensor in found.values()}


def gather_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies in ordinary memory, with the parts that other workers hold."""
    return {name: full_tensor(tensor).detach().to("cpu").contiguous() for name, tensor in tensors.items()}


def write_checkpoint(folder: Path, model: dict[str, Tensor], memory: dict[str, Tensor], state: TrainingState) -> None:
    with new_folder(folder / checkpoint_name(state.step)) as aside:
        write_tensors(model, aside / WEIGHTS)
        write_tensors(memory, aside / OPTIMIZER_FILE)
        (aside / STATE_FILE).write_text(json.dumps(asdict(state), indent=2) + "\n", "utf-8")


def write_best(folder: Path, model: dict[str, Tensor], step: int) -> None:
    with new_folder(folder / best_name(step)) as aside:
        write_tensors(model, aside / WEIGHTS)


def write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise Diverged(f"{name} is no longer a number, so nothing was saved; lower --learning-rate")
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:  # its writer has no OSError, but says its number
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else 5, os.strerror(int(number[1])) if number else str(error), str(path)) from None


def checkpoint_steps(folder: Path) -> list[int]:
    """Of the checkpoints there, newest first."""
    found = [re.fullmatch(r"step-(\d{9})", path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted((int(match[1]) for match in found if match), reverse=True)


def newest_checkpoint(folder: Path) -> tuple[TrainingState, Path] | None:
    """The newest checkpoint that is as it was written, or None if there never was one."""
    tried: list[str] = []
    for step in checkpoint_steps(folder):
        path = folder / checkpoint_name(step)
        try:
            verified_manifest(path)
            state = TrainingState(**json.loads((path / STATE_FILE).read_text("utf-8")))
            for file in (WEIGHTS, OPTIMIZER_FILE):
                bad = next((name for name, tensor in load_weights(path / file).items() if not torch.isfinite(tensor).all()), None)
                if bad is not None:
                    raise BadInput(f"{path / file} holds a {bad} that is not a number")
        except (BadInput, ValueError, TypeError, OSError) as error:
            tried.append(str(error).split(";")[0])
            continue
        if tried:
            say(f"{'; '.join(tried)}: going on from {path.name} instead")
        return state, path
    if tried:
        raise BadInput(f"no usable checkpoint in {folder}: {'; '.join(tried)}; delete the folder to begin again")
    return None


def restore(workers: Workers, learner: nn.Module, model: dict[str, Tensor] | None) -> None:
    """Weights the first worker read, into everyone's model."""
    own = named_tensors(learner)
    if model is not None:
        check_fit(own, model)
    for name, target in own.items():
        workers.broadcast_tensor(target, model[name] if model is not None else None)


def check_fit(own: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    wrong = [name for name in {**own, **found} if name not in own or name not in found or own[name].shape != found[name].shape]
    if wrong:
        raise BadInput(f"the checkpoint does not fit the model: {', '.join(wrong[:3])} ({len(wrong)} in all); choose another --out")


def prune_checkpoints(folder: Path, keep: int, best: int | None, decay: int | None = None) -> None:
    """Drop all but the newest checkpoints, the best weights, and the checkpoint from which a run could be made longer."""
    spare = [folder / checkpoint_name(step) for step in checkpoint_steps(folder)[keep:] if step != decay]
    spare += [path for path in best_folders(folder) if best is None or path.name != best_name(best)]
    for path in spare:
        shutil.rmtree(path, ignore_errors=True)


def drop_checkpoints_after(folder: Path, step: int) -> None:
    """Forget what came behind this step, and the best weights, which will be made again."""
    for path in [folder / checkpoint_name(later) for later in checkpoint_steps(folder) if later > step] + list(best_folders(folder)):
        shutil.rmtree(path, ignore_errors=True)


def best_folders(folder: Path) -> Iterator[Path]:
    return (path for path in list(folder.iterdir()) if re.fullmatch(r"best-\d{9}", path.name))
