"""Words of one character each, for models that read characters, where a test has no tokenizer."""

from dataclasses import replace

import torch

from stairs.text.batch import Batch
from stairs.text.character_ids import CHARACTER_ID_COUNTS, FIRST_SPECIAL, WORD_BEGIN, WORD_END


def one_character_ids(ids: torch.Tensor) -> torch.Tensor:
    """An id as a word of one character, (N,) to (N, 3)."""
    begin, end = torch.full_like(ids, WORD_BEGIN), torch.full_like(ids, WORD_END)
    return torch.stack([begin, FIRST_SPECIAL + ids % (CHARACTER_ID_COUNTS["bytes"] - FIRST_SPECIAL), end], 1)


def add_characters(batch: Batch, pad: int = 2) -> Batch:
    """The batch with the characters of its words; `pad` is the id that stands for padding."""
    ids = batch.ids.where(batch.real, pad)
    return replace(batch, characters=one_character_ids(ids.flatten()).unflatten(0, ids.shape))
