"""Exact nearest neighbours by cosine, of one vector or of thousands.

The first few questions scan the rows where they lie, which may be a mapped file of millions. Whoever asks more gets a copy of the rows, each of
length 1, in bfloat16: a half of the memory to go through, and twice as fast to multiply where the processor does so; elsewhere blocks of it are
multiplied in float32. Its rounding is bounded, every row that could belong to the answer is kept, and those few are put in order with exact numbers:
the answer is the same, whichever way it was found.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch

from stairs import machine
from stairs.errors import BadInput
from stairs.kernels.bf16_gemv import times_vector
from stairs.kernels.nearest import at_least, cosines, keep_best, lengths_of, rank

PATIENCE = 8  # questions that are answered without the copy, which costs about as much as making it
QUERIES, ROWS = 256, 4096  # in one product, so that its scores stay in the cache
SPARE = 60  # more than are asked for, so that rounding hides none
UNIT_ROUNDING = 2.0**-24  # of float32
HALF_ROUNDING = 2.0**-9  # of bfloat16


class NearestNeighbours:
    """Rows (N, D) in float32, which stay where they are."""

    def __init__(self, vectors: np.ndarray, lengths: np.ndarray | None = None) -> None:
        self.vectors = vectors
        self.lengths = np.empty(len(vectors), np.float32) if lengths is None else lengths
        self.workers = max(1, torch.get_num_threads())
        self.pool = ThreadPoolExecutor(self.workers)
        self.query_count = 0
        self.copy: torch.Tensor | None = None  # (N, D) of length 1, in bfloat16
        self.rounding = 0.0  # length of the largest difference between a row of length 1 and its copy
        if lengths is None:
            self.run_in_threads(lambda part: lengths_of(vectors[part], self.lengths[part]))

    def nearest(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The `top` rows nearest to each query (Q, D), best first, and their cosines, (Q, top) each."""
        rows, width = self.vectors.shape
        if queries.ndim != 2 or queries.shape[1] != width:
            raise BadInput(f"vectors of width {queries.shape[-1]} came where these have width {width}; give vectors of the same run")
        top = min(top, rows)
        units = np.array(queries, np.float64)
        size = np.sqrt((units * units).sum(1, keepdims=True))
        units /= np.where(size > 0, size, 1.0)
        self.query_count += len(units)
        if self.query_count > PATIENCE and self.copy is None:
            self.make_copy()
        many = len(units) > PATIENCE and top + SPARE < rows
        found = self.search_many(units, top) if many else [self.search_one(unit, top) for unit in units]
        ids = np.array([places for places, _ in found], np.int64).reshape(len(units), top)
        return ids, np.array([scores for _, scores in found], np.float64).reshape(len(units), top)

    def search_one(self, unit: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        scores = np.empty(len(self.vectors), np.float32)
        query = unit.astype(np.float32)
        if self.copy is None:
            self.run_in_threads(lambda part: cosines(self.vectors[part], self.lengths[part], query, scores[part]))
        else:
            halves, nothing = self.copy.view(torch.uint16).numpy(), np.zeros(len(scores), np.float32)
            self.run_in_threads(lambda part: times_vector(halves[part], query, nothing[part], scores[part]))
        best, places = heaps(1, top)
        keep_best(scores[None], 0, best, places)
        return rank(self.vectors, unit, at_least(scores, best[0, 0] - 2 * self.error_bound(self.rounding)), top)

    def search_many(self, units: np.ndarray, top: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Products of blocks of queries with blocks of rows; a heap per query keeps the best of all blocks."""
        assert self.copy is not None
        found = []
        for begin in range(0, len(units), QUERIES):
            block = torch.from_numpy(units[begin : begin + QUERIES])
            given = block.to(torch.bfloat16 if machine.has_bf16() else torch.float32)
            rounding = self.rounding + float((block - given.double()).norm(dim=1).max())  # of the rows and of the queries
            score_rounding = HALF_ROUNDING if machine.has_bf16() else UNIT_ROUNDING  # the scores are rounded as well
            best, places = heaps(len(block), top + SPARE)
            for first in range(0, len(self.copy), ROWS):
                scores = (given @ self.copy[first : first + ROWS].to(given.dtype).T).float().numpy()
                self.run_in_threads(lambda part: keep_best(scores[part], first, best[part], places[part]), len(block))  # noqa: B023  used up at once
            for unit, own, rows in zip(units[begin : begin + QUERIES], best, places, strict=True):
                slack = self.error_bound(rounding + score_rounding * np.abs(own).max())
                bound = np.partition(own, SPARE)[SPARE] - 2 * slack  # of the `top` best the least, and what may be as good
                complete = own[0] < bound  # else there may be more of them than the heap holds
                found.append(rank(self.vectors, unit, rows[own >= bound], top) if complete else self.search_one(unit, top))
        return found

    def error_bound(self, rounding: float) -> float:
        """By how much a score may be wrong: rounded factors, and float32 sums."""
        return rounding + 4 * (self.vectors.shape[1] + 4) * UNIT_ROUNDING

    def make_copy(self) -> None:
        copy = torch.empty(self.vectors.shape, dtype=torch.bfloat16)
        for first in range(0, len(self.vectors), ROWS):
            part = slice(first, first + ROWS)
            unit = self.vectors[part] / np.where(self.lengths[part] > 0, self.lengths[part], 1)[:, None]
            exact = torch.from_numpy(unit)
            copy[part] = exact
            self.rounding = max(self.rounding, float((exact - copy[part].float()).norm(dim=1).max()))
        self.copy = copy

    def run_in_threads(self, work: Callable[[slice], None], count: int | None = None) -> None:
        """`work` on slices of all rows, or of `format_tokens` things, one a thread."""
        count = len(self.vectors) if count is None else count
        bounds = [count * i // self.workers for i in range(self.workers + 1)]
        parts = [slice(a, b) for a, b in pairwise(bounds)]
        list(map(work, parts) if self.workers == 1 else self.pool.map(work, parts))


def heaps(queries: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((queries, size), -np.inf, np.float32), np.zeros((queries, size), np.int64)
