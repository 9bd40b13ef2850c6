"""What a language model thinks of a text: the bits of each token, the n-gram behind its probability, and the words that would fit."""

import math
from typing import NotRequired, TypedDict, cast

from stairs.inspection.tokens import Truncatable, encode, max_tokens, readable_token, token_offsets, truncated_to
from stairs.inspection.views import counts_ngrams, fills_blanks, gives_token_probabilities, predicts_next_token, view
from stairs.models.ngram import NGram
from stairs.tasks import MaskedToken, NextToken, Task
from stairs.tasks.answers import BlanksAnswer, NextTokenEntry, TokenBits


class TokenOrder(TypedDict):
    token: str
    order: int  # length of the n-gram behind the probability
    probability: float
    bits: float


class BackoffData(TypedDict):
    text: str
    order: int  # the highest
    tokens: list[TokenOrder]


class SurpriseData(Truncatable):
    text: str
    measure: NotRequired[str]  # given for a pseudo-likelihood
    tokens: list[TokenBits]


class NextData(TypedDict):
    text: str
    next: list[NextTokenEntry]


@view(counts_ngrams)
def backoff(task: NextToken, text: str) -> BackoffData:
    """The length of the n-gram behind the probability of each token: the longer, the less the model had to back off."""
    assert isinstance(task.model, NGram)
    ids = encode(task, text)
    scores, orders = (rows[0].tolist() for rows in task.model.target_scores(task.batch([ids])))
    entries: list[TokenOrder] = [
        {"token": token, "order": order, "probability": math.exp(score), "bits": -score / math.log(2)}
        for token, order, score in zip(tokens_with_end(task, ids), orders, scores, strict=True)
    ]
    return {"text": text, "order": task.model.config.order, "tokens": entries}


@view(gives_token_probabilities)
def surprise(task: NextToken | MaskedToken, text: str) -> SurpriseData:
    """The negative log-probability of each token in bits: given the tokens before it or, for a masked language model, given all others."""
    ids = encode(task, text)
    if isinstance(task, MaskedToken):
        return pseudo_likelihood_bits(task, text, ids)
    limit = max_tokens(task)
    fitting = ids if limit is None else ids[: limit - 1]
    scores = (task.model.log_likelihood(task.batch([fitting]))[0] / math.log(2)).tolist()
    tokens = token_bits(tokens_with_end(task, fitting), scores)
    if limit is None or len(fitting) == len(ids):
        return {"text": text, "tokens": tokens, "truncation": None}
    return {"text": text, "tokens": tokens[:-1], "truncation": truncated_to(task, limit)}


def pseudo_likelihood_bits(task: MaskedToken, text: str, ids: list[int]) -> SurpriseData:
    """Bits of each token when it alone is masked."""
    truncation = None
    if len(ids) > task.max_tokens:
        end = token_offsets(task.tokenizer, text, ids)[task.max_tokens - 1][1]
        truncation, text = truncated_to(task, task.max_tokens), text[:end]
    likelihood = task.pseudo_log_likelihood(text)
    scores = [token["log_probability"] / math.log(2) for token in likelihood["tokens"]]
    tokens = [readable_token(task.tokenizer, number) for number in encode(task, text)]
    return {"text": text, "measure": likelihood["measure"], "tokens": token_bits(tokens, scores), "truncation": truncation}


@view(predicts_next_token)
def next_tokens(task: NextToken, text: str, *, top: int = 10) -> NextData:
    """The most probable next tokens."""
    limit, ids = max_tokens(task), task.tokenizer.encode(text)
    prompt, _ = task.tokenizer.with_special_ids(ids if limit is None else ids[-(limit - 1) :])
    entries = task.next_tokens(prompt, top)
    return {"text": text, "next": [{**entry, "token": readable_vocabulary_token(task, entry["token"])} for entry in entries]}


@view(fills_blanks)
def blanks(task: MaskedToken, text: str, *, top: int = 10) -> BlanksAnswer:
    """The most probable words for each blank."""
    return cast(BlanksAnswer, task.answer(text, top=top))


def tokens_with_end(task: NextToken, ids: list[int]) -> list[str]:
    """The end of the sentence has a probability, too."""
    return [readable_token(task.tokenizer, number) for number in (*ids, task.tokenizer.end)]


def token_bits(tokens: list[str], scores: list[float]) -> list[TokenBits]:
    return [{"token": token, "bits": max(-score, 0.0)} for token, score in zip(tokens, scores, strict=True)]


def readable_vocabulary_token(task: Task, token: str) -> str:
    """A token of the vocabulary as people read it."""
    number = task.tokenizer.id(token)
    return token if number == task.tokenizer.unknown else readable_token(task.tokenizer, number)
