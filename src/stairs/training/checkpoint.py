"""Checkpoints: immutable folders, complete or absent, from which a training resumes as if nothing had happened.

step-000000200/   model.safetensors, optimizer.safetensors, state.json, and a manifest of sizes and sha256
best-000000150/   model.safetensors of the step with the best evaluation on validation data
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from stairs.errors import BadInput, Diverged, EnvironmentFault, StairsError
from stairs.files import format_megabytes, new_folder, verified_manifest
from stairs.progress import say
from stairs.tasks.config_file import WEIGHTS
from stairs.tasks.parts.saved_model import load_weights
from stairs.tasks.task import Task
from stairs.training.distributed import full_tensor
from stairs.training.options import TrainingOptions
from stairs.training.run import MODEL_FOLDER, TOKENIZER_FOLDER, Run
from stairs.training.updater import Updater, Workers

OPTIMIZER_FILE, STATE_FILE = "optimizer.safetensors", "state.json"
SAVE_SECONDS = 20.0  # between checkpoints by default
SAVE_COST_RATIO = 30  # or this many times what one costs, if that is longer


@dataclass
class TrainingState:
    """How far a training is."""

    step: int = 0  # updates made
    evaluated_step: int = 0  # the step of the last evaluation
    best: float | None = None  # the best evaluation
    best_step: int | None = None  # and its step
    evaluations_since_best: int = 0
    validation_fingerprint: str = ""  # the data that the best was measured on
    seconds: float = 0.0  # spent training
    cpu_seconds: float = 0.0  # of all threads of the process
    actions_taken: int = 0  # of those in the log of the clock
    decay: int | None = None  # the step at which the learning rate began to fall, if it was held before
    seconds_by_phase: dict[str, float] = field(default_factory=lambda: {"updates": 0.0, "evaluation": 0.0, "saving": 0.0})

    def is_impatient(self, patience: int) -> bool:
        return 0 < patience <= self.evaluations_since_best


class Checkpointer:
    """Writes the checkpoints of one run, and finds the one to resume from. Rank 0 reads and writes; the other ranks only hand over their shards."""

    def __init__(self, run: Run, task: Task, options: TrainingOptions, workers: Workers) -> None:
        self.run, self.task, self.options, self.workers = run, task, options, workers
        self.saved_step: int | None = None
        self.tried_step = 0  # of the last attempt
        self.saved_at, self.save_seconds = time.monotonic(), 0.0

    def resume(self, updater: Updater) -> TrainingState:
        """Load the newest checkpoint; without one, keep the initial weights, or load those of --init-from."""
        newest = newest_checkpoint(self.run.folder) if self.workers.is_rank_zero else None
        if newest and newest[0].best_step is not None and not (self.run.folder / best_name(newest[0].best_step)).is_dir():
            newest[0].best, newest[0].best_step, newest[0].evaluations_since_best = None, None, 0  # an extended run has dropped its best weights
        values = self.workers.broadcast(asdict(newest[0]) if newest else None)
        if values is None:
            if self.options.init_from:
                initial = weights_of_run(Path(self.options.init_from), self.task) if self.workers.is_rank_zero else None
                restore(updater.trained_module, initial, self.workers)
            return TrainingState()
        state = TrainingState(**values)
        self.saved_step = self.tried_step = state.step
        restore(updater.trained_module, load_weights(newest[1] / WEIGHTS) if newest else None, self.workers)
        updater.load_optimizer_state(load_weights(newest[1] / OPTIMIZER_FILE) if newest else None)
        if self.workers.is_rank_zero:
            self.run.rewind(state.step, state.evaluated_step)
        return state

    def is_due(self, step: int) -> bool:
        if self.options.save_every:
            return step % self.options.save_every == 0
        return time.monotonic() - self.saved_at > max(SAVE_SECONDS, SAVE_COST_RATIO * self.save_seconds)

    def save(self, updater: Updater, state: TrainingState, sync: Callable[[], None], must: bool = False) -> None:
        """Write a checkpoint of this step, unless there is one or it has just failed; `sync` flushes what the checkpoint relies on."""
        if self.saved_step == state.step or (self.tried_step == state.step and not must) or state.step == 0:
            return
        self.tried_step, started = state.step, time.monotonic()
        model, optimizer = gather_tensors(named_tensors(updater.trained_module)), gather_tensors(updater.optimizer_state())
        size = sum(tensor.nbytes for tensor in (*model.values(), *optimizer.values()))

        def write() -> None:
            sync()
            write_checkpoint(self.run.folder, model, optimizer, state)

        if self.try_write(write, f"a checkpoint of about {format_megabytes(size)}", must):
            self.saved_step = state.step
            if self.workers.is_rank_zero:
                prune_checkpoints(self.run.folder, self.options.keep, state.best_step, state.decay)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - started
        state.seconds_by_phase["saving"] += self.save_seconds

    def save_best(self, updater: Updater, step: int) -> None:
        model = gather_tensors(named_tensors(updater.trained_module))
        self.try_write(lambda: write_best(self.run.folder, model, step), "the best weights so far")

    def best_weights(self, state: TrainingState) -> dict[str, Tensor] | None:
        """The weights of the best evaluation; None where they are damaged, with a message."""
        assert state.best_step is not None
        folder = self.run.folder / best_name(state.best_step)
        try:
            verified_manifest(folder)
            return load_weights(folder / WEIGHTS)
        except StairsError as error:
            say(f"{error}: the last weights are kept instead of the best")
            return None

    def save_tokenizer(self) -> None:
        if not (self.run.folder / TOKENIZER_FOLDER).exists():
            with new_folder(self.run.folder / TOKENIZER_FOLDER) as folder:
                self.task.tokenizer.save(folder)

    def try_write(self, write: Callable[[], None], what: str, must: bool = False) -> bool:
        """Write, on rank 0; a full disk ends the training only with --on-disk-full stop, or if it `must` be written."""

        def work() -> bool:
            try:
                if not self.run.ensure_exists():
                    say(f"{self.run.folder} was deleted during training; it is created again, without the measurements so far")
                    self.save_tokenizer()
                write()
            except EnvironmentFault as error:
                if must or self.options.on_disk_full == "stop":
                    raise
                later = f"in {self.options.save_every} steps" if self.options.save_every else "soon"
                say(f"{error} (for {what}); training continues and tries again {later}")
                return False
            return True

        return self.workers.on_rank_zero(work)


def checkpoint_name(step: int) -> str:
    return f"step-{step:09d}"


def best_name(step: int) -> str:
    return f"best-{step:09d}"


def named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Every weight and buffer once, however many names it has."""
    first_names: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        first_names.setdefault(id(tensor), (name, tensor))
    return {name: tensor.detach() for name, tensor in first_names.values()}


def gather_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU, with the shards of the other workers."""
    return {name: full_tensor(tensor).detach().to("cpu").contiguous() for name, tensor in tensors.items()}


def write_checkpoint(folder: Path, model: dict[str, Tensor], optimizer: dict[str, Tensor], state: TrainingState) -> None:
    with new_folder(folder / checkpoint_name(state.step)) as temporary:
        write_tensors(model, temporary / WEIGHTS)
        write_tensors(optimizer, temporary / OPTIMIZER_FILE)
        (temporary / STATE_FILE).write_text(json.dumps(asdict(state), indent=2) + "\n", "utf-8")


def write_best(folder: Path, model: dict[str, Tensor], step: int) -> None:
    with new_folder(folder / best_name(step)) as temporary:
        write_tensors(model, temporary / WEIGHTS)


def write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise Diverged(f"{name} has values that are not finite, so nothing was saved; lower --learning-rate")
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:  # its writer raises no OSError, but names the error number
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else 5, os.strerror(int(number[1])) if number else str(error), str(path)) from None


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of the checkpoints in a folder, newest first."""
    matches = [re.fullmatch(r"step-(\d{9})", path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted((int(match[1]) for match in matches if match), reverse=True)


def newest_checkpoint(folder: Path) -> tuple[TrainingState, Path] | None:
    """The newest intact checkpoint, or None if there never was one."""
    faults: list[str] = []
    for step in checkpoint_steps(folder):
        path = folder / checkpoint_name(step)
        try:
            verified_manifest(path)
            state = TrainingState(**json.loads((path / STATE_FILE).read_text("utf-8")))
            for file in (WEIGHTS, OPTIMIZER_FILE):
                bad = next((name for name, tensor in load_weights(path / file).items() if not torch.isfinite(tensor).all()), None)
                if bad is not None:
                    raise BadInput(f"{path / file} holds values in {bad} that are not finite")
        except (BadInput, ValueError, TypeError, OSError) as error:
            faults.append(str(error).split(";")[0])
            continue
        if faults:
            say(f"{'; '.join(faults)}: resuming from {path.name} instead")
        return state, path
    if faults:
        raise BadInput(f"no usable checkpoint in {folder}: {'; '.join(faults)}; delete the folder to start again")
    return None


def weights_of_run(folder: Path, task: Task) -> dict[str, Tensor]:
    """What --init-from loads from another run: its finished model, else its newest checkpoint."""
    run = Run(folder)
    if run.settings["data"]["tokenizer"] != task.tokenizer.hash:
        raise BadInput(f"{folder} has another tokenizer, so its weights belong to other tokens; use its tokenizer, or leave out --init-from")
    if run.is_finished:
        verified_manifest(folder / MODEL_FOLDER)
        return load_weights(folder / MODEL_FOLDER / WEIGHTS)
    newest = newest_checkpoint(folder)
    if newest is None:
        raise BadInput(f"{folder} has no weights for --init-from yet; wait for its first checkpoint")
    return load_weights(newest[1] / WEIGHTS)


def restore(module: nn.Module, tensors: dict[str, Tensor] | None, workers: Workers | None = None) -> None:
    """Copy weights that rank 0 has read into the module of every rank; without workers, into that of this process alone."""
    current = named_tensors(module)
    if tensors is not None:
        check_fit(current, tensors)
    for name, target in current.items():
        source = tensors[name] if tensors is not None else None
        if workers is not None:
            workers.broadcast_tensor(target, source)
        elif source is not None:
            target.copy_(source)


def check_fit(current: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
    wrong = [name for name in {**current, **tensors} if name not in current or name not in tensors or current[name].shape != tensors[name].shape]
    if wrong:
        raise BadInput(f"the checkpoint does not fit the model: {', '.join(wrong[:3])} ({len(wrong)} in all); choose another --out")


def prune_checkpoints(folder: Path, keep: int, best: int | None, decay: int | None = None) -> None:
    """Delete all but the newest checkpoints, the best weights, and the checkpoint from which the run could be extended."""
    old = [folder / checkpoint_name(step) for step in checkpoint_steps(folder)[keep:] if step != decay]
    old += [path for path in best_folders(folder) if best is None or path.name != best_name(best)]
    for path in old:
        shutil.rmtree(path, ignore_errors=True)


def best_folders(folder: Path) -> Iterator[Path]:
    return (path for path in list(folder.iterdir()) if re.fullmatch(r"best-\d{9}", path.name))
