"""TF-IDF without scikit-learn gives scikit-learn's numbers."""

import itertools

import numpy as np
import pytest

from stairs.tasks.parts.tfidf import TermKinds, Tfidf, character_terms, joint_terms, word_terms
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

TEXTS = [
    "the cat sat on the mat .", "the dog , the dog , the dog !", "", "狗 在 山 上 , the cat", "大学生不喜欢大学", "x",
    "a cat and a dog and a mat and a cat",
]  # fmt: skip
NEW = ["the mat and the cat , the cat", "", "nothing known here", "狗 cat 狗 cat", "生不 , 在山 上", "😀 dog !"]


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


@pytest.mark.parametrize("repeat", [1, 4])  # few texts are counted one by one, many by numbers
def test_words_in_a_row_and_characters_are_a_union_of_two_of_scikit_learns(repeat):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    from sklearn.pipeline import FeatureUnion

    tokenizer, texts, new = words_of(TEXTS), TEXTS * repeat, NEW * repeat

    def characters(given):
        words = tokenizer.words(given)
        return [*itertools.chain.from_iterable(map(character_terms, words)), *joint_terms(words)]

    union = FeatureUnion([
        ("characters", text.TfidfVectorizer(analyzer=characters, sublinear_tf=True)),
        ("words", text.TfidfVectorizer(analyzer=lambda given: word_terms(tokenizer.words(given), 3), sublinear_tf=True)),
    ])  # fmt: skip
    fitted = union.fit_transform(texts)
    tfidf, features = Tfidf.fit(tokenizer, texts, TermKinds(words=3, characters=True))
    assert tfidf.terms == [name.partition("__")[2] for name in union.get_feature_names_out()]
    np.testing.assert_allclose(features.matrix().toarray(), fitted.toarray(), rtol=1e-14)
    np.testing.assert_allclose(tfidf.features(new).matrix().toarray(), union.transform(new).toarray(), rtol=1e-14)


def test_terms_that_too_few_texts_have_are_dropped_but_for_single_words():
    texts = ["the cat sat", "the cat ran", "the cat ran", "a 狗"]
    tfidf, features = Tfidf.fit(words_of(texts), texts, TermKinds(words=3, characters=True, min_texts=2))
    words = {term for term in tfidf.terms if not term.startswith("\t")}
    assert words == {"the", "cat", "sat", "ran", "a", "狗", "the cat", "cat ran", "the cat ran"}
    assert {"\t cat ", "\t ran "} < set(tfidf.terms) and "\t狗" not in tfidf.terms and "\t sat" not in tfidf.terms
    assert features.shape == (4, len(tfidf.terms)) and (features.matrix()[1] != features.matrix()[2]).nnz == 0


def test_characters_tell_where_a_word_begins_and_ends_and_chinese_words_have_single_ones():
    assert character_terms("cat") == ["\t ca", "\tcat", "\tat ", "\t cat", "\tcat ", "\t cat "]
    assert character_terms("大学生") == ["\t大", "\t学", "\t生", "\t大学", "\t学生"]


def test_a_pair_of_characters_may_stand_across_two_chinese_words():
    assert joint_terms(["大学生", "不", "喜欢", "dog", "山", "!"]) == ["\t生不", "\t不喜"]
    assert joint_terms(["山"]) == joint_terms([]) == []
