"""The model and the tokenizer of a task that was saved."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from stairs.errors import BadInput
from stairs.models import MODELS
from stairs.models.base import Model
from stairs.models.elmo import ELMo
from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.text.tokenizers.open_vocabulary import OpenVocabulary
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from stairs.tasks.task import Task


def open_vocabulary(model: ELMo, tokenizer: Tokenizer) -> OpenVocabulary:
    """The tokenizer of a model that reads the characters of any word. Its "cnn" softmax makes the output vectors from those of the vocabulary."""
    config = model.config
    vocabulary = tokenizer if isinstance(tokenizer, OpenVocabulary) else OpenVocabulary(tokenizer, config.character_set, config.max_word_length)
    if config.softmax == "cnn":
        model.set_vocabulary(vocabulary.character_ids(torch.arange(model.output_vocab)))
    return vocabulary


def load_model(folder: Path, described: TaskConfig) -> tuple[Model, Tokenizer]:
    """The model and the tokenizer of a task that was saved."""
    model = MODELS[described["model"]].from_saved(described["config"], load_weights(folder / WEIGHTS), folder / CONFIG)
    return model.eval(), Tokenizer.load(folder)


def load_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path} is not a readable safetensors file: {error}") from None


def save_prefixed(task: "Task", folder: Path, prefix: str) -> None:
    """The files of a task that is a part of another one, in the same folder under other names."""
    with tempfile.TemporaryDirectory(prefix="stairs-") as name:
        task.save(Path(name))
        for path in sorted(Path(name).iterdir()):
            shutil.move(path, folder / f"{prefix}{path.name}")


def open_prefixed(folder: Path, prefix: str) -> "Task":
    """The task whose files `save_prefixed` wrote."""
    from stairs.tasks import TASKS

    with tempfile.TemporaryDirectory(prefix="stairs-") as name:
        for path in folder.glob(f"{prefix}*"):
            (Path(name) / path.name.removeprefix(prefix)).symlink_to(path.resolve())
        described: TaskConfig = json.loads((Path(name) / CONFIG).read_text("utf-8"))
        return TASKS[described["task"]].open(Path(name), described)
