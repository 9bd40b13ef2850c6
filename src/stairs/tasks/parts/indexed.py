"""What stands beside a run's own task instead of on top of it: the encoder as it is, and vectors it gave, kept with what they are of."""

import json
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.tasks.task import CONFIG, Task, load_weights

INDEX_FILE, INDEX_VECTORS = "index.json", "index.safetensors"


class Indexed(Task):
    """`encoder` is the run's own task, which makes the vectors; `stored_vectors` are those that are kept."""

    def __init__(self, encoder: Task, known: np.ndarray) -> None:
        super().__init__(encoder.model, encoder.tokenizer)
        self.encoder, self.stored_vectors = encoder, known

    def index_metadata(self) -> Any:
        """What the vectors are of, as plain data; `from_index` makes the task of it again."""
        raise AssertionError("each task has its own")

    @classmethod
    def from_index(cls, encoder: Task, kept: Any, known: np.ndarray) -> Self:
        raise AssertionError("each task has its own")

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "encoder": self.encoder.describe()}

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)
        config = folder / CONFIG
        described = {**self.describe(), "encoder": json.loads(config.read_text("utf-8"))}
        config.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / INDEX_FILE).write_text(json.dumps(self.index_metadata(), ensure_ascii=False), "utf-8")
        save_file({"vectors": torch.from_numpy(np.ascontiguousarray(self.stored_vectors))}, folder / INDEX_VECTORS, metadata={"format": "pt"})

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        from stairs.tasks import TASKS

        encoder = TASKS[described["encoder"]["task"]].open(folder, described["encoder"])
        return cls.from_index(encoder, json.loads((folder / INDEX_FILE).read_text("utf-8")), load_weights(folder / INDEX_VECTORS)["vectors"].numpy())
