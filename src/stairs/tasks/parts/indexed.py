"""Tasks that add nothing to an encoder but an index: vectors it gave, stored with what they stand for."""

import json
from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.tasks import TASKS
from stairs.tasks.config_file import CONFIG, TaskConfig
from stairs.tasks.parts.saved_model import load_weights
from stairs.tasks.task import Task

INDEX_FILE, INDEX_VECTORS = "index.json", "index.safetensors"


class Indexed(Task):
    """`encoder` is the task of the run that the index was made from, `stored_vectors` (N, D) are what it gave."""

    def __init__(self, encoder: Task, vectors: np.ndarray) -> None:
        super().__init__(encoder.model, encoder.tokenizer)
        self.encoder, self.stored_vectors = encoder, vectors

    @abstractmethod
    def index_metadata(self) -> Any:
        """What the vectors stand for, as plain data."""

    @classmethod
    @abstractmethod
    def from_index(cls, encoder: Task, metadata: Any, vectors: np.ndarray) -> Self:
        """The task again, from what `index_metadata` gave."""

    def describe(self) -> TaskConfig:
        return {**super().describe(), "encoder": self.encoder.describe()}

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)
        config = folder / CONFIG
        described = {**self.describe(), "encoder": json.loads(config.read_text("utf-8"))}
        config.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / INDEX_FILE).write_text(json.dumps(self.index_metadata(), ensure_ascii=False), "utf-8")
        save_file({"vectors": torch.from_numpy(np.ascontiguousarray(self.stored_vectors))}, folder / INDEX_VECTORS, metadata={"format": "pt"})

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        encoder = TASKS[described["encoder"]["task"]].open(folder, described["encoder"])
        metadata = json.loads((folder / INDEX_FILE).read_text("utf-8"))
        return cls.from_index(encoder, metadata, load_weights(folder / INDEX_VECTORS)["vectors"].numpy())
