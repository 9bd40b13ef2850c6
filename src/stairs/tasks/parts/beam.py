"""Beam search: the `beam_size` most probable beginnings of a sentence are each continued in every way, and the most probable of all those are kept.

A finished sentence of length n has the score (sum of ln p) / n^length_penalty, or else short ones would always win; p is the probability of a token
among those that are not suppressed. The search for a source is over when `beam_size` hypotheses are finished and no unfinished one has a higher score
than the worst of them.

Departures: Wu et al. 2016, whom "Attention Is All You Need" follows, divide by ((5 + n) / 6)^alpha instead of n^alpha.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.kernels.nearest import keep_best
from stairs.models.base import Model
from stairs.tasks.answers import TreeNode


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that beam search found, without its end."""

    ids: list[int]
    score: float
    log_probability: float
    is_finished: bool  # by its end, not by the limit of its length


@dataclass
class BeamResult:
    """The hypotheses for one source, the best first; and the search tree if asked for: all nodes of each position, the most probable first."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    tree: list[list[TreeNode]] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis, limit: int) -> None:
        self.hypotheses = sorted([*self.hypotheses, hypothesis], key=lambda one: -one.score)[:limit]


def check_beam_size(beam_size: int, n_best: int) -> None:
    if not 1 <= beam_size <= 1000:
        raise BadInput(f"a beam size of {beam_size} is not between 1 and 1000")
    if not 1 <= n_best <= beam_size:
        raise BadInput(f"{n_best} best of a beam of {beam_size}: give a number from 1 to {beam_size}, or a larger beam")


@torch.inference_mode()
def beam_search(
    model: Model,
    state: Any,
    first: Tensor,
    *,
    beam_size: int,
    length: int,
    stop: int,
    suppressed_ids: Sequence[int] = (),
    length_penalty: float = 1.0,
    tree: bool = False,
) -> list[BeamResult]:
    """The `beam_size` best sentences after each of the `first` ids, (B,), the best first. A source whose search is over leaves the batch."""
    logits, state = model.prefill(first[:, None], state)
    results = active = [BeamResult() for _ in first]
    scores = np.zeros((len(first), 1))  # of each beginning; there is one at first
    output_ids = np.zeros((len(first), 1, length), np.int64)
    for position in range(length):
        values, rows, ids = candidates(logits, scores, suppressed_ids, 2 * beam_size)  # twice as many, since half of them may be ends
        is_last, norm = position + 1 == length, (position + 1) ** length_penalty
        is_end = ids == stop
        for source, place in np.argwhere((is_end | is_last)[:, :beam_size] & np.isfinite(values)[:, :beam_size]):
            is_finished, value = bool(is_end[source, place]), float(values[source, place])
            last_id = [] if is_finished else [int(ids[source, place])]
            own_ids = [*output_ids[source, rows[source, place], :position].tolist(), *last_id]
            active[source].add(Hypothesis(own_ids, value / norm, value, is_finished), beam_size)
        survivors = np.argsort(is_end, 1, kind="stable")[:, :beam_size]  # the most probable that are not finished
        if tree:
            record_tree(active, values, rows, ids, is_end, survivors)
        values = np.where(is_end, -np.inf, values)
        values, rows, ids = (np.take_along_axis(array, survivors, 1) for array in (values, rows, ids))
        best = values[:, 0] / norm
        is_over = np.array(
            [len(one.hypotheses) == beam_size and bound <= one.hypotheses[-1].score for one, bound in zip(active, best, strict=True)]
        )
        if is_last or is_over.all():
            break
        parents = np.arange(len(rows))[:, None] * scores.shape[1] + rows
        output_ids = np.take_along_axis(output_ids, rows[..., None], 1)
        output_ids[:, :, position] = ids
        active = [one for one, over in zip(active, is_over, strict=True) if not over]
        scores, output_ids, ids, parents = (array[~is_over] for array in (values, output_ids, ids, parents))
        next_ids, next_rows = (torch.from_numpy(numbers.ravel()).to(first.device) for numbers in (ids, parents))
        logits, state = model.decode_step(next_ids, state.reorder(next_rows))
    return results


def candidates(logits: Tensor, scores: np.ndarray, suppressed_ids: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `count` most probable continuations of the rows of each source, (B, count): their log-probabilities, the row that each continues, and the
    id that it adds. `scores` (B, K) are the log-probabilities of the rows, `logits` (B K, V) those of the next id. Where there are too few, the rest
    have the log-probability -inf."""
    sources, size = scores.shape
    logits = logits.cpu()
    if len(suppressed_ids):
        logits[:, list(suppressed_ids)] = -torch.inf  # the probabilities of the others sum to 1, as in other tools
    probabilities = logits.softmax(-1).numpy()
    best, ids = np.full((len(logits), count), -np.inf, np.float32), np.zeros((len(logits), count), np.int64)
    keep_best(logits.numpy(), 0, best, ids)
    most_probable = best.argmax(1)[:, None]
    probability = np.take_along_axis(probabilities, np.take_along_axis(ids, most_probable, 1), 1)
    # the normalizer is the logit of any one id minus the logarithm of its probability
    normalizer = np.take_along_axis(best, most_probable, 1) - np.log(np.maximum(probability, np.finfo(np.float32).tiny), dtype=np.float64)
    values = ((best - normalizer).reshape(sources, size, count) + scores[..., None]).reshape(sources, -1)
    ids = ids.reshape(sources, -1)
    order = np.lexsort((ids, -values))[:, :count]  # of equally probable ones the first of the vocabulary, as everywhere
    return np.take_along_axis(values, order, 1), order // count, np.take_along_axis(ids, order, 1)


def record_tree(
    active: list[BeamResult], values: np.ndarray, rows: np.ndarray, ids: np.ndarray, is_end: np.ndarray, survivors: np.ndarray
) -> None:
    """The nodes of one position, for each source."""
    for source, result in enumerate(active):
        ranks = {int(place): rank for rank, place in enumerate(survivors[source])}
        nodes: list[TreeNode] = []
        for place, value in enumerate(values[source]):
            if np.isfinite(value):
                ends_here = bool(is_end[source, place])
                nodes.append({
                    "parent": int(rows[source, place]),
                    "id": int(ids[source, place]),
                    "log_probability": float(value),
                    "rank": None if ends_here else ranks.get(place),
                    "is_finished": ends_here and place < survivors.shape[1],
                })  # fmt: skip
        result.tree.append(nodes)
