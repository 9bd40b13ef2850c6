"""Exact nearest neighbours by cosine, of one vector or of thousands.

The first few queries scan the rows where they are, which may be a mapped file of millions. After that there is a copy of the rows, each of length 1,
in bfloat16: half the memory to read, and twice as fast to multiply where the processor can; elsewhere blocks of it are multiplied in float32. Its
rounding is bounded, every row that could belong to the answer is kept, and those few are ranked with exact numbers: the answer is always the same
(tests/search/test_nearest.py).
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

PATIENCE = 8  # queries without the copy, about as many as making it costs
QUERIES, ROWS = 256, 4096  # in one product, so that its scores stay in the cache
SPARE = 60  # more than asked for, so that rounding hides none
UNIT_ROUNDING = 2.0**-24  # of float32
HALF_ROUNDING = 2.0**-9  # of bfloat16


class NearestNeighbours:
    """An index of rows (N, D) in float32, which stay where they are.

    Who is more like Jay, person 0 or person 1? By two traits of their character, and by five:

    >>> jay = np.array([[-0.4, 0.8, 0.5, -0.2, 0.3]], np.float32)
    >>> persons = np.array([[-0.3, 0.2, 0.3, -0.4, 0.9], [-0.5, -0.4, -0.2, 0.7, -0.1]], np.float32)
    >>> for traits in (2, 5):
    ...     (order,), (cosines,) = NearestNeighbours(np.ascontiguousarray(persons[:, :traits])).nearest(jay[:, :traits], top=2)
    ...     print(traits, order, *(f"{cosine:.3f}" for cosine in cosines))
    2 [0 1] 0.868 -0.210
    5 [0 1] 0.658 -0.368
    """

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

    def __deepcopy__(self, memory: dict[int, object]) -> "NearestNeighbours":
        """The same one: nothing changes its rows, and its threads cannot be copied."""
        return self

    def nearest(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The `top` rows nearest to each query (Q, D), best first, and their cosines, (Q, top) each."""
        rows, width = self.vectors.shape
        if queries.ndim != 2 or queries.shape[1] != width:
            raise BadInput(f"the query has width {queries.shape[-1]} and the index {width}; give vectors of the same run")
        top = min(top, rows)
        units = np.array(queries, np.float64)
        size = np.sqrt((units * units).sum(1, keepdims=True))
        units /= np.where(size > 0, size, 1.0)
        self.query_count += len(units)
        if self.query_count > PATIENCE and self.copy is None:
            self.make_copy()
        many = len(units) > PATIENCE and top + SPARE < rows
        results = self.search_many(units, top) if many else [self.search_one(unit, top) for unit in units]
        ids = np.array([rows for rows, _ in results], np.int64).reshape(len(units), top)
        return ids, np.array([scores for _, scores in results], np.float64).reshape(len(units), top)

    def search_one(self, unit: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        scores = np.empty(len(self.vectors), np.float32)
        query = unit.astype(np.float32)
        if self.copy is None:
            self.run_in_threads(lambda part: cosines(self.vectors[part], self.lengths[part], query, scores[part]))
        else:
            bits, no_bias = self.copy.view(torch.uint16).numpy(), np.zeros(len(scores), np.float32)
            self.run_in_threads(lambda part: times_vector(bits[part], query, no_bias[part], scores[part]))
        best, rows = heaps(1, top)
        keep_best(scores[None], 0, best, rows)
        return rank(self.vectors, unit, at_least(scores, best[0, 0] - 2 * self.error_bound(self.rounding)), top)

    def search_many(self, units: np.ndarray, top: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Products of blocks of queries with blocks of rows; a heap per query keeps the best of all blocks."""
        assert self.copy is not None
        results = []
        for start in range(0, len(units), QUERIES):
            block = torch.from_numpy(units[start : start + QUERIES])
            rounded = block.to(torch.bfloat16 if machine.has_bf16() else torch.float32)
            rounding = self.rounding + float((block - rounded.double()).norm(dim=1).max())  # of the rows and of the queries
            score_rounding = HALF_ROUNDING if machine.has_bf16() else UNIT_ROUNDING  # the scores are rounded as well
            best, best_rows = heaps(len(block), top + SPARE)
            for first in range(0, len(self.copy), ROWS):
                scores = (rounded @ self.copy[first : first + ROWS].to(rounded.dtype).T).float().numpy()
                self.run_in_threads(lambda part: keep_best(scores[part], first, best[part], best_rows[part]), len(block))  # noqa: B023  used up at once
            for unit, own, rows in zip(units[start : start + QUERIES], best, best_rows, strict=True):
                slack = self.error_bound(rounding + score_rounding * np.abs(own).max())
                bound = np.partition(own, SPARE)[SPARE] - 2 * slack  # the least of the `top` best, less what rounding may hide
                is_complete = own[0] < bound  # else there may be more of them than the heap holds
                results.append(rank(self.vectors, unit, rows[own >= bound], top) if is_complete else self.search_one(unit, top))
        return results

    def error_bound(self, rounding: float) -> float:
        """The largest error of a score: rounded factors, and float32 sums."""
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
        """`work` on slices of all rows, or of `count` things, one for each thread."""
        count = len(self.vectors) if count is None else count
        bounds = [count * i // self.workers for i in range(self.workers + 1)]
        parts = [slice(a, b) for a, b in pairwise(bounds)]
        list(map(work, parts) if self.workers == 1 else self.pool.map(work, parts))


def heaps(queries: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((queries, size), -np.inf, np.float32), np.zeros((queries, size), np.int64)
