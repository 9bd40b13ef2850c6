"""Character n-grams: those of the paper, in fastText's buckets."""

import numpy as np
import pytest

from stairs.text.subwords import subword_buckets

BUCKETS = 2_000_000


def hashed(gram):
    """FNV-1a with bytes that have a sign, as fastText has it."""
    value = 2166136261
    for byte in gram.encode():
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value % BUCKETS


def bucket_ids(word, *lengths):
    first, grams = subword_buckets([word], lengths, BUCKETS)
    assert first.tolist() == [0, len(grams)]
    return sorted(grams.tolist())


@pytest.mark.parametrize(
    "word, lengths, grams",
    [
        ("where", (3, 3), "<wh whe her ere re>"),
        ("where", (3, 4), "<wh whe her ere re> <whe wher here ere>"),
        ("a", (3, 6), "<a>"),
        ("ab", (1, 2), "a b <a ab b>"),
        ("naïve", (5, 6), "<naïv naïve aïve> <naïve naïve>"),
        ("中国", (3, 6), "中 国 中国 <中国 中国> <中国>"),
        ("中a", (3, 6), "中 <中a 中a> <中a>"),
        ("", (3, 6), ""),
    ],
)
def test_the_grams_of_a_word(word, lengths, grams):
    assert bucket_ids(word, *lengths) == sorted(map(hashed, grams.split()))


def test_many_words_at_once_are_those_words_one_by_one():
    words = ["one", "two", "", "三", "four-and-a-half", "emoji😀s"] * 50
    first, grams = subword_buckets(words, (2, 5), 1000)
    assert len(first) == len(words) + 1 and grams.max() < 1000
    for i, word in enumerate(words):
        assert np.array_equal(grams[first[i] : first[i + 1]], subword_buckets([word], (2, 5), 1000)[1])


def test_more_ngrams_than_characters():
    first, grams = subword_buckets(["abcdefgh" * 20], (1, 64), 100)
    assert first[1] == len(grams) > 5000


@pytest.mark.reference
def test_the_buckets_are_fasttexts():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    for word in ("where", "naïve", "Straße", "x", "internationalization", "привет"):
        assert bucket_ids(word, 3, 6) == sorted(fasttext.ft_ngram_hashes(word, 3, 6, BUCKETS))
