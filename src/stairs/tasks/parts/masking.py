"""Rows whose words are masked (Devlin et al. 2018), and batches of them.

Of the tokens that are targets, most become [MASK], some a random token, and some stay as they are, so that the model must represent every word and
not only those at a [MASK]; whole words at once (Cui et al. 2019). Evaluation masks the same share of the tokens of any model, with [MASK] only, so
that those trained on more masks or fewer can be compared (Wettig et al. 2022). [UNK] is never a target.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from stairs.models.settings import BERTConfig
from stairs.tasks.parts.document_memory import align_memories
from stairs.tasks.parts.other_objectives import stack_attention_masks
from stairs.text.batch import IGNORE_INDEX, Batch, pad_rows
from stairs.text.tokenizers.tokenizer import Tokenizer

EVALUATION_MASK_PROB = 0.15  # share of the tokens that are predicted in evaluation


@dataclass
class MaskingExample:
    """A row of ids (T,), the number of the word that each belongs to, -1 for none that can be a target, and what masking makes of it."""

    ids: np.ndarray
    words: np.ndarray
    segments: np.ndarray
    label: int | None = None
    targets: np.ndarray | None = None
    position_ids: np.ndarray | None = None
    attention_mask: np.ndarray | None = None  # (T, T)
    memory: int = 0  # how many of the tokens, the first ones, are a memory


class Masker:
    """Masks words as the settings of a model say."""

    def __init__(self, config: BERTConfig, tokenizer: Tokenizer, evaluation_mask_prob: float = EVALUATION_MASK_PROB) -> None:
        self.config, self.tokenizer, self.evaluation_mask_prob = config, tokenizer, evaluation_mask_prob
        self.ordinary_ids = np.setdiff1d(np.arange(config.vocab_size), np.array(sorted(tokenizer.special_ids)))

    def row(self, parts: list[np.ndarray], label: int | None = None) -> MaskingExample:
        """[CLS] first [SEP], or [CLS] first [SEP] second [SEP]."""
        ids, words, segments = [np.array([self.tokenizer.begin])], [np.array([-1])], [np.array([0])]
        last = 0
        for number, part in enumerate(parts):
            is_start = self.tokenizer.word_starts(part) if self.config.whole_word_masking else np.ones(len(part), bool)
            word_numbers = np.where(part == self.tokenizer.unknown, -1, last + np.cumsum(is_start))
            last += int(is_start.sum())
            ids += [part, np.array([self.tokenizer.end])]
            words += [word_numbers, np.array([-1])]
            segments.append(np.full(len(part) + 1, min(number, self.config.segments - 1)))
        return MaskingExample(np.concatenate(ids).astype(np.int64), np.concatenate(words), np.concatenate(segments), label)

    def mask(self, row: MaskingExample, random: np.random.Generator, evaluating: bool = False) -> MaskingExample:
        """Mask some words. In evaluation all of them are [MASK]: a word that stays as it is could be copied."""
        positions = self.choose_words(row, random, self.evaluation_mask_prob if evaluating else self.config.mask_prob)
        row.targets = np.full(len(row.ids), IGNORE_INDEX)
        row.targets[positions] = row.ids[positions]
        draws = random.random(len(positions))
        mask_share, random_share = (1.0, 0.0) if evaluating else (self.config.mask_token_share, self.config.random_share)
        becomes_mask, becomes_random = draws < mask_share, draws >= 1 - random_share
        row.ids[positions[becomes_mask]] = self.tokenizer.mask
        row.ids[positions[becomes_random]] = random.choice(self.ordinary_ids, int(becomes_random.sum()))
        return row

    def choose_words(self, row: MaskingExample, random: np.random.Generator, share: float) -> np.ndarray:
        """The places of random whole words, at most this share of the tokens, in the order of the text; at least one word."""
        positions = np.flatnonzero(row.words >= 0)
        count = max(round(len(positions) * share), 1)
        if not len(positions):
            return positions
        borders = [*np.flatnonzero(np.diff(row.words[positions], prepend=-2)).tolist(), len(positions)]
        chosen: list[int] = []
        for number in random.permutation(len(borders) - 1).tolist():
            start, stop = borders[number], borders[number + 1]
            if not chosen or len(chosen) + stop - start <= count:
                chosen += range(start, stop)
            if len(chosen) >= count:
                break
        return positions[sorted(chosen)]

    def max_positions(self, length: int) -> int:
        """The positions of a row of `length` tokens with its masks."""
        return length + max(round(length * self.config.mask_prob), 1) if self.config.objective == "permutation" else length


def collate_pairs(rows: list[MaskingExample], pad: int) -> Batch:
    padding = align_memories(rows, pad) if any(row.memory for row in rows) else [0] * len(rows)
    ids, real = pad_rows([row.ids for row in rows], pad)
    real &= torch.arange(ids.shape[1]) >= torch.tensor(padding)[:, None]
    targets, _ = pad_rows([row.targets for row in rows if row.targets is not None], IGNORE_INDEX)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    labels = None if rows[0].label is None else torch.tensor([row.label for row in rows])
    positions = [row.position_ids for row in rows if row.position_ids is not None]
    position_ids = pad_rows(positions, 0)[0] if positions else None
    masks = [row.attention_mask for row in rows if row.attention_mask is not None]
    attention_mask = stack_attention_masks(masks, ids.shape[1]) if masks else None
    return Batch(ids, real, targets, segments, labels=labels, position_ids=position_ids, attention_mask=attention_mask)


def hide_tokens(batch: Batch, share: float, tokenizer: Tokenizer) -> Batch:
    """The batch with this share of its tokens replaced by [MASK], others at each update, so that no single word decides (word dropout: Iyyer et al.
    2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", leave words out of a text)."""
    if not share:
        return batch
    special = torch.tensor(sorted(tokenizer.special_ids), device=batch.ids.device)
    is_hidden = (torch.rand(batch.ids.shape, device=batch.ids.device) < share) & ~torch.isin(batch.ids, special)
    source = None if batch.source is None else hide_tokens(batch.source, share, tokenizer)
    return replace(batch, ids=batch.ids.masked_fill(is_hidden, tokenizer.mask), source=source)
