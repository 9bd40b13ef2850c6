"""Choosing what to say next, for any model that predicts."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from stairs.models.base import Model


def continuation(model: Model, prompt: Sequence[int], **options: Any) -> list[int]:
    """`continuations` of one prompt."""
    return continuations(model, [prompt], **options)[0]


def continuations(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    length: int,
    stop: int,
    forbidden: Sequence[int] = (),
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
) -> list[list[int]]:
    """Up to `length` ids after each prompt, until `stop`; prompts of one length go through the model together.

    Temperature 0 is greedy: always the likeliest.
    """
    said: list[list[int]] = [[] for _ in prompts]
    for size in sorted(set(map(len, prompts))):
        rows = [i for i, prompt in enumerate(prompts) if len(prompt) == size]
        going = set(rows)
        with torch.no_grad():
            logits, state = model.read(torch.tensor([list(prompts[i]) for i in rows]))
        for position in range(length):
            logits[:, list(forbidden)] = -torch.inf
            chosen = [int(choose(row, temperature, top_k, top_p, seed, position)) for row in logits]
            going -= {i for i, word in zip(rows, chosen, strict=True) if word == stop}
            for i, word in zip(rows, chosen, strict=True):
                if i in going:
                    said[i].append(word)
            if not going or position + 1 == length:
                break
            with torch.no_grad():
                logits, state = model.step(torch.tensor(chosen), state)
    return said


def read(model: Model, ids: Sequence[int], state: Any = None) -> tuple[Tensor, Any]:
    """What may follow when `ids` have been read, (V,), and the state to go on from."""
    with torch.no_grad():
        logits, state = model.read(torch.tensor([list(ids)]), state)
    return logits[0], state


def likeliest(logits: Tensor) -> Tensor:
    """The first of the largest of each row, (B, V) to (B,); numpy finds it ten times as fast as PyTorch does on a CPU."""
    return logits.argmax(-1) if logits.device.type != "cpu" else torch.from_numpy(logits.numpy().argmax(-1))


def choose(logits: Tensor, temperature: float, top_k: int, top_p: float, seed: int, position: int) -> Tensor:
    """One id from logits (V,)."""
    if temperature == 0:
        return likeliest(logits[None])[0]
    chances = (logits.double() / temperature).softmax(-1)
    ranked, order = chances.sort(descending=True, stable=True)
    if top_k:
        ranked[top_k:] = 0
    ranked[ranked.cumsum(-1) - ranked >= top_p] = 0  # the smallest set that reaches top_p, never empty
    return order[torch.multinomial(ranked, 1, generator=generator(seed, "sample", position))[0]]


def generator(seed: int, stream: str, *counters: int) -> torch.Generator:
    """Randomness that depends on nothing but its name, so there is no state to lose."""
    return torch.Generator().manual_seed(number(seed, stream, *counters))


def number(seed: int, stream: str, *counters: int) -> int:
    """A seed for each named use of randomness, each time it is used."""
    name = ":".join(map(str, (seed, stream, *counters)))
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) >> 1
