"""Labelled examples as rows of ids, in the same format for every encoder:

    one text      [CLS] text [SEP]
    two texts     [CLS] first [SEP] second [SEP]

That is BERT's format, and with [CLS] for the start, [SEP] for the delimiter and the last [SEP] for the extract token also that of Radford et al. 2018
for a GPT. Encoders that do not attend from one text to the other read the two apart.

Departures: GPT's three tokens are new ones in the paper; ours has seen [CLS] and [SEP] at the ends of texts and sentences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stairs.text.batch import Batch, pad_rows
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.text.windows import LongTextRule, kept_positions


@dataclass
class EncodedInput:
    """What an encoder reads at once: an example, or a window of one."""

    ids: list[int]
    segments: list[int]
    example: int  # the number of the example
    second: list[int] | None = None  # another text, read apart
    target: Any = None  # a number, or one for each position
    metadata: dict[str, Any] = field(default_factory=dict)  # what turns logits into an answer


Targets = Callable[[Sequence[EncodedInput], int], dict[str, Tensor]]  # from rows and their length to fields of a batch


class InputFormat:
    """Makes rows of at most `max_tokens`; None for any length."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int | None, long_text: LongTextRule = "head+tail") -> None:
        self.tokenizer, self.max_tokens, self.long_text = tokenizer, max_tokens, long_text
        self.truncated_texts = 0

    def encode_one(self, ids: list[int], example: int = 0) -> EncodedInput:
        ids = self.truncate(ids)
        return EncodedInput([self.tokenizer.begin, *ids, self.tokenizer.end], [0] * (len(ids) + 2), example)

    def encode_pair(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Both texts in one row; where they do not fit, the longer one is truncated at its end."""
        if self.max_tokens is not None and len(first) + len(second) > self.max_tokens - 3:
            self.truncated_texts += 1
            limit = self.max_tokens - 3
            half = max(limit // 2, limit - len(second))
            first, second = first[:half], second[: limit - min(len(first), half)]
        end = self.tokenizer.end
        return EncodedInput([self.tokenizer.begin, *first, end, *second, end], [0] * (len(first) + 2) + [1] * (len(second) + 1), example)

    def encode_apart(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Two texts that are read apart."""
        row = self.encode_one(first, example)
        row.second = self.encode_one(second).ids
        return row

    def truncate(self, ids: list[int]) -> list[int]:
        """What fits between [CLS] and [SEP]."""
        if self.max_tokens is None or len(ids) <= self.max_tokens - 2:
            return ids
        self.truncated_texts += 1
        rule = "head" if self.long_text == "window" else self.long_text
        return [ids[place] for place in kept_positions(len(ids), self.max_tokens - 2, rule)]


def collate(rows: Sequence[EncodedInput], pad: int, targets: Targets | None = None, vectors: Sequence[np.ndarray] | None = None) -> Batch:
    """Rows as a batch, with their targets and with cached vectors if there are some."""
    ids, real = pad_rows([row.ids for row in rows], pad)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    fields = {} if targets is None else targets(rows, ids.shape[1])
    source = None
    if rows and rows[0].second is not None:
        source = Batch(*pad_rows([row.second or [] for row in rows], pad))
    cached = None if vectors is None else stack_padded(vectors, ids.shape[1])
    return Batch(ids, real, segments=segments, source=source, vectors=cached, **fields)


class LabelledRows:
    """What training goes through."""

    def __init__(self, rows: list[EncodedInput], pad: int, targets: Targets) -> None:
        self.rows, self.pad, self.targets = rows, pad, targets
        self.lengths = np.array([len(row.ids) + len(row.second or ()) for row in rows], np.int64)
        self.vectors: list[np.ndarray] | None = None  # cached vectors of each row

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        cached = None if self.vectors is None else [self.vectors[number] for number in numbers]
        return collate([self.rows[number] for number in numbers], self.pad, self.targets, cached)


def stack_padded(vectors: Sequence[np.ndarray], length: int) -> Tensor:
    """(B, D), or (B, T, D) padded with zeros."""
    if vectors[0].ndim == 1:
        return torch.from_numpy(np.stack(vectors).astype(np.float32))
    stacked = np.zeros((len(vectors), length, vectors[0].shape[1]), np.float32)
    for row, own in zip(stacked, vectors, strict=True):
        row[: len(own)] = own
    return torch.from_numpy(stacked)
