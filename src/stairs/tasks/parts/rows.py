"""Labelled examples as rows of ids, the same form for every encoder:

    one text      [CLS] text [SEP]
    two texts     [CLS] first [SEP] second [SEP]

That is BERT's form, and with [CLS] for the start, [SEP] for the delimiter and the last [SEP] for the extract token also that of Radford et al. 2018
for a GPT. Encoders that do not look from one text to the other read the two one by one.

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
    """What is read at once for an example, or for a part of one."""

    ids: list[int]
    segments: list[int]
    example: int  # its number
    second: list[int] | None = None  # another text, read by itself
    target: Any = None  # what is asked: a number, or one for each position
    metadata: dict[str, Any] = field(default_factory=dict)  # what is needed to make an answer of what the head says


class InputFormat:
    """Makes rows. `max_tokens` is how many tokens the encoder reads at once; None for any number."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int | None, long_text: LongTextRule = "head+tail") -> None:
        self.tokenizer, self.max_tokens, self.long_text = tokenizer, max_tokens, long_text
        self.truncated_texts = 0  # texts that were too long

    def encode_one(self, ids: list[int], example: int = 0) -> EncodedInput:
        ids = self.truncate(ids, 2)
        return EncodedInput([self.tokenizer.begin, *ids, self.tokenizer.end], [0] * (len(ids) + 2), example)

    def encode_pair(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Both in one row; the longer one loses what does not fit, at its end."""
        if self.max_tokens is not None and len(first) + len(second) > self.max_tokens - 3:
            self.truncated_texts += 1
            most = self.max_tokens - 3
            half = max(most // 2, most - len(second))
            first, second = first[:half], second[: most - min(len(first), half)]
        end = self.tokenizer.end
        return EncodedInput([self.tokenizer.begin, *first, end, *second, end], [0] * (len(first) + 2) + [1] * (len(second) + 1), example)

    def encode_apart(self, first: list[int], second: list[int], example: int = 0) -> EncodedInput:
        """Each by itself."""
        row = self.encode_one(first, example)
        row.second = self.encode_one(second).ids
        return row

    def truncate(self, ids: list[int], marks: int) -> list[int]:
        if self.max_tokens is None or len(ids) <= self.max_tokens - marks:
            return ids
        self.truncated_texts += 1
        rule = "head" if self.long_text == "window" else self.long_text
        return [ids[place] for place in kept_positions(len(ids), self.max_tokens - marks, rule)]


def collate(
    rows: Sequence[EncodedInput],
    pad: int,
    targets: Callable[[Sequence[EncodedInput], int], dict[str, Tensor]] | None = None,
    vectors: Sequence[np.ndarray] | None = None,
) -> Batch:
    """Rows as a batch; `targets` puts what is asked into it, and `vectors` are those of the rows, if they are known."""
    ids, real = pad_rows([row.ids for row in rows], pad)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    asked = {} if targets is None else targets(rows, ids.shape[1])
    source = None
    if rows and rows[0].second is not None:
        source = Batch(*pad_rows([row.second or [] for row in rows], pad))
    known = None if vectors is None else stack_padded(vectors, ids.shape[1])
    return Batch(ids, real, segments=segments, source=source, vectors=known, **asked)


class LabelledRows:
    """What training goes through: `lengths`, and `batch(numbers, epoch, seed)`."""

    def __init__(self, rows: list[EncodedInput], pad: int, targets: Callable[[Sequence[EncodedInput], int], dict[str, Tensor]]) -> None:
        self.rows, self.pad, self.targets = rows, pad, targets
        self.lengths = np.array([len(row.ids) + len(row.second or ()) for row in rows], np.int64)
        self.vectors: list[np.ndarray] | None = None  # of each row, if they were computed beforehand

    def batch(self, numbers: np.ndarray, epoch: int, seed: int) -> Batch:
        known = None if self.vectors is None else [self.vectors[number] for number in numbers]
        return collate([self.rows[number] for number in numbers], self.pad, self.targets, known)


def stack_padded(vectors: Sequence[np.ndarray], length: int) -> Tensor:
    """(B, D), or (B, T, D) filled up with zeros."""
    if vectors[0].ndim == 1:
        return torch.from_numpy(np.stack(vectors).astype(np.float32))
    found = np.zeros((len(vectors), length, vectors[0].shape[1]), np.float32)
    for row, own in zip(found, vectors, strict=True):
        row[: len(own)] = own
    return torch.from_numpy(found)
