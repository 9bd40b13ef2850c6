"""Choosing what to say next, for any model that predicts: always the likeliest, drawn by chance, or by looking ahead along several ways at once.

Beam search keeps the `beam_size` likeliest beginnings of a sentence; each is continued in every way, and the likeliest of all those are kept. An
ended sentence of length n is worth (sum of ln p) / n^length_penalty, or else short ones would always win, with p the chance of a word among those
that may be said; the search of a sentence is over when `beam_size` have ended and no beginning is worth more than the worst of them.

Departures: Wu et al. 2016, whom "Attention Is All You Need" follows, divide by ((5 + n) / 6)^alpha instead of n^alpha.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.kernels.nearest import keep_best
from stairs.models.base import Model
from stairs.randomness import generator


def generate(model: Model, prompt: Sequence[int], **options: Any) -> list[int]:
    """`generate_batch` of one prompt."""
    return generate_batch(model, [prompt], **options)[0]


def generate_batch(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    length: int,
    stop: int,
    suppressed_ids: Sequence[int] = (),
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    initial_state: Callable[[list[int]], Any] = lambda rows: None,
) -> list[list[int]]:
    """Up to `length` ids after each prompt, until `stop`; prompts of one length go through the model together.

    Temperature 0 is greedy: always the likeliest. `open_output` is the state to begin with for the prompts of some numbers.
    """
    said: list[list[int]] = [[] for _ in prompts]
    for size in sorted(set(map(len, prompts))):
        rows = [i for i, prompt in enumerate(prompts) if len(prompt) == size]
        going = set(rows)
        with torch.no_grad():
            logits, state = model.prefill(torch.tensor([list(prompts[i]) for i in rows]), initial_state(rows))
        for position in range(length):
            logits[:, list(suppressed_ids)] = -torch.inf
            chosen = [int(sample_token(row, temperature, top_k, top_p, seed, position)) for row in logits]
            going -= {i for i, word in zip(rows, chosen, strict=True) if word == stop}
            for i, word in zip(rows, chosen, strict=True):
                if i in going:
                    said[i].append(word)
            if not going or position + 1 == length:
                break
            with torch.no_grad():
                logits, state = model.decode_step(torch.tensor(chosen), state)
    return said


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that beam search found, without its end."""

    ids: list[int]
    score: float
    log_probability: float
    is_finished: bool  # by itself, not by the limit


@dataclass
class BeamResult:
    """A source and what was found for it; `checkpoint_steps` is the tree, if it was asked for: of each step all that was looked at, the likeliest
    first."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    steps: list[list[dict[str, Any]]] = field(default_factory=list)

    def add(self, said: Hypothesis, limit: int) -> None:
        self.hypotheses = sorted([*self.hypotheses, said], key=lambda one: -one.score)[:limit]


def check_beam_size(beam_size: int, n_best: int) -> None:
    if not 1 <= beam_size <= 1000:
        raise BadInput(f"a beam of {beam_size} is not between 1 and 1000")
    if not 1 <= n_best <= beam_size:
        raise BadInput(f"{n_best} top beams of a beam of {beam_size}: give a number from 1 to {beam_size}, or a larger beam")


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
    all_searched = searched = [BeamResult() for _ in first]
    scores = np.zeros((len(first), 1))  # of each beginning; at first there is one
    said = np.zeros((len(first), 1, length), np.int64)
    for position in range(length):
        values, rows, words = candidates(logits, scores, suppressed_ids, 2 * beam_size)  # as many again, since half of them may be ends
        last, worth = position + 1 == length, (position + 1) ** length_penalty
        ends = words == stop
        for source, place in np.argwhere((ends | last)[:, :beam_size] & np.isfinite(values)[:, :beam_size]):
            ended = bool(ends[source, place])
            ids = [*said[source, rows[source, place], :position].tolist(), *([] if ended else [int(words[source, place])])]
            value = float(values[source, place])
            searched[source].add(Hypothesis(ids, value / worth, value, ended), beam_size)
        going = np.argsort(ends, 1, kind="stable")[:, :beam_size]  # the likeliest that have not ended
        if tree:
            record_tree(searched, values, rows, words, ends, going)
        values = np.where(ends, -np.inf, values)
        values, rows, words = (np.take_along_axis(found, going, 1) for found in (values, rows, words))
        best = values[:, 0] / worth
        over = np.array([len(one.hypotheses) == beam_size and most <= one.hypotheses[-1].score for one, most in zip(searched, best, strict=True)])
        if last or over.all():
            break
        parents = np.arange(len(rows))[:, None] * scores.shape[1] + rows
        said = np.take_along_axis(said, rows[..., None], 1)
        said[:, :, position] = words
        searched = [one for one, left in zip(searched, over, strict=True) if not left]
        scores, said, words, parents = (part[~over] for part in (values, said, words, parents))
        read, kept = (torch.from_numpy(numbers.ravel()).to(first.device) for numbers in (words, parents))
        logits, state = model.decode_step(read, state.reorder(kept))
    return all_searched


def candidates(logits: Tensor, scores: np.ndarray, suppressed_ids: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all continuations of the rows of each source the `format_tokens` likeliest, (B, count): log-chances of the whole, which row each continues,
    and by which id. `scores` (B, K) are the rows' own, `logits` (B K, V) say what may follow. Where there are too few, some are impossible."""
    sources, size = scores.shape
    logits = logits.cpu()
    if len(suppressed_ids):
        logits[:, list(suppressed_ids)] = -torch.inf  # the chances of the others sum to 1, as in other tools
    probabilities = logits.softmax(-1).numpy()
    best, words = np.full((len(logits), count), -np.inf, np.float32), np.zeros((len(logits), count), np.int64)
    keep_best(logits.numpy(), 0, best, words)
    likely = best.argmax(1)[:, None]
    # of one word each chance and logit are known, hence their distance
    known = np.take_along_axis(probabilities, np.take_along_axis(words, likely, 1), 1)
    everything = np.take_along_axis(best, likely, 1) - np.log(np.maximum(known, np.finfo(np.float32).tiny), dtype=np.float64)
    values = ((best - everything).reshape(sources, size, count) + scores[..., None]).reshape(sources, -1)
    words = words.reshape(sources, -1)
    order = np.lexsort((words, -values))[:, :count]  # of equally likely ones the first of the vocabulary, as everywhere
    return np.take_along_axis(values, order, 1), order // count, np.take_along_axis(words, order, 1)


def record_tree(searched: list[BeamResult], values: np.ndarray, rows: np.ndarray, words: np.ndarray, ends: np.ndarray, going: np.ndarray) -> None:
    """A step of the tree of each source: what was looked at, which beginning it continues, and its place among those that go on."""
    for source, one in enumerate(searched):
        places = {int(place): number for number, place in enumerate(going[source])}
        step = []
        for place, value in enumerate(values[source]):
            if np.isfinite(value):
                ended = bool(ends[source, place])
                kept = None if ended else places.get(place)
                node = {"parent": int(rows[source, place]), "id": int(words[source, place]), "log_probability": float(value), "rank": kept}
                step.append(node | {"is_finished": ended and place < going.shape[1]})
        one.steps.append(step)


def prefill(model: Model, ids: Sequence[int], state: Any = None) -> tuple[Tensor, Any]:
    """What may follow when `ids` have been read, (V,), and the state to go on from."""
    with torch.no_grad():
        logits, state = model.prefill(torch.tensor([list(ids)]), state)
    return logits[0], state


def fast_argmax(logits: Tensor) -> Tensor:
    """The first of the largest of each row, (B, V) to (B,); numpy finds it ten times as fast as PyTorch does on a CPU."""
    return logits.argmax(-1) if logits.device.type != "cpu" else torch.from_numpy(logits.numpy().argmax(-1))


def sample_token(logits: Tensor, temperature: float, top_k: int, top_p: float, seed: int, position: int) -> Tensor:
    """One id from logits (V,)."""
    if temperature == 0:
        return fast_argmax(logits[None])[0]
    probabilities = (logits.double() / temperature).softmax(-1)
    ranked, order = probabilities.sort(descending=True, stable=True)
    if top_k:
        ranked[top_k:] = 0
    ranked[ranked.cumsum(-1) - ranked >= top_p] = 0  # the smallest set that reaches top_p, never empty
    return order[torch.multinomial(ranked, 1, generator=generator(seed, "sample", position))[0]]
