"""Word vectors while they learn: those of the commonest words, kept after every epoch, small enough to be drawn.

snapshot-0003/   vectors.safetensors (N, D), words.json, and a manifest of sizes and sha256
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stairs.files import manifest_of, new_folder
from stairs.tasks.task import Task, load_weights
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import SPECIAL_TOKENS
from stairs.training.checkpoint import write_tensors

WORDS = 300  # shown, at most
VECTORS, NAMES = "vectors.safetensors", "words.json"


def keep_snapshot(task: Task, folder: Path, epoch: int) -> None:
    """The vectors as they are now."""
    counts: torch.Tensor = task.model.counts  # type: ignore[assignment]
    ranked = counts.argsort(descending=True, stable=True)
    ids = ranked[ranked >= len(SPECIAL_TOKENS)][:WORDS]
    with torch.no_grad():
        vectors = task.model.encode(Batch(ids[None], torch.ones_like(ids[None], dtype=torch.bool)))[0]
    with new_folder(folder / f"snapshot-{epoch:04d}") as aside:
        write_tensors({"vectors": vectors.float().contiguous()}, aside / VECTORS)
        (aside / NAMES).write_text(json.dumps([task.tokenizer.token(i) for i in ids.tolist()], ensure_ascii=False), "utf-8")


def snapshots(folder: str | Path) -> list[dict[str, Any]]:
    """Of a run, by epoch: {"epoch": 0, "words": [...], "vectors": (N, D)}; the words are the same in all of them."""
    found = sorted(path for path in Path(folder).iterdir() if re.fullmatch(r"snapshot-\d{4,}", path.name))
    return [snapshot(path) for path in found]


def snapshot(path: Path) -> dict[str, Any]:
    manifest_of(path)
    vectors: np.ndarray = load_weights(path / VECTORS)["vectors"].numpy()
    return {"epoch": int(path.name.split("-")[1]), "words": json.loads((path / NAMES).read_text("utf-8")), "vectors": vectors}
