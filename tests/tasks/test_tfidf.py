"""TF-IDF without scikit-learn gives scikit-learn's numbers."""

import itertools

import numpy as np
import pytest

from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXTS = ["the cat sat on the mat .", "the dog , the dog , the dog !", "", "狗 在 山 上 , the cat", "x", "a cat and a dog and a mat and a cat"]
NEW = ["the mat and the cat , the cat", "", "nothing known here", "狗 cat 狗 cat", "😀 dog !"]


def words_of(texts):
    return Tokenizer.train(TokenizerSpec("words"), lambda: [texts])


def test_fitted_and_applied_it_equals_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    tokenizer = words_of(TEXTS)

    def analyze(given):
        words = tokenizer.words(given)
        return words + [f"{a} {b}" for a, b in itertools.pairwise(words)]

    theirs = text.TfidfVectorizer(analyzer=analyze, sublinear_tf=True)
    fitted = theirs.fit_transform(TEXTS)
    tfidf, features = Tfidf.fit(tokenizer, TEXTS)
    assert tfidf.terms == theirs.get_feature_names_out().tolist()
    assert (tfidf.idf == theirs.idf_).all()
    np.testing.assert_allclose(features.matrix().toarray(), fitted.toarray(), rtol=1e-15)
    applied = theirs.transform(NEW)
    np.testing.assert_allclose(tfidf.features(NEW).matrix().toarray(), applied.toarray(), rtol=1e-15)
    weight = np.random.default_rng(0).normal(size=(3, len(tfidf.terms))).astype(np.float32)
    np.testing.assert_allclose(tfidf.features(NEW).times(weight), applied @ weight.T, rtol=1e-14)


def test_terms_that_occur_twice_or_lack_a_weight_are_refused():
    tokenizer = words_of(TEXTS)
    for terms, idf in ((["cat", "cat"], np.ones(2)), (["cat", "dog"], np.ones(3))):
        with pytest.raises(ValueError, match="different terms"):
            Tfidf(tokenizer, terms, idf)
