"""Kneser-Ney: the trie of the compiled loops against the readable recursion, and both against what a distribution must satisfy."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.fast import kneser_ney_trie
from stairs.fast.kneser_ney_trie import FALLBACK, estimate
from stairs.models.kneser_ney import KneserNey, discounts
from stairs.models.ngram import NGram
from stairs.models.settings import NGramConfig

BEGIN, END, UNKNOWN = 2, 3, 1


def random_text(sentences=300, words=12, seed=0):
    """Zipf-like sentences, some of them more than once, so that all count classes occur."""
    random = np.random.default_rng(seed)
    drawn_sentences = [[int(w) for w in 5 + np.minimum(random.zipf(1.5, random.integers(1, 9)) - 1, words - 1)] for _ in range(sentences)]
    return drawn_sentences + drawn_sentences[: sentences // 3]


def stream(sentences):
    """As the shards have it: `end` after each sentence, one more after each document of ten sentences."""
    ids = []
    for i, sentence in enumerate(sentences, 1):
        ids += [*sentence, END]
        if i % 10 == 0:
            ids.append(END)
    return np.array(ids, np.uint16)


def model_of(sentences, order, prune=(0,), vocab_size=17):
    model = NGram(NGramConfig(vocab_size, BEGIN, END, UNKNOWN, order, prune))
    model.count(stream(sentences))
    return model


@pytest.mark.parametrize(("order", "prune"), [(1, (0,)), (2, (0,)), (3, (0,)), (5, (0,)), (3, (0, 0, 1)), (4, (0, 1, 1, 2))])
def test_the_trie_gives_the_probabilities_of_the_recursion(order, prune):
    sentences = random_text()
    recursion, model = KneserNey(sentences, order, begin=BEGIN, end=END, prune=prune), model_of(sentences, order, prune)
    for sentence in [*sentences[:40], *random_text(40, seed=9)]:
        context = model.next_context(-1, BEGIN)
        before = (BEGIN,)
        for word in [*sentence, END]:
            probabilities, _ = model.continuations(context)
            expected = recursion.probability(before, word)
            if (word,) in recursion.counts[1]:
                assert np.exp(float(probabilities[word])) == pytest.approx(expected, rel=2e-6)
            context, before = model.next_context(context, word), (*before, word)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_sum_to_one_after_any_context(order):
    sentences = random_text()
    model = model_of(sentences, order, vocab_size=40)  # ids 17 to 39 are never seen
    for words in ([], [5], [5, 6], [16, 16, 16, 16], [UNKNOWN, 5]):
        context = model.next_context(-1, BEGIN)
        for word in words:
            context = model.next_context(context, word)
        probabilities = np.exp(model.continuations(context)[0].numpy())
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert probabilities[30] == pytest.approx(probabilities[UNKNOWN])  # what was never seen shares the unknown word's probability


def test_a_word_bound_to_one_other_is_not_likely_elsewhere():
    san, francisco, glasses, the, my, his, new = range(5, 12)
    sentences = [[san, francisco]] * 9 + [[the, glasses], [my, glasses], [his, glasses], [new, glasses]]
    model = model_of(sentences, 2)
    after_unseen, _ = model.continuations(model.next_context(-1, UNKNOWN))
    assert after_unseen[glasses] > after_unseen[francisco]


def test_which_order_each_probability_comes_from():
    model = model_of([[5, 6, 7], [5, 6, 8], [9, 6, 7]], 3)
    context = model.next_context(model.next_context(model.next_context(-1, BEGIN), 5), 6)
    _, orders = model.continuations(context)
    assert (orders[7], orders[8], orders[9]) == (3, 3, 1)


def test_memory_bounded_blocks_count_the_same(monkeypatch):
    from stairs.kernels import ngram_counts

    ids = stream(random_text())
    at_once = estimate(ids, order=4, vocab_size=17, begin=BEGIN, end=END, unknown=UNKNOWN)
    original = ngram_counts.count.__kwdefaults__
    monkeypatch.setattr(ngram_counts.count, "__kwdefaults__", {**original, "block": 97})
    parts = estimate(ids, order=4, vocab_size=17, begin=BEGIN, end=END, unknown=UNKNOWN)
    for name in ("words", "log10s", "suffixes", "backoffs", "first", "sizes"):
        assert np.array_equal(getattr(at_once, name), getattr(parts, name))


def test_discounts_of_the_textbook():
    counts = np.repeat([1, 2, 3, 4], [100, 40, 20, 10])
    y = 100 / 180
    expected = pytest.approx([0, 1 - 2 * y * 40 / 100, 2 - 3 * y * 20 / 40, 3 - 4 * y * 10 / 20])
    assert discounts(counts.tolist()) == expected and kneser_ney_trie.discounts(counts) == expected
    assert discounts([1, 1, 1]) == FALLBACK and kneser_ney_trie.discounts(np.array([1, 1, 1])) is None


def test_pruning_leaves_out_what_is_rare_and_only_that():
    sentences = random_text()
    full, pruned = model_of(sentences, 3), model_of(sentences, 3, (0, 0, 1))
    recursion = KneserNey(sentences, 3, begin=BEGIN, end=END, prune=(0, 0, 1))
    assert pruned.sizes.tolist()[:2] == full.sizes.tolist()[:2]
    assert pruned.sizes.tolist()[2] == len(recursion.kept[3]) < full.sizes.tolist()[2]


@pytest.mark.parametrize(("order", "prune"), [(0, (0,)), (33, (0,)), (3, (1, 1)), (3, (0, 2, 1)), (3, (0, -1))])
def test_settings_that_do_not_fit(order, prune):
    with pytest.raises(BadInput):
        NGram(NGramConfig(17, BEGIN, END, UNKNOWN, order, prune))
