"""Attention weights of any layer and head.

Tokens of a long text are grouped, since a picture cannot show each of them: the weight from one group to another is the mean over the tokens that
attend, summed over the tokens attended to, so that each row still sums to 1.
"""

from typing import TypedDict

import numpy as np

from stairs.errors import BadInput, preview
from stairs.inspection.tokens import TokenizedText, Truncatable, find_tokens, group_bounds, group_names, readable_token, tokenize
from stairs.inspection.views import has_attention, view
from stairs.tasks import Task

THUMBNAIL = 32  # cells of a thumbnail, each way
MIN_WEIGHT = 0.02  # smaller weights are not drawn as lines
NEIGHBOURS_SHOWN = 20  # tokens on either side of a word, in the picture with lines
DIGITS = 4
Rows = list[list[float]]


class AttentionData(Truncatable):
    tokens: list[str]
    layer: int
    head: int
    weights: Rows  # a row for each token that attends, a column for each it attends to


Line = TypedDict("Line", {"from": int, "to": int, "weight": float})  # positions of tokens


class LinesData(Truncatable):
    tokens: list[str]
    layer: int
    head: int
    word: list[int]  # positions of the word whose lines are shown; empty for all
    lines: list[Line]


class HeadsData(Truncatable):
    tokens: list[str]
    layers: list[list[Rows]]  # the weights of each head of each layer


@view(has_attention)
def attention(task: Task, text: str, *, layer: int = 0, head: int = 0, second: str | None = None) -> AttentionData:
    """The attention weights of one head in one layer."""
    row = tokenize(task, text, second)
    groups = group_bounds(len(row.tokens))
    weights = pool_groups(head_weights(task, row, layer, head), groups)
    return {
        "tokens": group_names(row.tokens, groups), "layer": layer, "head": head, "weights": rounded_rows(weights), "truncation": row.truncation,
    }  # fmt: skip


@view(has_attention)
def lines(task: Task, text: str, *, layer: int = 0, head: int = 0, word: str | None = None, second: str | None = None) -> LinesData:
    """The attention weights as lines from token to token: all that are not too small, or those of one word, given by spelling or position."""
    row = tokenize(task, text, second)
    weights = head_weights(task, row, layer, head)
    of_word = [] if word is None else word_positions(task, word, row.tokens)
    middle = of_word[0] if of_word else NEIGHBOURS_SHOWN
    start = max(min(middle - NEIGHBOURS_SHOWN, len(row.tokens) - 2 * NEIGHBOURS_SHOWN - 1), 0)
    shown = range(start, min(start + 2 * NEIGHBOURS_SHOWN + 1, len(row.tokens)))
    strong: list[Line] = [
        {"from": query - start, "to": key - start, "weight": round(float(weights[query, key]), DIGITS)}
        for query in (of_word or shown)
        for key in shown
        if weights[query, key] >= MIN_WEIGHT
    ]
    part = f"tokens {start} to {shown.stop - 1} of {len(row.tokens)} are shown" if len(shown) < len(row.tokens) else None
    return {
        "tokens": [row.tokens[position] for position in shown], "layer": layer, "head": head,
        "word": [position - start for position in of_word], "lines": strong, "truncation": row.truncation or part,
    }  # fmt: skip


@view(has_attention)
def heads(task: Task, text: str, *, second: str | None = None) -> HeadsData:
    """Every head of every layer as a thumbnail."""
    row = tokenize(task, text, second)
    groups = group_bounds(len(row.tokens), THUMBNAIL)
    thumbnails = [[rounded_rows(pool_groups(head, groups), 3) for head in layer] for layer in attention_weights(task, row)]
    return {"tokens": group_names(row.tokens, groups), "layers": thumbnails, "truncation": row.truncation}


def attention_weights(task: Task, row: TokenizedText) -> list[np.ndarray]:
    """(H, T, T) of each layer."""
    return [weights[0].float().numpy() for weights in task.model.attention_weights(row.batch)]


def head_weights(task: Task, row: TokenizedText, layer: int, head: int) -> np.ndarray:
    number = task.model.check_layer(layer)
    weights = attention_weights(task, row)[number]
    return weights[check_head(task, head, len(weights))]


def check_head(task: Task, head: int, heads: int) -> int:
    if not -heads <= head < heads:
        raise BadInput(f"{task.model_name} has no head {head}; each layer has {heads}, numbered from 0")
    return head


def pool_groups(weights: np.ndarray, groups: list[tuple[int, int]]) -> np.ndarray:
    """(T, T) to (groups, groups)."""
    starts = [start for start, _ in groups]
    sizes = np.array([stop - start for start, stop in groups])
    return np.add.reduceat(np.add.reduceat(weights, starts, 1), starts, 0) / sizes[:, None]


def word_positions(task: Task, word: str, tokens: list[str]) -> list[int]:
    """Where a word occurs first, with all its pieces; or the token at this position."""
    forms = [[readable_token(task.tokenizer, number) for number in task.tokenizer.encode(form)] for form in (word, f" {word}")]
    if (occurrence := find_tokens(forms, tokens)) is not None:
        return list(occurrence)
    if word.isdecimal() and int(word) < len(tokens):
        return [int(word)]
    raise BadInput(f"the word {preview(word)} is not in the text, whose tokens are {', '.join(token.strip() for token in tokens[:12])}")


def rounded_rows(matrix: np.ndarray, digits: int = DIGITS) -> Rows:
    return [[round(number, digits) for number in row] for row in matrix.tolist()]
