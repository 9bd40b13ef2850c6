"""Interpolated modified Kneser-Ney estimation of n-gram probabilities.

Chen & Goodman 1998, "An Empirical Study of Smoothing Techniques for Language Modeling", section 4.1.6:

    P(w | h) = (c(hw) - D(c(hw))) / c(h·)  +  gamma(h) P(w | h')          h' is h without its first word
    gamma(h) = sum over the words w seen after h of D(c(hw)) / c(h·)
    D(c)     = c - (c + 1) Y t(c+1) / t(c),   Y = t(1) / (t(1) + 2 t(2)),   D(c) = D(3) from c = 3 on

where t(c) is the number of n-grams with count c. The longest n-grams are counted as they occur; a shorter one counts the distinct words that precede
it, so that "Francisco", seen after little but "San", is not likely elsewhere. The empty context falls back on all words alike.

Departures: an n-gram that begins a sentence has nothing before it and keeps its plain count; where t(1) to t(3) do not allow discounts between
0 and c, they are 0.5, 1 and 1.5; a pruned n-gram leaves its whole count to gamma. All as the lmplz program of KenLM does (Heafield et al. 2013).

This is the recursion to read, for texts of some thousand words. `fast/kneser_ney_trie.py` estimates the same for large ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from stairs.fast.kneser_ney_trie import FALLBACK, threshold

Gram = tuple[int, ...]


class KneserNey:
    """The probabilities of a text's n-grams, from dictionaries of counts."""

    def __init__(self, sentences: Iterable[Sequence[int]], order: int, *, begin: int, end: int, prune: Sequence[int] = (0,)) -> None:
        padded = [(begin, *sentence, end) for sentence in sentences]
        orders = range(1, order + 1)
        self.order, self.begin = order, begin
        self.occurrences = {n: Counter(row[i : i + n] for row in padded for i in range(len(row) - n + 1)) for n in orders}
        del self.occurrences[1][(begin,)]  # it is never predicted
        self.counts = {n: self.adjusted_counts(n) for n in orders}
        self.discounts = {n: discounts(self.counts[n].values()) for n in orders}
        self.kept = {n: {gram for gram, c in self.occurrences[n].items() if n == 1 or c > threshold(prune, n)} for n in orders}
        self.followers: dict[Gram, list[Gram]] = defaultdict(list)  # the n-grams that extend a context by one word
        for n in orders:
            for gram in self.counts[n]:
                self.followers[gram[:-1]].append(gram)

    def adjusted_counts(self, n: int) -> dict[Gram, int]:
        """c: how often the longest n-grams occur; for the others how many different words precede them."""
        if n == self.order:
            return dict(self.occurrences[n])
        predecessors = Counter(gram[1:] for gram in self.occurrences[n + 1])
        return {gram: count if gram[0] == self.begin else predecessors[gram] for gram, count in self.occurrences[n].items()}

    def probability(self, context: Gram, word: int) -> float:
        """P(w | h)."""
        context = context[-(self.order - 1) :] if self.order > 1 else ()
        shorter = self.probability(context[1:], word) if context else 1 / (len(self.occurrences[1]) + 1)  # and the unknown word
        n, is_pruned = len(context) + 1, len(context) > 0 and context not in self.kept[len(context)] and context != (self.begin,)
        grams = self.followers[context]
        if not grams or is_pruned:
            return shorter
        counts, kept = self.counts[n], self.kept[n]
        total = sum(counts[gram] for gram in grams)
        gamma = sum(self.discount(n, counts[gram]) if gram in kept else counts[gram] for gram in grams) / total
        gram = (*context, word)
        own = (counts[gram] - self.discount(n, counts[gram])) / total if gram in kept else 0
        return own + gamma * shorter

    def discount(self, n: int, count: int) -> float:
        """D(c) of the n-grams of order n."""
        return self.discounts[n][min(count, 3)]


def discounts(counts: Iterable[int]) -> Sequence[float]:
    """D(0) to D(3)."""
    t = Counter(counts)
    if all(t[c] for c in (1, 2, 3)):
        y = t[1] / (t[1] + 2 * t[2])
        estimated = [0.0] + [c - (c + 1) * y * t[c + 1] / t[c] for c in (1, 2, 3)]
        if all(0 <= discount <= c for c, discount in enumerate(estimated)):
            return estimated
    return FALLBACK
