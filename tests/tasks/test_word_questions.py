"""Analogies and similarities, by hand."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from stairs.errors import BadInput
from stairs.formats.vector_reading import Read
from stairs.formats.word2vec import adopted
from stairs.tasks import Window
from stairs.tasks.metrics import rank_correlation
from stairs.tasks.words import Analogies, Similarities, evaluate, questions_in


def task(vectors):
    return Window(*adopted(Read(list(vectors), np.array(list(vectors.values()), np.float32), "")))


SQUARE = {"man": [1, 0, 0], "king": [1, 1, 0], "woman": [1, 0, 1], "Queen": [1, 1, 1], "KING": [1, 0.9, 1], "queen": [-1, 0, 0], "far": [0, -1, -1]}


def test_an_analogy_is_solved_by_the_nearest_word_that_was_not_given():
    lines = [": royal", "man king woman queen", "Man King Woman Queen", "man king woman far", ": unknown", "man king boy prince"]
    found = evaluate(task(SQUARE), questions_in(lines, "q"))  # KING is nearer, but it is the word that was asked with; Queen comes before queen
    assert found["sections"]["royal"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert found["sections"]["royal"] | {"accuracy": None} == {"accuracy": None, "covered": 3, "asked": 3}
    assert found["sections"]["unknown"] == {"accuracy": None, "covered": 0, "asked": 1}
    assert (found["covered"], found["asked"]) == (3, 4) and found["accuracy"]["low"] < 2 / 3 < found["accuracy"]["high"]


def test_similarity_is_spearmans_correlation_with_the_cosines():
    random = np.random.default_rng(0)
    vectors = {f"w{i}": random.normal(size=5) for i in range(40)}
    pairs = [(f"w{i}", f"W{39 - i}", round(float(random.normal()), 1)) for i in range(40)]
    found = evaluate(task(vectors), Similarities([*pairs, ("w1", "nothing", 3.0)]))
    rows = np.array(list(vectors.values()), np.float32)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = [(units[i] * units[39 - i]).sum() for i in range(40)]
    assert found["spearman"]["value"] == pytest.approx(spearmanr(cosines, [score for *_, score in pairs])[0], abs=1e-9)
    assert found["spearman"]["low"] < found["spearman"]["value"] < found["spearman"]["high"]
    assert (found["covered"], found["asked"]) == (40, 41)


def test_an_interval_holds_what_it_should_and_equals_count_for_nothing():
    random = np.random.default_rng(1)
    first = random.normal(size=200)
    found = rank_correlation(first, first + random.normal(size=200))
    assert found["low"] < 0.69 < found["high"] and found["high"] - found["low"] < 0.25
    assert rank_correlation(np.ones(9), np.arange(9.0))["value"] == 0


@pytest.mark.parametrize(
    ("lines", "kind", "count"),
    [
        ([": a", "one two three four"], Analogies, 1),
        (["one two three four", "", "five six seven eight"], Analogies, 2),
        (["# people", "a\tb\t1.5", "c\td\t2"], Similarities, 2),
        (["Word 1,Word 2,Human (mean)", "love,sex,6.77", "tiger,cat,7.35"], Similarities, 2),
        (["word1\tword2\tPOS\tSimLex999", "old\tnew\tA\t1.58", "smart\tbright\tA\t9"], Similarities, 2),
        (["足球 足球 4.98", "钱  现金 4.58"], Similarities, 2),
        (["钱\t 现金\t4.58", "钱\t 现金\t4.58"], Similarities, 2),
    ],
)
def test_a_file_says_itself_what_it_is(lines, kind, count):
    found = questions_in(lines, "f")
    assert isinstance(found, kind) and len(found[0]) == count
    assert all(word == word.strip() for row in found[0] for word in (row[1] if kind is Analogies else row[:2]))


@pytest.mark.parametrize("lines", [[], ["once upon a time"] * 0, ["The cat sat on the mat.", "It was happy."], ["a b 1", "prose of five words here"]])
def test_a_text_is_no_list_of_questions(lines):
    assert questions_in(lines, "f") is None


def test_what_does_not_fit_is_named_with_its_line():
    with pytest.raises(BadInput, match=r"f:3: 5 words came where four"):
        questions_in([": a", "a b c d", "a b c d e"], "f")
    with pytest.raises(BadInput, match=r"f:2: 'c\\td\\tnan' has no number"):
        questions_in(["a\tb\t1", "c\td\tnan"], "f")
