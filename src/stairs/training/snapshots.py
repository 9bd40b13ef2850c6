"""Word vectors while they learn: those of the commonest words, kept after every epoch, small enough to be drawn.

snapshot-0003/   vectors.safetensors (N, D), words.json, and a manifest of sizes and sha256
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stairs.files import new_folder, verified_manifest
from stairs.tasks.task import Task, load_weights
from stairs.text.batch import Batch
from stairs.text.special import SPECIAL_TOKENS
from stairs.training.checkpoint import write_tensors

MAX_WORDS = 300  # shown, at most
VECTORS_FILE, WORDS_FILE = "vectors.safetensors", "words.json"


def write_snapshot(task: Task, folder: Path, epoch: int) -> None:
    """The vectors as they are now."""
    counts: torch.Tensor = task.model.counts  # type: ignore[assignment]
    ranked = counts.argsort(descending=True, stable=True)
    ids = ranked[ranked >= len(SPECIAL_TOKENS)][:MAX_WORDS]
    with torch.no_grad():
        vectors = task.model.encode(Batch(ids[None], torch.ones_like(ids[None], dtype=torch.bool)))[0]
    with new_folder(folder / f"snapshot-{epoch:04d}") as aside:
        write_tensors({"vectors": vectors.float().contiguous()}, aside / VECTORS_FILE)
        (aside / WORDS_FILE).write_text(json.dumps([task.tokenizer.token(i) for i in ids.tolist()], ensure_ascii=False), "utf-8")


def read_snapshots(folder: str | Path) -> list[dict[str, Any]]:
    """Of a run, by epoch: {"epoch": 0, "words": [...], "vectors": (N, D)}; the words are the same in all of them."""
    found = sorted(path for path in Path(folder).iterdir() if re.fullmatch(r"snapshot-\d{4,}", path.name))
    return [read_snapshot(path) for path in found]


def read_snapshot(path: Path) -> dict[str, Any]:
    verified_manifest(path)
    vectors: np.ndarray = load_weights(path / VECTORS_FILE)["vectors"].numpy()
    return {"epoch": int(path.name.split("-")[1]), "words": json.loads((path / WORDS_FILE).read_text("utf-8")), "vectors": vectors}
