"""Pairs of parts for the question whether the second follows the first (Devlin et al. 2018), in which nothing but the words gives the answer away.

Where an example is cut, how much of the first part is read and how much room is left for the second are settled before the label is drawn.
Then the second part is, by one rule for both labels,

    as many whole sentences behind a cut as the room takes, or the begin of the first of them if that alone is too long

behind the example's own cut, or behind the cut of an example of another document. What follows a cut to the end of its document may be less than
the room takes. So an example whose document ends soon is given one whose document ends about as soon, and any other one whose document goes on.

Departures: in the paper a stretch of one sentence always gets a foreign part, a foreign part fills the room where a true one may not, and what is
too much is cut off both ends; the last punctuation mark alone then says for two pairs of three which kind they are. Here a stretch of one
sentence goes on with what follows in its document, or follows what stands before it; the only sentence of a document is cut inside, and paired
with others of that kind.
"""

from typing import Any

import numpy as np

NEXT, OTHER = 0, 1  # labels: the second part follows the first, or it does not
TRIES = 10  # to find a cut in another document
NEIGHBOURS = 8  # cuts on either side, sorted by what follows, among which a document that ends about as soon is drawn
SECOND_SHARE = 4  # a fourth of the wanted tokens, at least, is room for the second part
LAYOUT = 0  # the seed of the cuts that others use


class NextSentence:
    """Where the parts of each example of a split are. Places count tokens from the begin of the split. Sentences have `sizes` tokens and end a
    document where `closing`; example n is made of the sentences from first[n] to last[n]."""

    def __init__(self, sizes: np.ndarray, closing: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
        self.before = np.concatenate([[0], np.cumsum(sizes)])  # the place of each sentence, and of the end
        stops = np.union1d(np.flatnonzero(closing) + 1, [len(sizes)])
        self.document = np.searchsorted(stops, first, side="right")
        self.first, self.last = self.before[first], self.before[last]
        self.start, self.stop = self.before[np.concatenate([[0], stops])[self.document]], self.before[stops[self.document]]  # of its document
        self.inner = first + 1, np.maximum(last - first - 1, 0)  # the sentences but the first of an example, and how many
        self.cuts = self.cut(np.arange(len(first)), np.random.default_rng(LAYOUT).random(len(first)))  # one of each example, as others use it
        follows, within = self.stop - self.cuts, self.is_within_a_sentence(self.cuts, self.stop)
        self.alike = []  # examples cut between sentences, and examples cut inside one, by how much follows
        for group in (np.flatnonzero(~within), np.flatnonzero(within)):
            ordered = group[np.argsort(follows[group], kind="stable")]
            self.alike.append((ordered, follows[ordered]))

    def cut(self, n: Any, share: Any) -> Any:
        """A place for the cut of example n: at the begin of one of its sentences but the first; if it has one sentence, behind that, else before it;
        if its document has no other sentence, inside."""
        second, count = self.inner[0][n], self.inner[1][n]
        found = self.before[second + (share * count).astype(np.int64)]
        found = np.where(found < self.stop[n], found, self.first[n])
        size = self.stop[n] - self.start[n]
        inside = self.start[n] + np.minimum(1 + (share * (size - 1)).astype(np.int64), size)
        return np.where(found > self.start[n], found, inside)

    def is_within_a_sentence(self, place: Any, stop: Any) -> Any:
        return (self.before[np.searchsorted(self.before, place)] != place) | (place == stop)

    def parts(self, n: int, wanted: int, random: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int], int]:
        """Of at most `wanted` tokens: where the first and the second part begin and end, and the label."""
        cut, stop = int(self.cut(n, np.float64(random.random()))), int(self.stop[n])
        least = max(wanted // SECOND_SHARE, 1)
        previous = int(self.before[int(np.searchsorted(self.before, cut)) - 1])  # begin of the sentence before the cut
        begin = max(min(int(self.first[n]), previous), cut - max(wanted - least, 1))
        room = max(wanted - (cut - begin), least)
        if random.random() < 0.5:
            found = self.another(n, cut, room, random)
            if found is not None:
                place = int(self.cuts[found])
                return (begin, cut), (place, self.end(place, int(self.stop[found]), room)), OTHER
        return (begin, cut), (cut, self.end(cut, stop, room)), NEXT

    def end(self, place: int, stop: int, room: int) -> int:
        """Where a second part ends that begins at `place`: with the last sentence that fits, or within the first one."""
        if stop - place <= room:
            return stop
        fits = int(self.before[int(np.searchsorted(self.before, place + room, side="right")) - 1])
        return fits if fits > place else place + room

    def another(self, n: int, cut: int, room: int, random: np.random.Generator) -> int | None:
        """An example of another document, or else of elsewhere in this one, which goes on behind its cut for as long, as far as there is room."""
        stop = int(self.stop[n])
        ordered, follows = self.alike[int(self.is_within_a_sentence(cut, stop))]
        full = int(np.searchsorted(follows, room))
        low, high = full, len(ordered)
        if stop - cut < room:
            low = max(int(np.searchsorted(follows, stop - cut, side="left")) - NEIGHBOURS, 0)
            high = min(int(np.searchsorted(follows, stop - cut, side="right")) + NEIGHBOURS, full)
        for anywhere in (False, True):
            for _ in range(TRIES if high > low else 0):
                found = int(ordered[low + int(random.integers(high - low))])
                if self.document[found] != self.document[n] or (anywhere and abs(int(self.cuts[found]) - cut) > room):
                    return found
        return None
