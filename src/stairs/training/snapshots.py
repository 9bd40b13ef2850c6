"""Word vectors during training: those of the most frequent words, saved after every epoch, small enough to be drawn.

snapshot-0003/   vectors.safetensors (N, D), words.json, and a manifest of sizes and sha256
"""

import json
import re
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch

from stairs.files import new_folder, verified_manifest
from stairs.tasks.parts.saved_model import load_weights
from stairs.tasks.task import Task
from stairs.text.batch import Batch
from stairs.text.special import SPECIAL_TOKENS
from stairs.training.checkpoint import write_tensors

MAX_WORDS = 300
VECTORS_FILE, WORDS_FILE = "vectors.safetensors", "words.json"


class Snapshot(TypedDict):
    epoch: int
    words: list[str]  # the same in all snapshots of a run
    vectors: np.ndarray  # (N, D)


def write_snapshot(task: Task, folder: Path, epoch: int) -> None:
    """The vectors as they are now."""
    counts: torch.Tensor = task.model.counts  # type: ignore[assignment]
    ranking = counts.argsort(descending=True, stable=True)
    ids = ranking[ranking >= len(SPECIAL_TOKENS)][:MAX_WORDS]
    with torch.no_grad():
        vectors = task.model.encode(Batch(ids[None], torch.ones_like(ids[None], dtype=torch.bool)))[0]
    with new_folder(folder / f"snapshot-{epoch:04d}") as temporary:
        write_tensors({"vectors": vectors.float().contiguous()}, temporary / VECTORS_FILE)
        (temporary / WORDS_FILE).write_text(json.dumps([task.tokenizer.token(i) for i in ids.tolist()], ensure_ascii=False), "utf-8")


def read_snapshots(folder: str | Path) -> list[Snapshot]:
    """The snapshots of a run, in the order of the epochs."""
    return [read_snapshot(path) for path in sorted(Path(folder).iterdir()) if re.fullmatch(r"snapshot-\d{4,}", path.name)]


def read_snapshot(path: Path) -> Snapshot:
    verified_manifest(path)
    vectors: np.ndarray = load_weights(path / VECTORS_FILE)["vectors"].numpy()
    return {"epoch": int(path.name.split("-")[1]), "words": json.loads((path / WORDS_FILE).read_text("utf-8")), "vectors": vectors}
