"""Similar: which of some texts are nearest to this one, and how near are two texts?

The vector of every text of a file is computed once and kept; a question is compared with all of them, exactly (`search/nearest.py`). Judged on pairs
with scores, it is the rank correlation between their cosines and the scores, as is usual for STS.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from torch import Tensor

from stairs.errors import BadInput
from stairs.search.nearest import NearestNeighbours
from stairs.tasks.metrics import correlation_metrics
from stairs.tasks.parts.indexed import Indexed
from stairs.tasks.task import Task
from stairs.text.batch import Batch


class Similar(Indexed):
    """Texts in order of their cosine."""

    name = "similar"
    example_kind = "compare"

    def __init__(self, encoder: Task, texts: Sequence[str] = (), vectors: np.ndarray | None = None) -> None:
        super().__init__(encoder, encoder.vectors(list(texts)) if vectors is None else vectors)
        self.texts = list(texts)

    def vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> np.ndarray:
        return self.encoder.vectors(texts, encode)

    @functools.cached_property
    def index(self) -> NearestNeighbours:
        return NearestNeighbours(np.ascontiguousarray(self.stored_vectors, np.float32))

    def answer(self, text: str, *arguments: Any, top: int = 10, second: str | None = None, **options: Any) -> dict[str, Any]:
        """The nearest texts; with `second`, how near that one is."""
        if second is not None:
            return {"first": text, "second": second, "cosine": float(cosines(*self.vectors([text, second])[:, None])[0])}
        if not self.texts:
            raise BadInput("this run holds no texts to look in; give a --second to compare with")
        places, near = self.index.nearest(self.vectors([text]), min(top, len(self.texts)))
        found = zip(places[0].tolist(), near[0].tolist(), strict=True)
        return {"text": text, "near": [{"text": self.texts[place], "cosine": cosine} for place, cosine in found]}

    def evaluate(self, examples: Sequence[Any]) -> dict[str, Any]:
        unscored = next((example for example in examples if example.score is None), None)
        if unscored is not None:
            came = f"{unscored.where}: this pair has a label and no score"
            raise BadInput(f"{came}; cosines are judged by scores, labels by stairs tune --task compare")
        first, second = (self.vectors([getattr(example, side) for example in examples]) for side in ("first", "second"))
        truth, near = np.array([example.score for example in examples]), cosines(first, second)
        return correlation_metrics(truth, near)

    def index_metadata(self) -> list[str]:
        return self.texts

    @classmethod
    def from_index(cls, encoder: Task, kept: Any, known: np.ndarray) -> Self:
        return cls(encoder, kept, known)


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b = (rows.astype(np.float64) for rows in (first, second))
    return (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-12)
