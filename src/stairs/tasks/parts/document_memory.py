"""Transformer-XL's memory in the rows that an XLNet is trained on: the tokens of a document before each row (`layers/memory.py`)."""

from typing import TYPE_CHECKING

import numpy as np

from stairs.errors import BadInput
from stairs.text.batch import IGNORE_INDEX

if TYPE_CHECKING:
    from stairs.tasks.parts.masking import MaskingExample


class DocumentMemory:
    """Up to `limit` tokens before each passage. Sentences have `sizes` tokens and end a document where `ends_document`; passage n begins with the
    sentence first[n]."""

    def __init__(self, limit: int, sizes: np.ndarray, ends_document: np.ndarray, first: np.ndarray) -> None:
        self.limit, self.first = limit, first
        starts = np.concatenate([[0], np.flatnonzero(ends_document) + 1])
        self.document_first = starts[np.searchsorted(starts, first, side="right") - 1]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])  # of each sentence

    def start(self, n: int) -> int:
        """The sentence from which on the memory of a passage is read."""
        reached = int(np.searchsorted(self.offsets, self.offsets[self.first[n]] - self.limit, side="right")) - 1
        return max(reached, int(self.document_first[n]))

    def refuse_too_long(self) -> None:
        """A memory that no row can fill."""
        longest = int((self.offsets[self.first] - self.offsets[self.document_first]).max())
        if longest < self.limit:
            problem = f"a memory of {self.limit} tokens is never full: no row of the training text has more than {longest} before it in its document"
            raise BadInput(f"{problem}; give a smaller --memory or longer documents")


def prepend_memory(row: "MaskingExample", memory: np.ndarray) -> "MaskingExample":
    """Dai et al. 2019 (Transformer-XL): tokens before the row, at negative positions, attend to one another, and the row to all of them."""
    length, count = len(row.ids), len(memory)
    mask = np.ones((count + length, count + length), bool)
    mask[:count, count:] = False
    if row.attention_mask is not None:
        mask[count:, count:] = row.attention_mask
    position_ids = np.arange(length) if row.position_ids is None else row.position_ids
    assert row.targets is not None
    row.ids, row.targets = np.concatenate([memory, row.ids]), np.concatenate([np.full(count, IGNORE_INDEX), row.targets])
    row.segments = np.concatenate([np.zeros(count, row.segments.dtype), row.segments])
    row.position_ids, row.attention_mask, row.memory = np.concatenate([np.arange(-count, 0), position_ids]), mask, count
    return row


def align_memories(rows: "list[MaskingExample]", pad: int) -> list[int]:
    """Pads shorter memories in front, so that all rows begin in one column; by how many tokens."""
    longest = max(row.memory for row in rows)
    for row in rows:
        missing = longest - row.memory
        assert row.targets is not None and row.position_ids is not None and row.attention_mask is not None
        row.ids, row.targets, row.segments, row.position_ids = (
            np.concatenate([np.full(missing, filler), values])
            for filler, values in ((pad, row.ids), (IGNORE_INDEX, row.targets), (0, row.segments), (-1, row.position_ids))
        )
        row.attention_mask = np.pad(row.attention_mask, ((missing, 0), (missing, 0)))
    return [longest - row.memory for row in rows]
