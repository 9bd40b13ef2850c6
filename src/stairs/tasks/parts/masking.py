"""The targets of BERT and its kin: which words of a row are masked, and which tokens each may attend to.

mask          Devlin et al. 2018: of the tokens that are targets, most become [MASK], some a random token, and some stay as they are, so that the
              model must represent every word and not only those at a [MASK]; whole words at once (Cui et al. 2019). Evaluation has [MASK] only.
permute       Yang et al. 2019 (XLNet): the words in a random order, each attending only to those before it in that order; the last of them are the
              targets. XLNet's second stream is a second token here: a [MASK] with the same position, which attends to the words before it in the
              order, and which no other token attends to.

Departures: [UNK] is never a target. XLNet's order is one of whole words, and the share `mask_prob` of a row is predicted, where the paper takes spans
of one to five tokens; without its relative positions and its memory of earlier rows, which belong to the encoder (`models/bert.py`).
"""

from dataclasses import dataclass

import numpy as np

from stairs.models.settings import BERTConfig
from stairs.text.batch import IGNORE_INDEX
from stairs.text.tokenizers.tokenizer import Tokenizer


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


class Masker:
    """Masks words as the settings of a model say."""

    def __init__(self, config: BERTConfig, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer = config, tokenizer
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
        positions = choose_words(row.words, self.target_count(row), random)
        row.targets = np.full(len(row.ids), IGNORE_INDEX)
        row.targets[positions] = row.ids[positions]
        draws = random.random(len(positions))
        mask_share, random_share = (1.0, 0.0) if evaluating else (self.config.mask_token_share, self.config.random_share)
        becomes_mask, becomes_random = draws < mask_share, draws >= 1 - random_share
        row.ids[positions[becomes_mask]] = self.tokenizer.mask
        row.ids[positions[becomes_random]] = random.choice(self.ordinary_ids, int(becomes_random.sum()))
        return row

    def permute(self, row: MaskingExample, random: np.random.Generator) -> MaskingExample:
        """Predict the last words of a random order, each at a [MASK] that is appended to the row."""
        length = len(row.ids)
        positions = choose_words(row.words, self.target_count(row), random)
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
        row.ids = np.concatenate([row.ids, np.full(len(positions), self.tokenizer.mask)])
        return row

    def target_count(self, row: MaskingExample) -> int:
        return max(round(int((row.words >= 0).sum()) * self.config.mask_prob), 1)

    def max_positions(self, length: int) -> int:
        """The positions of a row of `length` tokens with its masks."""
        return length + max(round(length * self.config.mask_prob), 1) if self.config.objective == "permutation" else length


def choose_words(words: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """The places of random whole words, at most `count` tokens, in the order of the text; at least one word if there is one."""
    positions = np.flatnonzero(words >= 0)
    if not len(positions):
        return positions
    borders = [*np.flatnonzero(np.diff(words[positions], prepend=-2)).tolist(), len(positions)]
    chosen: list[int] = []
    for number in random.permutation(len(borders) - 1).tolist():
        start, stop = borders[number], borders[number + 1]
        if not chosen or len(chosen) + stop - start <= count:
            chosen += range(start, stop)
        if len(chosen) >= count:
            break
    return positions[sorted(chosen)]


def prefix_attention_mask(row: MaskingExample) -> np.ndarray:
    """Dong et al. 2019 (UniLM): all attend to the first part, and the second is read from left to right, (T, T)."""
    prefix = int((row.segments == 0).sum())
    positions = np.arange(len(row.ids))
    mask: np.ndarray = (positions <= positions[:, None]) | (positions < prefix)
    return mask
