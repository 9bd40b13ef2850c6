"""The examples that BERT is pretrained on (Devlin et al. 2018): pairs of passages from the shards of a corpus, some of whose words are masked.

The passages. Whole sentences of a document fill a passage until it has as many tokens as fit into the context, or, with probability `short_seq_prob`,
fewer. The sentences of a passage are the same in every epoch, so that all epochs are equally long; where it is split, what the second part is and
which words are masked follow from (seed, epoch, example). `masking.py` masks them, `other_objectives.py` has what other papers
do with them.

Next sentence. Half of the second parts come from another document, and nothing but the words gives the label away. Where a passage is split, how much
of the first part is read and how many tokens are left for the second are decided before the label is drawn. Then the second part is, for both labels,
as many whole sentences after a split as fit, or the beginning of the first of them if that alone is too long: after the passage's own split, or after
that of a passage of another document. The document may end before the second part is full. So a passage whose document ends soon is paired with one
whose document ends about as soon, and any other with one whose document goes on.

Departures: in the paper a passage of one sentence always gets a random second part, a random part fills the row where a true one may not, and excess
tokens are cut off at both ends; the last punctuation mark alone then gives away the label of two pairs in three. Here a passage of one sentence
continues with what follows in its document, or follows what stands before it; the only sentence of a document is split inside, and paired with others
of that kind. [UNK] is never a target.
"""

from typing import Protocol

import numpy as np

from stairs.errors import BadInput
from stairs.kernels.pack_sentences import pack_sentences
from stairs.models.settings import BERTConfig, XLNetConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.document_memory import DocumentMemory, prepend_memory
from stairs.tasks.parts.masking import Masker, MaskingExample, collate_pairs
from stairs.tasks.parts.other_objectives import permute, prefix_attention_mask, read_in_turn, split_passage, trim
from stairs.text.batch import Batch
from stairs.text.shards import Shards, is_sentence_end
from stairs.text.tokenizers.tokenizer import Tokenizer

LAYOUT_SEED = 0  # which passages are short, and where those are split that other passages use
SEARCHED_AT_ONCE = 1 << 24  # tokens
NEXT, OTHER = 0, 1  # labels: the second part follows the first, or it does not
TRIES = 10  # to find a split in another document
NEIGHBOURS = 8  # splits on either side, sorted by what follows, among which one whose document ends about as soon is drawn
MIN_SECOND_SHARE = 4  # at least a fourth of the tokens is for the second part
Span = tuple[int, int]


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
        self.has_pairs = config.objective in ("next-sentence", "sentence-order", "prefix", "three-masks")
        ends, ends_document = sentence_ends(ids)
        self.begins = np.concatenate([[0], ends + 1])[:-1]
        self.sizes = ends - self.begins
        max_tokens = config.context - (3 if self.has_pairs else 2)
        sizes, ends_passage = self.sizes, ends_document
        if config.objective == "full-sentences":  # across documents, which a [SEP] separates
            sizes, ends_passage = sizes + ends_document, np.arange(len(sizes)) == len(sizes) - 1
        starts, target_lengths = pack_sentences(sizes, ends_passage, max_tokens, config.short_seq_prob, LAYOUT_SEED)
        totals, words = (np.add.reduceat(own, starts[:-1]) if len(starts) > 1 else np.zeros(0, np.int64) for own in (sizes, self.sizes))
        has_tokens = words > 0
        self.first, self.last, self.target_lengths = starts[:-1][has_tokens], starts[1:][has_tokens], target_lengths[has_tokens]
        if not len(self.first):
            raise BadInput(f"the {split} split of the corpus has no tokens; give a longer text")
        size = config.memory if isinstance(config, XLNetConfig) else 0
        self.memory = DocumentMemory(size, self.sizes, ends_document, self.first) if size else None
        if self.memory is not None and split == "train":
            self.memory.refuse_too_long()
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
        memory = None if self.memory is None else parts.pop(0)
        row = read_in_turn(parts, self.masker.row, random) if self.config.objective == "three-masks" else self.masker.row(parts, label)
        if self.config.objective == "permutation":
            row = permute(row, self.masker.choose_words(row, random, self.config.mask_prob), self.tokenizer.mask, random)
        else:
            row.attention_mask = prefix_attention_mask(row) if self.config.objective == "prefix" else row.attention_mask
            row = self.masker.mask(row, random, evaluating)
        return row if memory is None else prepend_memory(row, memory)

    def parts(self, n: int, random: np.random.Generator) -> tuple[list[np.ndarray], int | None]:
        """The sentences of an example, in one part or two, after those of its memory, if there is one; and the label of the pair."""
        first, last, target_length = int(self.first[n]), int(self.last[n]), int(self.target_lengths[n])
        if self.config.objective == "next-sentence":
            first_span, second_span, label = self.next_sentence.parts(n, target_length, random)
            return [self.tokens(*first_span), self.tokens(*second_span)], label
        if self.config.objective == "full-sentences":
            return self.documents(first, last, target_length, random), None
        if self.memory is not None:
            tokens = self.sentences(first, last)
            kept = trim(np.arange(len(tokens)), target_length, random)
            before = np.concatenate([self.sentences(self.memory.start(n), first), tokens[: kept[0]]])
            return [before[-self.memory.limit :], tokens[kept]], None
        if not self.has_pairs:
            return [trim(self.sentences(first, last), target_length, random)], None
        may_exchange = self.config.objective == "sentence-order"
        parts, is_exchanged = split_passage(self.sentences, first, last, target_length, may_exchange, random)
        return parts, (OTHER if is_exchanged else NEXT) if may_exchange else None

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

    def documents(self, first: int, last: int, limit: int, random: np.random.Generator) -> list[np.ndarray]:
        """The ids of some sentences, a part for each document, of at most `limit` tokens with those that separate them."""
        ids = np.asarray(self.ids[self.begins[first] : self.begins[last - 1] + self.sizes[last - 1]])
        ids = trim(ids[ids != Tokenizer.end].astype(np.int64), limit, random)
        return [part for part in map(without_ends, np.split(ids, np.flatnonzero(ids == Tokenizer.begin))) if len(part)]


class NextSentence:
    """Where the parts of each passage are. Offsets count tokens, without the ends of sentences. Sentences have `sizes` tokens and end a document
    where `ends_document`; passage n has the sentences from first[n] to last[n]."""

    def __init__(self, sizes: np.ndarray, ends_document: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])  # of each sentence, and of the end
        stops = np.union1d(np.flatnonzero(ends_document) + 1, [len(sizes)])
        self.document = np.searchsorted(stops, first, side="right")
        self.first, self.last = self.offsets[first], self.offsets[last]
        self.document_start = self.offsets[np.concatenate([[0], stops])[self.document]]
        self.document_stop = self.offsets[stops[self.document]]
        self.second_sentence, self.inner_count = first + 1, np.maximum(last - first - 1, 0)  # the sentences of a passage but the first
        self.splits = self.split_points(np.arange(len(first)), np.random.default_rng(LAYOUT_SEED).random(len(first)))  # that other passages use
        follows, is_inside = self.document_stop - self.splits, self.is_inside_sentence(self.splits, self.document_stop)
        self.by_what_follows = []  # passages split between sentences, and passages split inside one, with the tokens that follow
        for group in (np.flatnonzero(~is_inside), np.flatnonzero(is_inside)):
            order = group[np.argsort(follows[group], kind="stable")]
            self.by_what_follows.append((order, follows[order]))

    def split_points(self, numbers: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Where each passage is split: at the beginning of one of its sentences but the first; a single sentence is split from what follows it, or
        else from what stands before it; the only sentence of a document is split inside."""
        start, stop = self.document_start[numbers], self.document_stop[numbers]
        between = self.offsets[self.second_sentence[numbers] + (shares * self.inner_count[numbers]).astype(np.int64)]
        between = np.where(between < stop, between, self.first[numbers])
        inside = start + np.minimum(1 + (shares * (stop - start - 1)).astype(np.int64), stop - start)
        points: np.ndarray = np.where(between > start, between, inside)
        return points

    def is_inside_sentence(self, positions: np.ndarray, stops: np.ndarray) -> np.ndarray:
        is_inside: np.ndarray = (self.offsets[np.searchsorted(self.offsets, positions)] != positions) | (positions == stops)
        return is_inside

    def parts(self, n: int, limit: int, random: np.random.Generator) -> tuple[Span, Span, int]:
        """Where the first and the second part begin and end, of at most `limit` tokens together, and the label."""
        split = int(self.split_points(np.array([n]), np.array([random.random()]))[0])
        min_second = max(limit // MIN_SECOND_SHARE, 1)
        previous = int(self.offsets[int(np.searchsorted(self.offsets, split)) - 1])  # where the sentence before the split begins
        begin = max(min(int(self.first[n]), previous), split - max(limit - min_second, 1))
        max_second = max(limit - (split - begin), min_second)
        if random.random() < 0.5:
            other = self.other_passage(n, split, max_second, random)
            if other is not None:
                place = int(self.splits[other])
                return (begin, split), (place, self.second_end(place, int(self.document_stop[other]), max_second)), OTHER
        return (begin, split), (split, self.second_end(split, int(self.document_stop[n]), max_second)), NEXT

    def second_end(self, begin: int, document_stop: int, max_second: int) -> int:
        """Where a second part ends: with the last sentence that fits, or inside the first one."""
        if document_stop - begin <= max_second:
            return document_stop
        fitting = int(self.offsets[int(np.searchsorted(self.offsets, begin + max_second, side="right")) - 1])
        return fitting if fitting > begin else begin + max_second

    def other_passage(self, n: int, split: int, max_second: int, random: np.random.Generator) -> int | None:
        """A passage of another document, or else of elsewhere in this one, after whose split about as many tokens follow, up to `max_second`."""
        stop = int(self.document_stop[n])
        is_inside = bool(self.is_inside_sentence(np.array([split]), np.array([stop]))[0])
        order, follows = self.by_what_follows[int(is_inside)]
        full = int(np.searchsorted(follows, max_second))
        low, high = full, len(order)
        if stop - split < max_second:
            low = max(int(np.searchsorted(follows, stop - split, side="left")) - NEIGHBOURS, 0)
            high = min(int(np.searchsorted(follows, stop - split, side="right")) + NEIGHBOURS, full)
        for anywhere in (False, True):
            for _ in range(TRIES if high > low else 0):
                other = int(order[low + int(random.integers(high - low))])
                if self.document[other] != self.document[n] or (anywhere and abs(int(self.splits[other]) - split) > max_second):
                    return other
        return None


def without_ends(ids: np.ndarray) -> np.ndarray:
    ids = np.asarray(ids)
    words: np.ndarray = ids[~is_sentence_end(ids)].astype(np.int64)
    return words


def sentence_ends(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each sentence ends, and whether its document ends there."""
    parts = [np.flatnonzero(is_sentence_end(ids[at : at + SEARCHED_AT_ONCE])) + at for at in range(0, len(ids), SEARCHED_AT_ONCE)]
    ends = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return ends, ids[ends] == Tokenizer.begin


def pairs_of_split(shards: Shards, split: str, config: BERTConfig) -> SentencePairs:
    return SentencePairs(shards.ids(split), config, shards.tokenizer, split=split)
