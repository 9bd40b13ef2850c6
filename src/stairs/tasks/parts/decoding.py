"""Generating one token after another, for any model that predicts: greedily, or by sampling. Beam search stands in `beam.py`."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from stairs.errors import Diverged
from stairs.fast.decode_state import DecodeState
from stairs.models.base import Model
from stairs.randomness import generator

InitialState = Callable[[list[int]], DecodeState | None]  # of the prompts of these numbers


def generate(
    model: Model, prompt: Sequence[int], *, length: int, stop: int, suppressed_ids: Sequence[int] = (), temperature: float = 0.0,
    top_k: int = 0, top_p: float = 1.0, seed: int = 0, initial_state: InitialState = lambda rows: None,
) -> list[int]:  # fmt: skip
    """`generate_batch` of one prompt."""
    return generate_batch(
        model, [prompt], length=length, stop=stop, suppressed_ids=suppressed_ids, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        initial_state=initial_state,
    )[0]  # fmt: skip


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
    initial_state: InitialState = lambda rows: None,
) -> list[list[int]]:
    """Up to `length` ids after each prompt, until `stop`. Prompts of one length are a batch, whose `initial_state` follows from their numbers.

    Temperature 0 is greedy: always the most probable id."""
    output_ids: list[list[int]] = [[] for _ in prompts]
    for size in sorted(set(map(len, prompts))):
        rows = [i for i, prompt in enumerate(prompts) if len(prompt) == size]
        unfinished = set(rows)
        with torch.no_grad():
            logits, state = model.prefill(torch.tensor([list(prompts[i]) for i in rows]), initial_state(rows))
        for position in range(length):
            logits[:, list(suppressed_ids)] = -torch.inf
            ids = [int(sample_token(row, temperature, top_k, top_p, seed, position)) for row in logits]
            unfinished -= {row for row, i in zip(rows, ids, strict=True) if i == stop}
            for row, i in zip(rows, ids, strict=True):
                if row in unfinished:
                    output_ids[row].append(i)
            if not unfinished or position + 1 == length:
                break
            with torch.no_grad():
                logits, state = model.decode_step(torch.tensor(ids), state)
    return output_ids


def prefill(model: Model, ids: Sequence[int], state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
    """The logits (V,) of the next id after `ids`, and the decoder's state."""
    with torch.no_grad():
        logits, state = model.prefill(torch.tensor([list(ids)]), state)
    return logits[0], state


def fast_argmax(logits: Tensor) -> Tensor:
    """The first maximum of each row, (B, V) to (B,); on a CPU, numpy finds it ten times as fast as PyTorch."""
    return logits.argmax(-1) if logits.device.type != "cpu" else torch.from_numpy(logits.numpy().argmax(-1))


def sample_token(logits: Tensor, temperature: float, top_k: int, top_p: float, seed: int, position: int) -> Tensor:
    """One id from logits (V,)."""
    if temperature == 0:
        return fast_argmax(logits[None])[0]
    probabilities, ids = (logits.double() / temperature).softmax(-1).sort(descending=True, stable=True)
    if top_k:
        probabilities[top_k:] = 0
    probabilities[probabilities.cumsum(-1) - probabilities >= top_p] = 0  # the smallest set that reaches top_p, never empty
    if not probabilities.isfinite().all():
        raise Diverged("the probabilities of the next token are not finite: the weights have diverged; train again with a lower learning rate")
    return ids[torch.multinomial(probabilities, 1, generator=generator(seed, "sample", position))[0]]
