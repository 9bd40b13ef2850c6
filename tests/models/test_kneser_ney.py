"""Modified Kneser-Ney against the equations written out with dictionaries, and against what a distribution must satisfy."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.models.kneser_ney import FALLBACK, discounts, estimate
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig

BEGIN, END, UNKNOWN = 2, 3, 1


def random_text(sentences=300, words=12, seed=0):
    """Zipf-like sentences, some of them more than once, so that all count classes occur."""
    random = np.random.default_rng(seed)
    made = [[int(w) for w in 5 + np.minimum(random.zipf(1.5, random.integers(1, 9)) - 1, words - 1)] for _ in range(sentences)]
    return made + made[: sentences // 3]


def stream(sentences):
    """As the shards have it: `end` after each sentence, one more after each document of ten sentences."""
    ids = []
    for i, sentence in enumerate(sentences, 1):
        ids += [*sentence, END]
        if i % 10 == 0:
            ids.append(END)
    return np.array(ids, np.uint16)


class ByHand:
    """The equations of Chen & Goodman, an n-gram at a time."""

    def __init__(self, sentences, order, prune=(0,)):
        self.order = order
        self.counts = [Counter() for _ in range(order + 1)]
        for sentence in sentences:
            padded = (BEGIN, *sentence, END)
            for n in range(1, order + 1):
                self.counts[n].update(padded[i : i + n] for i in range(len(padded) - n + 1))
        del self.counts[1][(BEGIN,)]
        self.adjusted = [None, *(self.adjust(n) for n in range(1, order + 1))]
        self.discounts = [None, *(self.discount(n) for n in range(1, order + 1))]
        self.continuations = [None, *(defaultdict(list) for _ in range(order))]
        for n in range(1, order + 1):
            for gram in self.adjusted[n]:
                self.continuations[n][gram[:-1]].append(gram)
        limit = [prune[min(n, len(prune)) - 1] for n in range(1, order + 1)]
        self.kept = [None] + [{g for g in self.counts[n] if n == 1 or self.counts[n][g] > limit[n - 1]} for n in range(1, order + 1)]
        self.possible = len(self.counts[1]) + 1

    def adjust(self, n):
        if n == self.order:
            return dict(self.counts[n])
        before = Counter(gram[1:] for gram in self.counts[n + 1])
        return {g: c if g[0] == BEGIN else before[g] for g, c in self.counts[n].items()}

    def discount(self, n):
        t = Counter(self.adjusted[n].values())
        if all(t[c] for c in (1, 2, 3)):
            y = t[1] / (t[1] + 2 * t[2])
            found = [c - (c + 1) * y * t[c + 1] / t[c] for c in (1, 2, 3)]
            if all(0 <= d <= c for c, d in enumerate(found, 1)):
                return lambda c: found[min(c, 3) - 1]
        return lambda c: FALLBACK[min(c, 3)]

    def probability(self, context, word):
        context = context[-(self.order - 1) :] if self.order > 1 else ()
        n = len(context) + 1
        shorter = 1 / self.possible if n == 1 else None
        grams = self.continuations[n][context]
        if shorter is None:
            shorter = self.probability(context[1:], word)
        if not grams or (n > 1 and context not in self.kept[n - 1] and context != (BEGIN,)):
            return shorter
        total = sum(self.adjusted[n][g] for g in grams)
        left = sum(self.discounts[n](self.adjusted[n][g]) if g in self.kept[n] else self.adjusted[n][g] for g in grams)
        gram = (*context, word)
        own = (
            (self.adjusted[n][gram] - self.discounts[n](self.adjusted[n][gram])) / total
            if gram in self.kept[n] and gram in self.adjusted[n]
            else 0
        )
        return own + left / total * shorter


def model_of(sentences, order, prune=(0,), vocab_size=17):
    model = NGram(NGramConfig(vocab_size, BEGIN, END, UNKNOWN, order, prune))
    model.count(stream(sentences))
    return model


@pytest.mark.parametrize(("order", "prune"), [(1, (0,)), (2, (0,)), (3, (0,)), (5, (0,)), (3, (0, 0, 1)), (4, (0, 1, 1, 2))])
def test_equals_the_equations_done_by_hand(order, prune):
    sentences = random_text()
    by_hand, model = ByHand(sentences, order, prune), model_of(sentences, order, prune)
    for sentence in [*sentences[:40], *random_text(40, seed=9)]:
        context = model.next_context(-1, BEGIN)
        said = (BEGIN,)
        for word in [*sentence, END]:
            probabilities, _ = model.continuations(context)
            expected = by_hand.probability(said, word)
            if (word,) in by_hand.counts[1]:
                assert np.exp(float(probabilities[word])) == pytest.approx(expected, rel=2e-6)
            context, said = model.next_context(context, word), (*said, word)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_chances_sum_to_one_after_any_context(order):
    sentences = random_text()
    model = model_of(sentences, order, vocab_size=40)  # ids 17 to 39 are never seen
    for said in ([], [5], [5, 6], [16, 16, 16, 16], [UNKNOWN, 5]):
        context = model.next_context(-1, BEGIN)
        for word in said:
            context = model.next_context(context, word)
        probabilities = np.exp(model.continuations(context)[0].numpy())
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert probabilities[30] == pytest.approx(probabilities[UNKNOWN])  # what was never seen shares the unknown word's chance


def test_a_word_bound_to_one_other_is_not_thought_likely_elsewhere():
    san, francisco, glasses, the, my, his, new = range(5, 12)
    sentences = [[san, francisco]] * 9 + [[the, glasses], [my, glasses], [his, glasses], [new, glasses]]
    model = model_of(sentences, 2)
    after_unseen, _ = model.continuations(model.next_context(-1, UNKNOWN))
    assert after_unseen[glasses] > after_unseen[francisco]


def test_where_each_chance_comes_from():
    model = model_of([[5, 6, 7], [5, 6, 8], [9, 6, 7]], 3)
    context = model.next_context(model.next_context(model.next_context(-1, BEGIN), 5), 6)
    _, orders = model.continuations(context)
    assert (orders[7], orders[8], orders[9]) == (3, 3, 1)


def test_memory_bounded_blocks_count_the_same(monkeypatch):
    from stairs.kernels import ngram_counts

    ids = stream(random_text())
    whole = estimate(ids, order=4, vocab_size=17, begin=BEGIN, end=END, unknown=UNKNOWN)
    original = ngram_counts.count.__kwdefaults__
    monkeypatch.setattr(ngram_counts.count, "__kwdefaults__", {**original, "block": 97})
    parts = estimate(ids, order=4, vocab_size=17, begin=BEGIN, end=END, unknown=UNKNOWN)
    for name in ("words", "log10s", "suffixes", "backoffs", "first", "sizes"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_discounts_of_the_textbook():
    counts = np.repeat([1, 2, 3, 4], [100, 40, 20, 10])
    y = 100 / 180
    assert discounts(counts) == pytest.approx([0, 1 - 2 * y * 40 / 100, 2 - 3 * y * 20 / 40, 3 - 4 * y * 10 / 20])
    assert discounts(np.array([1, 1, 1])) is None


def test_pruning_leaves_out_what_is_rare_and_only_that():
    sentences = random_text()
    full, pruned = model_of(sentences, 3), model_of(sentences, 3, (0, 0, 1))
    by_hand = ByHand(sentences, 3, (0, 0, 1))
    assert pruned.sizes.tolist()[:2] == full.sizes.tolist()[:2]
    assert pruned.sizes.tolist()[2] == len(by_hand.kept[3]) < full.sizes.tolist()[2]


@pytest.mark.parametrize(("order", "prune"), [(0, (0,)), (33, (0,)), (3, (1, 1)), (3, (0, 2, 1)), (3, (0, -1))])
def test_settings_that_do_not_fit(order, prune):
    with pytest.raises(BadInput):
        NGram(NGramConfig(17, BEGIN, END, UNKNOWN, order, prune))
