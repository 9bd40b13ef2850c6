"""Pairs for next-sentence prediction (Devlin et al. 2018) in which nothing but the words gives the label away.

Where a passage is split, how much of the first part is read and how many tokens are left for the second are decided before the label is drawn. Then
the second part follows one rule for both labels: it is

    as many whole sentences after a split as fit, or the beginning of the first of them if that alone is too long

after the passage's own split, or after the split of a passage of another document. The document may end before the second part is full. So a passage
whose document ends soon is paired with one whose document ends about as soon, and any other with one whose document goes on.

Departures: in the paper a passage of one sentence always gets a random second part, a random part fills the row where a true one may not, and excess
tokens are cut off at both ends; the last punctuation mark alone then gives away the label of two pairs in three. Here a passage of one sentence
continues with what follows in its document, or follows what stands before it; the only sentence of a document is split inside, and paired with others
of that kind.
"""

import numpy as np

NEXT, OTHER = 0, 1  # labels: the second part follows the first, or it does not
TRIES = 10  # to find a split in another document
NEIGHBOURS = 8  # splits on either side, sorted by what follows, among which one whose document ends about as soon is drawn
MIN_SECOND_SHARE = 4  # at least a fourth of the tokens is for the second part
LAYOUT_SEED = 0  # of the splits that other passages use

Span = tuple[int, int]


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
