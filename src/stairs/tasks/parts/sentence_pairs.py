"""The examples that BERT is pretrained on, from the shards of a corpus: passages of whole sentences of a document, each split in two at the end of a
sentence.

next-sentence    Devlin et al. 2018: half of the second parts come from another document (tasks/parts/next_sentence.py)
sentence-order   Lan et al. 2019 (ALBERT): half of the pairs are exchanged
prefix           Dong et al. 2019 (UniLM): the second part is read from left to right
none             Liu et al. 2019 (RoBERTa): one part
permutation      Yang et al. 2019 (XLNet): one part, in a random order

A passage is filled until it has as many tokens as fit into the context, or, with probability `short_seq_prob`, fewer; excess tokens are removed from
both ends of the longer part (not for next-sentence). The sentences of a passage are the same in every epoch, so that all epochs are equally long;
where it is split, what the second part is and which words are masked follow from (seed, epoch, example).
"""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.kernels.pack_sentences import pack_sentences
from stairs.models.settings import BERTConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.masking import Masker, MaskingExample, prefix_attention_mask
from stairs.tasks.parts.next_sentence import NEXT, OTHER, NextSentence
from stairs.text.batch import IGNORE_INDEX, Batch, pad_rows
from stairs.text.shards import Shards, is_sentence_end
from stairs.text.tokenizers.tokenizer import Tokenizer

LAYOUT_SEED = 0  # which passages are short
SEARCHED_AT_ONCE = 1 << 24  # tokens


class PretrainingRows(Protocol):
    """What a BERT is pretrained and evaluated on."""

    lengths: np.ndarray  # positions of each row

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        """Some of the rows; the same ones for the same arguments."""


class SentencePairs:
    """The examples of a split."""

    def __init__(self, ids: np.ndarray, config: BERTConfig, tokenizer: Tokenizer, *, split: str = "train") -> None:
        self.ids, self.config, self.tokenizer = ids, config, tokenizer
        self.masker = Masker(config, tokenizer)
        self.has_pairs = config.objective in ("next-sentence", "sentence-order", "prefix")
        ends, ends_document = sentence_ends(ids)
        self.begins = np.concatenate([[0], ends + 1])[:-1]
        self.sizes = ends - self.begins
        max_tokens = config.context - (3 if self.has_pairs else 2)
        starts, target_lengths = pack_sentences(self.sizes, ends_document, max_tokens, config.short_seq_prob, LAYOUT_SEED)
        totals = np.add.reduceat(self.sizes, starts[:-1]) if len(starts) > 1 else np.zeros(0, np.int64)
        has_tokens = totals > 0
        self.first, self.last, self.target_lengths = starts[:-1][has_tokens], starts[1:][has_tokens], target_lengths[has_tokens]
        if not len(self.first):
            raise BadInput(f"the {split} split of the corpus has no tokens; give a longer text")
        lengths = np.minimum(totals[has_tokens], self.target_lengths)
        if config.objective == "next-sentence":
            self.next_sentence = NextSentence(self.sizes, ends_document, self.first, self.last)
            lengths = np.where(self.last - self.first == 1, self.target_lengths, lengths)  # a passage of one sentence is read with its neighbours
        positions = np.array([self.masker.max_positions(length) for length in range(config.context + 1)])
        self.lengths = positions[lengths + config.context - max_tokens]

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        """The same for the same arguments. In evaluation, every masked word is a [MASK]."""
        rows = [self.example(int(n), numpy_generator(seed, "pairs", epoch, int(n)), evaluating) for n in numbers]
        return collate_pairs(rows, self.tokenizer.pad)

    def example(self, n: int, random: np.random.Generator, evaluating: bool = False) -> MaskingExample:
        parts, label = self.parts(n, random)
        row = self.masker.row(parts, label)
        if self.config.objective == "permutation":
            return self.masker.permute(row, random)
        if self.config.objective == "prefix":
            row.attention_mask = prefix_attention_mask(row)
        return self.masker.mask(row, random, evaluating)

    def parts(self, n: int, random: np.random.Generator) -> tuple[list[np.ndarray], int | None]:
        """The sentences of an example, in one part or two, and the label of the pair."""
        first, last, target_length = int(self.first[n]), int(self.last[n]), int(self.target_lengths[n])
        if not self.has_pairs:
            passage = self.sentences(first, last)
            return [trim(passage, len(passage) - target_length, random)], None
        if self.config.objective == "next-sentence":
            first_span, second_span, pair_label = self.next_sentence.parts(n, target_length, random)
            return [self.tokens(*first_span), self.tokens(*second_span)], pair_label
        a, b = self.split(first, last, random)
        if not len(b):
            a, b = a[: len(a) // 2], a[len(a) // 2 :]
        label = None if self.config.objective == "prefix" else NEXT
        if label is not None and random.random() < 0.5:
            a, b, label = b, a, OTHER
        return truncate_pair(a, b, target_length, random), label

    def split(self, first: int, last: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A passage in two parts at the end of one of its sentences; the second part is empty if it has only one."""
        middle = first + int(random.integers(1, last - first)) if last - first > 1 else last
        a, b = self.sentences(first, middle), self.sentences(middle, last)
        return (a, b) if len(a) else (b, a)

    def tokens(self, begin: int, end: int) -> np.ndarray:
        """The ids between two places, which do not count the ends of sentences."""
        if end <= begin:
            return np.zeros(0, np.int64)
        offsets = self.next_sentence.offsets
        first, last = (int(place) - 1 for place in (np.searchsorted(offsets, begin, side="right"), np.searchsorted(offsets, end)))
        return without_ends(self.ids[self.begins[first] + begin - offsets[first] : self.begins[last] + end - offsets[last]])

    def sentences(self, first: int, last: int) -> np.ndarray:
        """The ids of some sentences, without their ends."""
        return without_ends(self.ids[self.begins[first] : self.begins[last - 1] + self.sizes[last - 1]] if last > first else self.ids[:0])


def without_ends(ids: np.ndarray) -> np.ndarray:
    ids = np.asarray(ids)
    words: np.ndarray = ids[~is_sentence_end(ids)].astype(np.int64)
    return words


def sentence_ends(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each sentence ends, and whether its document ends there."""
    parts = [np.flatnonzero(is_sentence_end(ids[at : at + SEARCHED_AT_ONCE])) + at for at in range(0, len(ids), SEARCHED_AT_ONCE)]
    ends = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return ends, ids[ends] == Tokenizer.begin


def truncate_pair(a: np.ndarray, b: np.ndarray, limit: int, random: np.random.Generator) -> list[np.ndarray]:
    """Two parts of at most `limit` tokens together: first the longer one is trimmed, then both equally."""
    excess = len(a) + len(b) - limit
    if excess <= 0:
        return [a, b]
    difference = min(abs(len(a) - len(b)), excess)
    from_a = (excess - difference) // 2 + (difference if len(a) > len(b) else 0)
    return [trim(a, from_a, random), trim(b, excess - from_a, random)]


def trim(part: np.ndarray, excess: int, random: np.random.Generator) -> np.ndarray:
    """Without `excess` tokens: a random number of them from the beginning, the rest from the end."""
    if excess <= 0:
        return part
    front = int(random.binomial(excess, 0.5))
    return part[front : len(part) - (excess - front)]


def collate_pairs(rows: list[MaskingExample], pad: int) -> Batch:
    ids, real = pad_rows([row.ids for row in rows], pad)
    targets, _ = pad_rows([row.targets for row in rows if row.targets is not None], IGNORE_INDEX)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    labels = None if rows[0].label is None else torch.tensor([row.label for row in rows])
    positions = [row.position_ids for row in rows if row.position_ids is not None]
    position_ids = pad_rows(positions, 0)[0] if positions else None
    return Batch(ids, real, targets, segments, labels=labels, position_ids=position_ids, attention_mask=stack_attention_masks(rows, ids.shape[1]))


def stack_attention_masks(rows: list[MaskingExample], length: int) -> Tensor | None:
    """(B, T, T), padded with False."""
    if rows[0].attention_mask is None:
        return None
    stacked = np.zeros((len(rows), length, length), bool)
    for own, row in zip(stacked, rows, strict=True):
        if row.attention_mask is not None:
            own[: len(row.attention_mask), : len(row.attention_mask)] = row.attention_mask
    return torch.from_numpy(stacked)


def pairs_of_split(shards: Shards, split: str, config: BERTConfig) -> SentencePairs:
    return SentencePairs(shards.ids(split), config, shards.tokenizer, split=split)
