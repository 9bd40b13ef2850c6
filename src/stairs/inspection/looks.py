"""Stand-in: four of the looks, until the whole of them is there."""

from collections.abc import Callable
from typing import Any, NamedTuple

from stairs.inspection.neighbours import neighbours


class Look(NamedTuple):
    data: Callable[..., Any]
    suits: Callable[[Any], bool]
    takes: tuple[str, ...] = ()
    reads: bool = True


def tokens(task: Any, text: str) -> list[dict[str, Any]]:
    return [{"token": token, "at": n} for n, token in enumerate(task.tokenizer.tokens(text))]


def surprise(task: Any, text: str) -> list[dict[str, Any]]:
    import torch

    from stairs.text.batch import next_token_batch

    ids = task.tokenizer.encode(text)
    with torch.no_grad():
        found = task.model.log_likelihood(next_token_batch([ids], task.tokenizer.begin, task.tokenizer.end, task.tokenizer.pad))[0]
    pairs = zip(task.tokenizer.tokens(text), found, strict=False)
    return [{"token": token, "at": n, "bits": -float(chance) / 0.6931} for n, (token, chance) in enumerate(pairs)]


def next_tokens(task: Any, text: str, top: int = 10) -> list[dict[str, Any]]:
    return task.answer(text, top=top, length=1)["next"]


def near(task: Any, text: str, top: int = 10) -> dict[str, Any]:
    return neighbours(task, text, top)


def aligned(task: Any, text: str) -> dict[str, Any]:
    return task.answer(text)["alignment"]


def tried(task: Any, text: str) -> dict[str, Any]:
    return {"steps": task.answer(text)["tree"]}


LOOKS = {
    "tokens": Look(tokens, lambda task: True),
    "surprise": Look(surprise, lambda task: task.name == "next-token"),
    "next": Look(next_tokens, lambda task: task.name == "next-token", ("top",)),
    "neighbours": Look(near, lambda task: task.name == "window", ("top",)),
    "alignment": Look(aligned, lambda task: task.name == "translate"),
    "tree": Look(tried, lambda task: task.name == "translate"),
}
