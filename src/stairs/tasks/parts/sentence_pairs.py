"""The examples BERT is pretrained on, from the shards of a corpus: stretches of whole sentences of a document, each cut in two at a sentence's end.

next-sentence    Devlin et al. 2018: half of the second parts come from another document (tasks/parts/next_sentence.py)
sentence-order   Lan et al. 2019 (ALBERT): half of the pairs are exchanged
prefix           Dong et al. 2019 (UniLM): the second part is read from left to right
none             Liu et al. 2019 (RoBERTa): one part
permutation      Yang et al. 2019 (XLNet): one part, in a random order

A stretch is filled until it has as many tokens as fit into the context, or for a share of `format_count` fewer; what is too much is taken away from
the begin and the end of the longer part (not for next-sentence). Which sentences make a stretch is the same in every epoch, so that all epochs are
equally long; where it is cut, what follows and which words are left out follows from (seed, epoch, example).
"""

import numpy as np
import torch

from stairs.errors import BadInput
from stairs.kernels.pack_sentences import pack_sentences
from stairs.models.settings import BERTConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.masking import Masker, MaskingExample, prefix_attention_mask
from stairs.tasks.parts.next_sentence import NEXT, OTHER, NextSentence
from stairs.text.batch import IGNORE_INDEX, Batch, pad_rows
from stairs.text.shards import Shards, is_sentence_end
from stairs.text.tokenizers.tokenizer import Tokenizer

LAYOUT = 0  # the seed of which stretches are short


class SentencePairs:
    """Examples of a split: `lengths`, and `batch(numbers, epoch, seed)`."""

    def __init__(self, ids: np.ndarray, config: BERTConfig, tokenizer: Tokenizer, *, where: str = "train") -> None:
        self.ids, self.config, self.tokenizer = ids, config, tokenizer
        self.masks = Masker(config, tokenizer)
        self.pairs = config.objective in ("next-sentence", "sentence-order", "prefix")
        closed, closing = sentence_ends(ids)
        self.begins = np.concatenate([[0], closed + 1])[:-1]
        self.sizes = closed - self.begins
        room = config.context - (3 if self.pairs else 2)
        starts, wanted = pack_sentences(self.sizes, closing, room, config.short_seq_prob, LAYOUT)
        totals = np.add.reduceat(self.sizes, starts[:-1]) if len(starts) > 1 else np.zeros(0, np.int64)
        filled = totals > 0
        self.first, self.last, self.wanted, totals = starts[:-1][filled], starts[1:][filled], wanted[filled], totals[filled]
        if not len(self.first):
            raise BadInput(f"the {where} part of the corpus has no tokens; give a longer text")
        aims = np.minimum(totals, self.wanted)
        if config.objective == "next-sentence":
            self.cuts = NextSentence(self.sizes, closing, self.first, self.last)
            aims = np.where(self.last - self.first == 1, self.wanted, aims)  # a stretch of one sentence is read with its neighbours
        self.lengths = np.array([self.masks.max_positions(length) for length in range(config.context + 1)])[aims + config.context - room]

    def batch(self, numbers: np.ndarray, epoch: int, seed: int, evaluating: bool = False) -> Batch:
        """The same for the same arguments, always. To judge by, every word left out is a [MASK]."""
        drawn = (numpy_generator(seed, "pairs", epoch, int(n)) for n in numbers)
        return collate_pairs([self.example(int(n), random, evaluating) for n, random in zip(numbers, drawn, strict=True)], self.tokenizer.pad)

    def example(self, n: int, random: np.random.Generator, evaluating: bool = False) -> MaskingExample:
        parts, label = self.parts(n, random)
        row = self.masks.row(parts, label)
        if self.config.objective == "permutation":
            return self.masks.permute(row, random)
        if self.config.objective == "prefix":
            row.attention_mask = prefix_attention_mask(row)
        return self.masks.mask(row, random, evaluating)

    def parts(self, n: int, random: np.random.Generator) -> tuple[list[np.ndarray], int | None]:
        """The sentences of an example, in one part or two, and whether the second follows."""
        first, last, wanted = int(self.first[n]), int(self.last[n]), int(self.wanted[n])
        if not self.pairs:
            whole = self.sentences(first, last)
            return [trim(whole, len(whole) - wanted, random)], None
        if self.config.objective == "next-sentence":
            one, other, follows = self.cuts.parts(n, wanted, random)
            return [self.tokens(*one), self.tokens(*other)], follows
        a, b = self.cut(first, last, random)
        if not len(b):
            a, b = a[: len(a) // 2], a[len(a) // 2 :]
        label = None if self.config.objective == "prefix" else NEXT
        if label is not None and random.random() < 0.5:
            a, b, label = b, a, OTHER
        return truncate_pair(a, b, wanted, random), label

    def cut(self, first: int, last: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A stretch in two at the end of one of its sentences; nothing in the second part if it has only one."""
        middle = first + int(random.integers(1, last - first)) if last - first > 1 else last
        a, b = self.sentences(first, middle), self.sentences(middle, last)
        return (a, b) if len(a) else (b, a)

    def tokens(self, begin: int, end: int) -> np.ndarray:
        """The ids between two places, which count no closing marks."""
        if end <= begin:
            return np.zeros(0, np.int64)
        before = self.cuts.before
        first, last = (int(place) - 1 for place in (np.searchsorted(before, begin, side="right"), np.searchsorted(before, end)))
        found = np.asarray(self.ids[self.begins[first] + begin - before[first] : self.begins[last] + end - before[last]])
        return found[~is_sentence_end(found)].astype(np.int64)

    def sentences(self, first: int, last: int) -> np.ndarray:
        """The ids of some sentences, without what closes them."""
        found = np.asarray(self.ids[self.begins[first] : self.begins[last - 1] + self.sizes[last - 1]] if last > first else self.ids[:0])
        return found[~is_sentence_end(found)].astype(np.int64)


def sentence_ends(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each sentence is closed, and whether its document ends there."""
    size = 1 << 24
    found = [np.flatnonzero(is_sentence_end(ids[at : at + size])) + at for at in range(0, len(ids), size)]
    closed = np.concatenate(found) if found else np.zeros(0, np.int64)
    return closed, ids[closed] == Tokenizer.begin


def truncate_pair(a: np.ndarray, b: np.ndarray, limit: int, random: np.random.Generator) -> list[np.ndarray]:
    """Two parts of at most `most` tokens together: the longer loses first, then both alike."""
    excess = len(a) + len(b) - limit
    if excess <= 0:
        return [a, b]
    apart = min(abs(len(a) - len(b)), excess)
    less = (excess - apart) // 2
    from_a = less + (apart if len(a) > len(b) else 0)
    return [trim(a, from_a, random), trim(b, excess - from_a, random)]


def trim(part: np.ndarray, by: int, random: np.random.Generator) -> np.ndarray:
    """Without so many tokens, some of them of the begin, the others of the end."""
    if by <= 0:
        return part
    front = int(random.binomial(by, 0.5))
    return part[front : len(part) - (by - front)]


def collate_pairs(rows: list[MaskingExample], pad: int) -> Batch:
    ids, real = pad_rows([row.ids for row in rows], pad)
    targets, _ = pad_rows([row.targets for row in rows if row.targets is not None], IGNORE_INDEX)
    segments, _ = pad_rows([row.segments for row in rows], 0)
    labels = None if rows[0].label is None else torch.tensor([row.label for row in rows])
    places = None if rows[0].position_ids is None else pad_rows([row.position_ids for row in rows if row.position_ids is not None], 0)[0]
    return Batch(ids, real, targets, segments, labels=labels, position_ids=places, attention_mask=stack_attention_masks(rows, ids.shape[1]))


def stack_attention_masks(rows: list[MaskingExample], width: int) -> torch.Tensor | None:
    """Who may look at whom, (B, T, T)."""
    if rows[0].attention_mask is None:
        return None
    found = np.zeros((len(rows), width, width), bool)
    for place, row in zip(found, rows, strict=True):
        if row.attention_mask is not None:
            place[: len(row.attention_mask), : len(row.attention_mask)] = row.attention_mask
    return torch.from_numpy(found)


def pairs_of_split(shards: Shards, split: str, config: BERTConfig) -> SentencePairs:
    return SentencePairs(shards.ids(split), config, shards.tokenizer, where=split)
