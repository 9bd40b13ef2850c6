"""A run that begins with the weights of another one: --init-from."""

from pathlib import Path

from torch import Tensor

from stairs.errors import BadInput
from stairs.files import verified_manifest
from stairs.tasks.task import WEIGHTS, Task, load_weights
from stairs.training import checkpoint
from stairs.training.run import MODEL_FOLDER, Run


def newest_weights(folder: Path, task: Task) -> dict[str, Tensor]:
    """Of another run: its finished model, or else its newest checkpoint."""
    run = Run(folder)
    if run.settings["data"]["tokenizer"] != task.tokenizer.hash:
        raise BadInput(f"{folder} cuts its text otherwise than this run, so its weights mean other tokens; use its tokenizer, or no --init-from")
    if run.is_finished:
        verified_manifest(folder / MODEL_FOLDER)
        return load_weights(folder / MODEL_FOLDER / WEIGHTS)
    found = checkpoint.newest_checkpoint(folder)
    if found is None:
        raise BadInput(f"{folder} has no weights yet to --init-from from; wait for its first checkpoint")
    return load_weights(found[1] / WEIGHTS)
