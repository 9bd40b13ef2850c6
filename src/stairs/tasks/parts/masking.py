"""What BERT and its kin are asked: words left out of a row, and in which order the rest may be looked at.

masked        Devlin et al. 2018: of the tokens asked for, most are hidden by [MASK], some swapped for another, some left as they are, so that
              the model must know every word and not only those at a [MASK]; whole words at once (Cui et al. 2019). It is judged with [MASK] only.
permuted      Yang et al. 2019 (XLNet): the words in a random order, each seeing only those before it in that order, and the last of them asked for.
              XLNet's second stream is a second token here: it stands at the same place, is a [MASK], sees the words before it in the order,
              and is seen by nobody.

Departures: [UNK] is never asked for. XLNet's order is one of whole words, and the share `mask_prob` of a row is asked for, where the paper takes
spans of one to five tokens; without its relative positions and its memory of earlier rows, which belong to the encoder (`models/bert.py`).
"""

from dataclasses import dataclass

import numpy as np

from stairs.models.settings import BERTConfig
from stairs.text.batch import IGNORE_INDEX
from stairs.text.tokenizers.tokenizer import Tokenizer


@dataclass
class MaskingExample:
    """One example: ids (T,), which word each belongs to, -1 for none that can be asked for, and what comes of it when some are left out."""

    ids: np.ndarray
    words: np.ndarray
    segments: np.ndarray
    label: int | None = None
    targets: np.ndarray | None = None
    position_ids: np.ndarray | None = None
    attention_mask: np.ndarray | None = None  # (T, T)


class Masker:
    """The settings of a model, and the tokenizer's part in them."""

    def __init__(self, config: BERTConfig, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer = config, tokenizer
        self.ordinary = np.setdiff1d(np.arange(config.vocab_size), np.array(sorted(tokenizer.special_ids)))

    def row(self, parts: list[np.ndarray], label: int | None = None) -> MaskingExample:
        """[CLS] first [SEP], or [CLS] first [SEP] second [SEP]."""
        ids, words, segments = [np.array([self.tokenizer.begin])], [np.array([-1])], [np.array([0])]
        last = 0
        for number, part in enumerate(parts):
            starts = self.tokenizer.word_starts(part) if self.config.whole_word_masking else np.ones(len(part), bool)
            found = np.where(part == self.tokenizer.unknown, -1, last + np.cumsum(starts))
            last += int(starts.sum())
            ids += [part, np.array([self.tokenizer.end])]
            words += [found, np.array([-1])]
            segments.append(np.full(len(part) + 1, min(number, self.config.segments - 1)))
        return MaskingExample(np.concatenate(ids).astype(np.int64), np.concatenate(words), np.concatenate(segments), label)

    def mask(self, row: MaskingExample, random: np.random.Generator, evaluating: bool = False) -> MaskingExample:
        """Some words left out. To judge by, all of them are [MASK]: a word that stands in plain sight can be copied."""
        asked = choose_words(row.words, self.count(row), random)
        row.targets = np.full(len(row.ids), IGNORE_INDEX)
        row.targets[asked] = row.ids[asked]
        fate = random.random(len(asked))
        shares = (1.0, 0.0) if evaluating else (self.config.mask_token_share, self.config.random_share)
        hidden, swapped = fate < shares[0], fate >= 1 - shares[1]
        row.ids[asked[hidden]] = self.tokenizer.mask
        row.ids[asked[swapped]] = random.choice(self.ordinary, int(swapped.sum()))
        return row

    def permute(self, row: MaskingExample, random: np.random.Generator) -> MaskingExample:
        """The last words of a random order asked for, each by a [MASK] that stands behind the row."""
        length, can = len(row.ids), np.flatnonzero(row.words >= 0)
        asked = choose_words(row.words, self.count(row), random)
        others = np.setdiff1d(can, asked)
        order = np.concatenate([random.permutation(others), random.permutation(asked)])
        rank = np.full(length, -1)  # [CLS], [SEP] and [UNK] are seen by all, and see one another
        rank[order] = np.arange(len(order))
        row.attention_mask = np.zeros((length + len(asked), length + len(asked)), bool)
        row.attention_mask[:length, :length] = rank <= rank[:, None]
        row.attention_mask[length:, :length] = rank < rank[asked][:, None]
        row.targets = np.concatenate([np.full(length, IGNORE_INDEX), row.ids[asked]])
        row.position_ids = np.concatenate([np.arange(length), asked])
        row.segments = np.concatenate([row.segments, row.segments[asked]])
        row.ids = np.concatenate([row.ids, np.full(len(asked), self.tokenizer.mask)])
        return row

    def count(self, row: MaskingExample) -> int:
        return max(round((row.words >= 0).sum() * self.config.mask_prob), 1)

    def max_positions(self, length: int) -> int:
        """The positions of a row of `length` tokens when some of them are asked for."""
        return length + max(round(length * self.config.mask_prob), 1) if self.config.objective == "permutation" else length


def choose_words(words: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """The places of whole words drawn at random, at most `format_tokens` tokens, in the order of the text; at least one word if there is one."""
    can = np.flatnonzero(words >= 0)
    if not len(can):
        return can
    borders = [*np.flatnonzero(np.diff(words[can], prepend=-2)).tolist(), len(can)]
    taken: list[int] = []
    for number in random.permutation(len(borders) - 1).tolist():
        start, stop = borders[number], borders[number + 1]
        if not taken or len(taken) + stop - start <= count:
            taken += range(start, stop)
        if len(taken) >= count:
            break
    return can[sorted(taken)]


def prefix_attention_mask(row: MaskingExample) -> np.ndarray:
    """Dong et al. 2019 (UniLM): the first sentence is known as a whole, the second is read from left to right, (T, T)."""
    known = int((row.segments == 0).sum())
    places = np.arange(len(row.ids))
    return (places <= places[:, None]) | (places < known)
