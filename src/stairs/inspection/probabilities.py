"""What steps that speak think of a text: how surprising each token was, on what its chance rests, and which words would fit."""

import math
from typing import Any

from stairs.inspection.tokens import Data, ids_of, noted, places, room, spelled
from stairs.tasks.next_token import NextToken


def backoff(task: Any, text: str) -> Data:
    """Of each token: the length of the n-gram that its chance came from, and the chance. The longer, the less had to be backed off."""
    ids = ids_of(task, text)
    scores, orders = (found[0].tolist() for found in task.model.target_scores(task.batch([ids])))
    rows = zip(named(task, ids), orders, scores, strict=True)
    found = [{"token": token, "order": order, "probability": math.exp(score), "bits": -score / math.log(2)} for token, order, score in rows]
    return {"text": text, "order": task.model.config.order, "tokens": found}


def surprise(task: Any, text: str) -> Data:
    """Bits of each token: after those before it, or, for a bert, among all others."""
    ids = ids_of(task, text)
    if task.name == "masked-token":
        return among_all(task, text, ids)
    most = room(task)
    kept = ids if most is None else ids[: most - 1]
    scores = (task.model.log_likelihood(task.batch([kept]))[0] / math.log(2)).tolist()
    cut = f"{task.model_name} reads {most} tokens at once; those behind were left out" if len(kept) < len(ids) else None
    return noted({"text": text, "tokens": with_bits(named(task, kept), scores)[: None if cut is None else -1]}, cut)


def among_all(task: Any, text: str, ids: list[int]) -> Data:
    """Bits of each token when it alone is left out."""
    cut, end = None, places(task.tokenizer, text, ids)[min(len(ids), task.max_tokens) - 1][1]
    if len(ids) > task.max_tokens:
        cut, text = f"{task.model_name} reads {task.max_tokens} tokens at once; those behind were left out", text[:end]
    found = task.pseudo_log_likelihood(text)
    scores = [token["log_probability"] / math.log(2) for token in found["tokens"]]
    tokens = [spelled(task.tokenizer, i) for i in ids_of(task, text)]
    return noted({"text": text, "measure": found["measure"], "tokens": with_bits(tokens, scores)}, cut)


def following(task: NextToken, text: str, *, top: int = 10) -> Data:
    """The likeliest next tokens."""
    most, ids = room(task), task.tokenizer.encode(text)
    prompt, _ = task.tokenizer.with_special_ids(ids if most is None else ids[-(most - 1) :])
    named = (({"token": shown(task, entry.pop("token")), "probability": entry.pop("probability")}, entry) for entry in task.next_tokens(prompt, top))
    return {"text": text, "next": [{**found, **rest} for found, rest in named]}


def blanks(task: Any, text: str, *, top: int = 10) -> Data:
    """The words for each blank."""
    return task.answer(text, top=top)


def named(task: Any, ids: list[int]) -> list[str]:
    """With the end of the sentence, which has its chance as well."""
    return [spelled(task.tokenizer, i) for i in (*ids, task.tokenizer.end)]


def with_bits(tokens: list[str], scores: list[float]) -> list[Data]:
    return [{"token": token, "bits": max(-score, 0.0)} for token, score in zip(tokens, scores, strict=True)]


def shown(task: Any, token: str) -> str:
    """The other spelling of a token of the vocabulary."""
    number = task.tokenizer.id(token)
    return token if number == task.tokenizer.unknown else spelled(task.tokenizer, number)
