"""What steps that speak think of a text: how surprising each token was, on what its chance rests, and which words would fit."""

import math
from typing import Any

from stairs.inspection.tokens import Data, encode, max_tokens, readable_token, token_offsets, with_note
from stairs.tasks.next_token import NextToken


def backoff(task: Any, text: str) -> Data:
    """Of each token: the length of the n-gram that its chance came from, and the chance. The longer, the less had to be backed off."""
    ids = encode(task, text)
    scores, orders = (found[0].tolist() for found in task.model.target_scores(task.batch([ids])))
    rows = zip(tokens_with_end(task, ids), orders, scores, strict=True)
    found = [{"token": token, "order": order, "probability": math.exp(score), "bits": -score / math.log(2)} for token, order, score in rows]
    return {"text": text, "order": task.model.config.order, "tokens": found}


def surprise(task: Any, text: str) -> Data:
    """Bits of each token: after those before it, or, for a bert, among all others."""
    ids = encode(task, text)
    if task.name == "masked-token":
        return pseudo_likelihood_bits(task, text, ids)
    most = max_tokens(task)
    kept = ids if most is None else ids[: most - 1]
    scores = (task.model.log_likelihood(task.batch([kept]))[0] / math.log(2)).tolist()
    cut = f"{task.model_name} reads {most} tokens at once; those behind were left out" if len(kept) < len(ids) else None
    return with_note({"text": text, "tokens": with_bits(tokens_with_end(task, kept), scores)[: None if cut is None else -1]}, cut)


def pseudo_likelihood_bits(task: Any, text: str, ids: list[int]) -> Data:
    """Bits of each token when it alone is left out."""
    cut, end = None, token_offsets(task.tokenizer, text, ids)[min(len(ids), task.max_tokens) - 1][1]
    if len(ids) > task.max_tokens:
        cut, text = f"{task.model_name} reads {task.max_tokens} tokens at once; those behind were left out", text[:end]
    found = task.pseudo_log_likelihood(text)
    scores = [token["log_probability"] / math.log(2) for token in found["tokens"]]
    tokens = [readable_token(task.tokenizer, i) for i in encode(task, text)]
    return with_note({"text": text, "measure": found["measure"], "tokens": with_bits(tokens, scores)}, cut)


def next_tokens(task: NextToken, text: str, *, top: int = 10) -> Data:
    """The likeliest next tokens."""
    most, ids = max_tokens(task), task.tokenizer.encode(text)
    prompt, _ = task.tokenizer.with_special_ids(ids if most is None else ids[-(most - 1) :])
    named = (({"token": readable_vocabulary_token(task, entry.pop("token")), "probability": entry.pop("probability")}, entry)
        for entry in task.next_tokens(prompt, top))
    return {"text": text, "next": [{**found, **rest} for found, rest in named]}


def blanks(task: Any, text: str, *, top: int = 10) -> Data:
    """The words for each blank."""
    return task.answer(text, top=top)


def tokens_with_end(task: Any, ids: list[int]) -> list[str]:
    """With the end of the sentence, which has its chance as well."""
    return [readable_token(task.tokenizer, i) for i in (*ids, task.tokenizer.end)]


def with_bits(tokens: list[str], scores: list[float]) -> list[Data]:
    return [{"token": token, "bits": max(-score, 0.0)} for token, score in zip(tokens, scores, strict=True)]


def readable_vocabulary_token(task: Any, token: str) -> str:
    """The other spelling of a token of the vocabulary."""
    number = task.tokenizer.id(token)
    return token if number == task.tokenizer.unknown else readable_token(task.tokenizer, number)
