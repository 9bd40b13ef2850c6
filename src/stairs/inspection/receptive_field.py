"""From which words the vector of a word is reached: how many steps or layers a recurrent network, a convolution and attention need.

Vaswani et al. 2017, table 1, "maximum path length": O(n) for recurrent layers, O(n / w) for convolutions of w words, O(1) for self-attention.

Each is a mask of what one step or layer reads, and the words after k layers are those of its k-th power. Networks that read in one direction are
shown, up to the word; what attention reads is taken from the run.
"""

from typing import Literal, TypedDict

import torch
from torch import Tensor

from stairs.errors import BadInput, preview
from stairs.inspection.attention import word_positions
from stairs.inspection.masks import attention_mask
from stairs.inspection.tokens import Truncatable, continues_text, tokenize
from stairs.inspection.views import reads_context, view
from stairs.layers.masks import causal, window
from stairs.models.base import Model
from stairs.tasks import Task

CONVOLUTION = 3  # words that one convolution reads
MAX_WORDS = 28  # as many fit side by side
Architecture = Literal["recurrent", "convolution", "attention"]
Node = tuple[int, int]  # a layer, 0 for the words themselves, and a position
Edge = tuple[Node, Node]  # from a vector to one that it reads


class Panel(TypedDict):
    architecture: Architecture
    model: str | None  # the run's, if this is how it reads
    path_length: int | None  # layers, or steps, until the first word is reached; None if it never is
    layers: list[list[int]]  # the words that are reached after 1, 2, 3 ... of them
    edges: list[list[list[int]]]  # from a vector to one that it reads, a layer and a position each, for all that the word's vector depends on
    path: list[list[int]]  # a shortest one, from the word's vector to the first word
    own_layers: int | None  # how many the run has, if they reach fewer words than there are


class ReceptiveFieldData(Truncatable):
    tokens: list[str]
    word: int  # position of the word whose vector is looked at
    window: int  # of the convolution
    panels: list[Panel]


@view(reads_context)
def receptive_field(task: Task, text: str, *, word: str | None = None) -> ReceptiveFieldData:
    """The words that the vector of a word depends on after each step or layer; of the last word if none is given, by spelling or position."""
    row = tokenize(task, text)
    allowed = attention_mask(task.model, row)
    inner = slice(1, None if continues_text(task) else -1)  # without the marks of begin and end
    tokens, allowed = row.tokens[inner], allowed[inner, inner]
    last = len(tokens) - 1 if word is None else word_positions(task, word, tokens)[-1]
    if last == 0:
        raise BadInput(f"no other word stands before {preview(tokens[0])}; give a longer text, or a later word with --word")
    first = max(last + 1 - MAX_WORDS, 0)
    shown = slice(first, last + 1)
    length = last + 1 - first
    part = f"tokens {first} to {last} of {len(tokens)} are shown" if first else None
    model, is_attention = task.model, task.model.is_transformer
    back = causal(length)
    reading: Tensor = allowed[shown, shown] if is_attention else torch.ones(length, length, dtype=torch.bool)
    panels = [
        panel("recurrent", back & window(length, 1), None if is_attention else model),
        panel("convolution", back & window(length, CONVOLUTION - 1), None),
        panel("attention", reading, model if is_attention else None),
    ]
    return {"tokens": tokens[shown], "word": length - 1, "window": CONVOLUTION, "panels": panels, "truncation": row.truncation or part}


def panel(architecture: Architecture, mask: Tensor, model: Model | None) -> Panel:
    """What the last position reads through layers with this mask, (n, n)."""
    layers = reached_positions(mask)
    path_length = next((number for number, positions in enumerate(layers, 1) if 0 in positions), None)
    depth = path_length or len(layers)
    edges = chain(len(mask)) if architecture == "recurrent" else cone(mask, layers[: depth - 1])
    top = max(start for start, _ in edges)
    too_shallow = model is not None and model.is_transformer and model.block_count < (path_length or model.block_count + 1)
    return {
        "architecture": architecture, "model": model.name if model else None, "path_length": path_length, "layers": layers[:depth],
        "edges": [[list(start), list(end)] for start, end in edges],
        "path": [list(node) for node in shortest_path(edges, top)] if path_length else [],
        "own_layers": model.block_count if model and too_shallow else None,
    }  # fmt: skip


def chain(length: int) -> list[Edge]:
    """Of a recurrent network: each state reads its word and the state before it."""
    return [((1, 0), (0, 0))] + [((1, at), below) for at in range(1, length) for below in ((0, at), (1, at - 1))]


def cone(mask: Tensor, fields: list[list[int]]) -> list[Edge]:
    """What the last position reads, and what those that it reads do, down to the words; `fields` are the positions of all layers but the lowest."""
    reading = [[len(mask) - 1], *fields]  # from the top
    depth = len(reading)
    return [
        ((depth - number, query), (depth - number - 1, key))
        for number, queries in enumerate(reading)
        for query in queries
        for key in mask[query].nonzero().flatten().tolist()
    ]


def reached_positions(mask: Tensor) -> list[list[int]]:
    """The positions that the last one reads after 1, 2, 3 ... layers, until there are no more."""
    layers: list[list[int]] = []
    field = torch.arange(len(mask)) == len(mask) - 1
    while not (next_field := mask[field].any(0)).equal(field):
        field = next_field
        layers.append(field.nonzero().flatten().tolist())
    return layers


def shortest_path(edges: list[Edge], top: Node) -> list[Node]:
    """From the vector of the word to the first word; at each layer as far back as possible."""
    below: dict[Node, list[Node]] = {}
    for start, end in edges:
        below.setdefault(start, []).append(end)
    arriving: set[Node] = {(0, 0)}
    for start, end in sorted(edges):  # what is read comes before what reads it
        if end in arriving:
            arriving.add(start)
    path = [top]
    while path[-1] != (0, 0):
        path.append(min((node for node in below[path[-1]] if node in arriving), key=lambda node: node[1]))
    return path
