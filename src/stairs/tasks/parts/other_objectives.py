"""What other papers do with the passages that BERT is pretrained on (`sentence_pairs.py`).

sentence-order   Lan et al. 2019 (ALBERT): a passage is split at the end of a sentence, and half of the pairs are exchanged
prefix           Dong et al. 2019 (UniLM): the second part is read from left to right
three-masks      the same: a third of the rows are read in both directions, a sixth from left to right, a sixth from right to left, and a third as
                 `prefix`; each kind has segment ids of its own
none             one part, of one document
full-sentences   Liu et al. 2019 (RoBERTa): one part for each document, and as many documents as fill the context
permutation      Yang et al. 2019 (XLNet): one part, the words in a random order, each attending only to those before it in that order; the last of
                 them are the targets. XLNet's second stream is a second token here: a [MASK] with the same position, which attends to the words
                 before it in the order, and which no other token attends to

Excess tokens are removed from both ends of the longer part.

Departures: XLNet's order is one of whole words, and the share `mask_prob` of a row is predicted, where the paper takes spans of one to five tokens;
its relative positions belong to the encoder (`XLNet` of `models/bert.py`). A memory (`--memory`) has the tokens of the document before the row.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from stairs.fast.masked_decoder import BIDIRECTIONAL, LEFT_TO_RIGHT, RIGHT_TO_LEFT, SOURCE
from stairs.text.batch import IGNORE_INDEX

if TYPE_CHECKING:
    from stairs.tasks.parts.masking import MaskingExample


def split_passage(
    sentences: Callable[[int, int], np.ndarray], first: int, last: int, limit: int, may_exchange: bool, random: np.random.Generator
) -> tuple[list[np.ndarray], bool]:
    """The sentences from `first` to `last` in two parts of at most `limit` tokens together, split at the end of a sentence, or in the middle of the
    only one; and whether the two are exchanged."""
    middle = first + int(random.integers(1, last - first)) if last - first > 1 else last
    a, b = sentences(first, middle), sentences(middle, last)
    a, b = (a, b) if len(a) else (b, a)
    if not len(b):
        a, b = a[: len(a) // 2], a[len(a) // 2 :]
    is_exchanged = may_exchange and random.random() < 0.5
    return truncate_pair(*((b, a) if is_exchanged else (a, b)), limit, random), is_exchanged


def truncate_pair(a: np.ndarray, b: np.ndarray, limit: int, random: np.random.Generator) -> list[np.ndarray]:
    """Two parts of at most `limit` tokens together: first the longer one is trimmed, then both equally."""
    excess = len(a) + len(b) - limit
    if excess <= 0:
        return [a, b]
    difference = min(abs(len(a) - len(b)), excess)
    from_a = (excess - difference) // 2 + (difference if len(a) > len(b) else 0)
    return [trim(a, len(a) - from_a, random), trim(b, len(b) - (excess - from_a), random)]


def trim(part: np.ndarray, limit: int, random: np.random.Generator) -> np.ndarray:
    """At most `limit` tokens: a random number of those beyond are removed from the beginning, the rest from the end."""
    excess = len(part) - limit
    if excess <= 0:
        return part
    front = int(random.binomial(excess, 0.5))
    return part[front : len(part) - (excess - front)]


def read_in_turn(
    parts: list[np.ndarray], make_row: "Callable[[list[np.ndarray]], MaskingExample]", random: np.random.Generator
) -> "MaskingExample":
    """Dong et al. 2019 (UniLM): a row of these parts under one of the masks. Its last [SEP] may be a target where it says when to stop."""
    reading = (BIDIRECTIONAL, BIDIRECTIONAL, LEFT_TO_RIGHT, RIGHT_TO_LEFT, SOURCE, SOURCE)[int(random.integers(6))]
    row = make_row([np.concatenate(parts)] if reading in (LEFT_TO_RIGHT, RIGHT_TO_LEFT) else parts)
    positions = np.arange(len(row.ids))
    row.attention_mask = {
        BIDIRECTIONAL: np.ones((len(positions), len(positions)), bool),
        LEFT_TO_RIGHT: positions <= positions[:, None],
        RIGHT_TO_LEFT: positions >= positions[:, None],
        SOURCE: prefix_attention_mask(row),
    }[reading]
    row.segments = row.segments + reading
    if reading in (LEFT_TO_RIGHT, SOURCE):
        row.words[-1] = row.words.max() + 1
    return row


def permute(row: "MaskingExample", positions: np.ndarray, mask: int, random: np.random.Generator) -> "MaskingExample":
    """Yang et al. 2019 (XLNet): predict the words at `positions`, the last of a random order, each at a [MASK] that is appended to the row."""
    length = len(row.ids)
    others = np.setdiff1d(np.flatnonzero(row.words >= 0), positions)
    order = np.concatenate([random.permutation(others), random.permutation(positions)])
    rank = np.full(length, -1)  # all attend to [CLS], [SEP] and [UNK], and these to one another
    rank[order] = np.arange(len(order))
    row.attention_mask = np.zeros((length + len(positions), length + len(positions)), bool)
    row.attention_mask[:length, :length] = rank <= rank[:, None]
    row.attention_mask[length:, :length] = rank < rank[positions][:, None]
    row.targets = np.concatenate([np.full(length, IGNORE_INDEX), row.ids[positions]])
    row.position_ids = np.concatenate([np.arange(length), positions])
    row.segments = np.concatenate([row.segments, row.segments[positions]])
    row.ids = np.concatenate([row.ids, np.full(len(positions), mask)])
    return row


def prefix_attention_mask(row: "MaskingExample") -> np.ndarray:
    """Dong et al. 2019 (UniLM): all attend to the first part, and the second is read from left to right, (T, T)."""
    prefix = int((row.segments == 0).sum())
    positions = np.arange(len(row.ids))
    mask: np.ndarray = (positions <= positions[:, None]) | (positions < prefix)
    return mask


def stack_attention_masks(masks: Sequence[np.ndarray], length: int) -> Tensor:
    """(B, T, T), padded with False."""
    stacked = np.zeros((len(masks), length, length), bool)
    for own, mask in zip(stacked, masks, strict=True):
        own[: len(mask), : len(mask)] = mask
    return torch.from_numpy(stacked)
