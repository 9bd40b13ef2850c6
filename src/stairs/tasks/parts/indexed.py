"""What stands beside a run's own task instead of on top of it: the encoder as it is, and vectors it gave, kept with what they are of."""

import json
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import save_file

from stairs.tasks.task import CONFIG, Task, weights

KEPT, VECTORS = "kept.json", "kept.safetensors"


class Beside(Task):
    """`encoder` is the run's own task, which makes the vectors; `known` are those that are kept."""

    def __init__(self, encoder: Task, known: np.ndarray) -> None:
        super().__init__(encoder.model, encoder.tokenizer)
        self.encoder, self.known = encoder, known

    def kept(self) -> Any:
        """What the vectors are of, as plain data; `remade` makes the task of it again."""
        raise AssertionError("each task has its own")

    @classmethod
    def remade(cls, encoder: Task, kept: Any, known: np.ndarray) -> Self:
        raise AssertionError("each task has its own")

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "encoder": self.encoder.describe()}

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)
        config = folder / CONFIG
        described = {**self.describe(), "encoder": json.loads(config.read_text("utf-8"))}
        config.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / KEPT).write_text(json.dumps(self.kept(), ensure_ascii=False), "utf-8")
        save_file({"vectors": torch.from_numpy(np.ascontiguousarray(self.known))}, folder / VECTORS, metadata={"format": "pt"})

    @classmethod
    def open(cls, folder: Path, described: dict[str, Any]) -> Self:
        from stairs.tasks import TASKS

        encoder = TASKS[described["encoder"]["task"]].open(folder, described["encoder"])
        return cls.remade(encoder, json.loads((folder / KEPT).read_text("utf-8")), weights(folder / VECTORS)["vectors"].numpy())
