"""Similar: which texts of a collection are nearest to this one, and how near are two texts?

The vector of every text of a file is computed once and stored; a query is compared with all of them, exactly (`search/nearest.py`). It is evaluated
on pairs with scores, by the rank correlation between their cosines and the scores, as is usual for STS.
"""

import functools
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np

from stairs.errors import BadInput
from stairs.search.nearest import NearestNeighbours
from stairs.tasks.answers import Answer, CosineAnswer, TextNeighboursAnswer
from stairs.tasks.measurements import CorrelationMetrics
from stairs.tasks.metrics import correlation_metrics
from stairs.tasks.parts.indexed import Indexed
from stairs.tasks.task import Encoder, Task


class Similar(Indexed):
    """Texts in order of their cosine."""

    name = "similar"
    example_kind = "compare"
    takes_pairs = True
    searches_texts = True

    def __init__(self, encoder: Task, texts: Sequence[str] = (), vectors: np.ndarray | None = None) -> None:
        super().__init__(encoder, encoder.vectors(list(texts)) if vectors is None else vectors)
        self.texts = list(texts)

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        return self.encoder.vectors(texts, encode)

    @functools.cached_property
    def index(self) -> NearestNeighbours:
        return NearestNeighbours(np.ascontiguousarray(self.stored_vectors, np.float32))

    def answer(self, text: str, *, top: int = 10, second: str | None = None) -> TextNeighboursAnswer | CosineAnswer:
        """The nearest texts; with `second`, the cosine between the two."""
        if second is not None:
            return {"first": text, "second": second, "cosine": float(cosines(*self.vectors([text, second])[:, None])[0])}
        if not self.texts:
            raise BadInput("this run has no texts to search; give a --second to compare with")
        numbers, similarities = self.index.nearest(self.vectors([text]), min(top, len(self.texts)))
        neighbours = zip(numbers[0].tolist(), similarities[0].tolist(), strict=True)
        return {"text": text, "near": [{"text": self.texts[number], "cosine": cosine} for number, cosine in neighbours]}

    def summary(self, answer: Answer) -> str:
        if "cosine" in answer:
            return f"cosine {answer['cosine']:.4f}"
        return "\n".join(f"{neighbour['cosine']:.2f}  {neighbour['text']}" for neighbour in cast(TextNeighboursAnswer, answer)["near"])

    def evaluate_examples(self, examples: Sequence[Any]) -> CorrelationMetrics:
        unscored = next((example for example in examples if example.score is None), None)
        if unscored is not None:
            reason = f"{unscored.where}: this pair has a label and no score"
            raise BadInput(f"{reason}; cosines are compared with scores, and stairs tune --task compare learns labels")
        first, second = (self.vectors([getattr(example, side) for example in examples]) for side in ("first", "second"))
        return correlation_metrics(np.array([example.score for example in examples]), cosines(first, second))

    def index_metadata(self) -> list[str]:
        return self.texts

    @classmethod
    def from_index(cls, encoder: Task, metadata: Any, vectors: np.ndarray) -> Self:
        return cls(encoder, metadata, vectors)


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of the vectors in the same row of both."""
    a, b = (rows.astype(np.float64) for rows in (first, second))
    similarities: np.ndarray = (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-12)
    return similarities
