"""The arithmetic of one attention head, with the numbers of a run: from queries and keys to scores, weights and the weighted mean of the values.

    softmax(q k / sqrt(D) + mask) v                                                     Vaswani et al. 2017, see layers/attention.py

q, k and v are what the model's own attention gets, after any rotation by the positions; positions that add to the scores or the values
(`layers/attention_positions.py`) have a step of their own.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor

from stairs.errors import Unsupported
from stairs.inspection.attention import DIGITS, NEIGHBOURS_SHOWN, Rows, check_head, rounded_rows, word_positions
from stairs.inspection.tokens import TokenizedText, Truncatable, continues_text, tokenize
from stairs.inspection.views import has_attention, view
from stairs.layers.attention import Bilinear, Projected, Score, dot, scaled_dot, weigh
from stairs.layers.block import Attention, with_head_axis
from stairs.layers.capture import capture
from stairs.models.base import Model
from stairs.tasks import Task
from stairs.text.batch import Batch

Numbers = list[float]
MaskedNumbers = list[float | None]  # None where the mask hides a word


class WordSteps(TypedDict):
    """For one word; a number or a vector for each word that it may attend to."""

    position: int
    query: Numbers
    keys: Rows
    products: Numbers  # q k
    scaled: Numbers  # divided
    added: Numbers | None  # by positions, to the scores
    masked: MaskedNumbers
    weights: Numbers
    values: Rows
    weighted: Rows
    result: Numbers


class ArithmeticData(Truncatable):
    tokens: list[str]
    layer: int
    head: int
    width: int  # of the head's vectors
    divisor: float  # of the products: sqrt(width), or 1
    scores: Rows  # a row for each query, a column for each key
    masked: list[MaskedNumbers]
    weights: Rows
    result: Rows  # a vector for each query
    steps: WordSteps


class AttendCall(NamedTuple):
    """What an attention computed, (1, H, T, D) each."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    distances: Tensor | None
    result: Tensor


class HeadNumbers(NamedTuple):
    """Of one head: T queries, T keys."""

    query: Tensor  # (T, D), as they are multiplied
    key: Tensor
    divisor: float
    products: Tensor  # (T, T)
    added: Tensor | None
    scores: Tensor
    allowed: Tensor
    weights: Tensor
    values: Tensor  # (T, D): of each key, for the query that is looked at
    result: Tensor  # (T, D)


@view(has_attention)
def arithmetic(task: Task, text: str, *, layer: int = 0, head: int = 0, word: str | None = None, second: str | None = None) -> ArithmeticData:
    """One head, step by step: the scores, the mask, the softmax and the result, and each step for one word, by spelling or position."""
    row = tokenize(task, text, second)
    last = len(row.tokens) - (1 if continues_text(task) else 2)  # without the mark of the end
    at = last if word is None else word_positions(task, word, row.tokens)[-1]  # its last piece, which has read all of the word
    numbers = head_numbers(task, row, layer, head, at)
    count = min(len(row.tokens), NEIGHBOURS_SHOWN)
    start = max(min(at - count // 2, len(row.tokens) - count), 0)
    shown = slice(start, start + count)
    hidden = ~numbers.allowed
    part = f"tokens {start} to {start + count - 1} of {len(row.tokens)} are shown" if count < len(row.tokens) else None
    return {
        "tokens": row.tokens[shown], "layer": layer, "head": head, "width": numbers.query.shape[-1], "divisor": numbers.divisor,
        "scores": rows_of(numbers.scores[shown, shown]), "masked": masked_rows(numbers.scores[shown, shown], hidden[shown, shown]),
        "weights": rows_of(numbers.weights[shown, shown]), "result": rows_of(numbers.result[shown]),
        "steps": word_steps(numbers, at, shown), "truncation": row.truncation or part,
    }  # fmt: skip


def word_steps(numbers: HeadNumbers, at: int, shown: slice) -> WordSteps:
    """Of the query at this position."""
    weights, values = numbers.weights[at, shown], numbers.values[shown]
    return {
        "position": at - shown.start,
        "query": list_of(numbers.query[at]),
        "keys": rows_of(numbers.key[shown]),
        "products": list_of(numbers.products[at, shown]),
        "scaled": list_of(numbers.products[at, shown] / numbers.divisor),
        "added": None if numbers.added is None else list_of(numbers.added[at, shown]),
        "masked": masked_rows(numbers.scores[at : at + 1, shown], ~numbers.allowed[at : at + 1, shown])[0],
        "weights": list_of(weights),
        "values": rows_of(values),
        "weighted": rows_of(weights[:, None] * values),
        "result": list_of(numbers.result[at]),
    }


@torch.no_grad()
def head_numbers(task: Task, row: TokenizedText, layer: int, head: int, at: int) -> HeadNumbers:
    """The numbers of one head, from what the model's own attention got; the values for the query at one position."""
    attention = task.model.blocks[task.model.check_layer(layer)].attention
    assert isinstance(attention, Attention)
    call = last_attention(task.model, row.batch, attention)
    check_head(task, head, call.query.shape[1])
    query, key, divisor = multiplied_vectors(attention.score, call.query, call.key)
    products = dot(query, key)
    scores = attention.add_bias(attention.score(call.query, call.key), call.query, call.distances)
    mask = with_head_axis(call.mask, call.query, call.key)
    weights = weigh(call.query, call.key, score=lambda *_: scores, mask=mask)
    added = scores - products / divisor if attention.positions is not None and call.distances is not None else None
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    values = values_of_keys(attention, call, at)[head]
    q, k, products, scores, allowed, weights, result = (one[0, head] for one in (query, key, products, scores, allowed, weights, call.result))
    return HeadNumbers(q, k, divisor, products, None if added is None else added[0, head], scores, allowed, weights, values, result)


def multiplied_vectors(score: Score, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
    """The vectors whose products the scores are, and what these are divided by."""
    if isinstance(score, Bilinear | Projected):
        query, key = score.query(query), score.key(key) if isinstance(score, Projected) else key
        score = score.product
    if score not in (dot, scaled_dot):
        raise Unsupported("the scores of this run are not products of two vectors; draw attention, which shows its weights")
    return query, key, math.sqrt(query.shape[-1]) if score is scaled_dot else 1.0


def values_of_keys(attention: Attention, call: AttendCall, at: int) -> Tensor:
    """What the query at one position takes of each key, (H, T, D): the key's value, and what relative positions add to it."""
    added, length = None, call.key.shape[-2]
    if attention.positions is not None and call.distances is not None:
        distances = call.distances.reshape(-1, length)[at]  # of the only row of the batch
        one_each = torch.eye(length).expand(1, attention.heads, -1, -1)
        added = attention.positions.values(one_each, distances.expand(length, -1))
    return call.value[0] if added is None else call.value[0] + added[0]


def last_attention(model: Model, batch: Batch, attention: Attention) -> AttendCall:
    """What an attention of a model got and gave when the model read a batch."""
    with capture(model), recorded_calls(attention) as calls:  # all of it by the plain functions, as `attention_weights` does
        model.encode(batch)
    return calls[-1]


@contextmanager
def recorded_calls(attention: Attention) -> Iterator[list[AttendCall]]:
    calls: list[AttendCall] = []
    plain = attention.attend

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, distances: Tensor | None = None) -> Tensor:
        result = plain(query, key, value, mask, distances)
        calls.append(AttendCall(query, key, value, mask, distances, result))
        return result

    attention.__dict__["attend"] = attend
    try:
        yield calls
    finally:
        attention.__dict__["attend"] = plain  # `capture` takes it away


def list_of(numbers: Tensor) -> Numbers:
    return [round(number, DIGITS) for number in numbers.tolist()]


def rows_of(numbers: Tensor) -> Rows:
    return rounded_rows(numbers.float().numpy())


def masked_rows(scores: Tensor, hidden: Tensor) -> list[MaskedNumbers]:
    return [
        [None if is_hidden else number for number, is_hidden in zip(row, hiding, strict=True)]
        for row, hiding in zip(rows_of(scores), hidden.tolist(), strict=True)
    ]
