"""Words that are looked up chunk by chunk are those of the whole text, whatever is written between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stairs.tasks.ngram_classifier import NGramClassifier
from stairs.tasks.parts import tfidf
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import LabelledText
from stairs.text.tokenizers import spaced_chunks
from stairs.text.tokenizers.spaced_chunks import SpacedChunks
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXTS = ["a good film , really", "a  bad film.", "", "一部好电影，很好", "It's fine\tand good\nfilm", "bad bad bad film", "película"]
EXAMPLES = [LabelledText(text, "pos" if "good" in text or "好" in text else "neg", "") for text in TEXTS if text]


@pytest.fixture(scope="module", params=[{}, {"lowercase": True}, {"chinese": "words"}], ids=["plain", "lowercase", "chinese"])
def tokenizer(request):
    return Tokenizer.train(TokenizerSpec("words", **request.param), lambda: ([text] for text in TEXTS))


@given(st.lists(st.text(alphabet="ab好电 .,'\t\n\u3000\x1c\u00a0\u0301ΣÉ", max_size=30), max_size=5))
def test_chunks_give_the_ids_of_each_text(tokenizer, texts):
    numbers, lengths = SpacedChunks(tokenizer.encode).number_texts(texts)
    assert numbers.tolist() == [i for text in texts for i in tokenizer.encode(text)]
    assert lengths.tolist() == [len(tokenizer.encode(text)) for text in texts]
    assert [word for text in texts for chunk in text.split(" ") for word in tokenizer.words(chunk)] == [w for t in texts for w in tokenizer.words(t)]


def test_many_texts_have_the_probabilities_of_each(tokenizer, monkeypatch):
    many = TEXTS * 5
    for kind in (TfidfClassifier, NGramClassifier):
        classifier = kind.train(EXAMPLES, tokenizer)
        together = classifier.probabilities(many)
        apart = np.concatenate([classifier.probabilities([text]) for text in many])
        assert np.array_equal(together, apart)
    features = tfidf.Tfidf.fit(tokenizer, TEXTS)[0]
    fast = features.features(many)
    monkeypatch.setattr(spaced_chunks, "FEW_TEXTS", 10_000)
    slow = features.features(many)
    assert all(np.array_equal(one, other) for one, other in zip(fast[:3], slow[:3], strict=True))


def test_no_more_chunks_are_remembered_than_allowed(monkeypatch):
    monkeypatch.setattr(spaced_chunks, "MAX_CHUNKS", 3)
    chunks = SpacedChunks(lambda chunk: [len(chunk)])
    numbers, _ = chunks.number_texts(["a bb ccc dddd eeeee", "x" * 100])
    assert numbers.tolist() == [1, 2, 3, 4, 5, 100] and len(chunks) <= 3
