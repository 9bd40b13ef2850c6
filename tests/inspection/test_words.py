"""Questions about words: sums, spellings, texts, and what a picture of an answer shows."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.formats.word_vectors import WordVectorFile, to_model
from stairs.inspection.words import neighbours, parse_query, signed_terms, similar_spellings, words_to_draw
from stairs.tasks import WordVectors

WORDS = ["king", "queen", "man", "woman", "well-known", "c++", "国王", "knig", "wing"]


@pytest.fixture(scope="module")
def task():
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    return WordVectors(*to_model(WordVectorFile(WORDS, vectors, "")))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("king", [(1, "king")]),
        ("king - man + woman", [(1, "king"), (-1, "man"), (1, "woman")]),
        ("- man + king", [(-1, "man"), (1, "king")]),
        ("king-man+woman", [(1, "king"), (-1, "man"), (1, "woman")]),
        ("well-known", [(1, "well-known")]),
        ("well-known - king", [(1, "well-known"), (-1, "king")]),
        ("c++", [(1, "c++")]),
        ("ill-known", [(1, "ill-known")]),
        ("old king", [(1, "old king")]),
    ],
)
def test_a_sum_is_told_from_a_word_with_signs(task, text, terms):
    assert signed_terms(task.tokenizer, text) == terms


def test_a_sum_is_of_vectors_of_length_one(task):
    rows = task.model.all_vectors()[5:].astype(np.float64)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(parse_query(task, "king - man + woman").vector, units[0] - units[2] + units[3])
    assert np.allclose(parse_query(task, "KING").vector, rows[0])  # the vocabulary has small letters only
    assert parse_query(task, "king  －  man").text == "king - man"


def test_nearest_spellings_come_first_and_of_equals_the_more_frequent(task):
    assert similar_spellings(task.tokenizer, "kign") == ["king", "knig", "wing"]  # letters exchanged are one mistake
    assert similar_spellings(task.tokenizer, "国主")[0] == "国王"
    assert similar_spellings(task.tokenizer, "x" * 40) == []
    with pytest.raises(BadInput, match=r"'queem' is not in the vocabulary of this run; did you mean queen"):
        neighbours(task, "queem - man")


def test_a_text_of_known_and_unknown_words(task):
    result = neighbours(task, "king zebra woman", top=len(WORDS))
    assert result["words"] == ["king", "woman"]
    assert {entry["word"] for entry in result["near"]} == set(WORDS) - {"king", "woman"}
    cosines = [entry["cosine"] for entry in result["near"]]
    assert cosines == sorted(cosines, reverse=True)
    with pytest.raises(BadInput, match="no word of"):
        neighbours(task, "zebra giraffe")


def test_what_is_drawn(task):
    shown = words_to_draw(task, [neighbours(task, "king - man + woman", top=2)])
    assert list(shown)[:4] == ["king", "man", "woman", "king - man + woman"] and len(shown) == 6
    assert [word.group for word in shown.values()] == ["query"] * 3 + ["sum"] + ["nearest"] * 2
    both = words_to_draw(task, [neighbours(task, "king", top=3), neighbours(task, "queen", top=3)])
    assert both["king"].group == "king" and {word.group for word in both.values()} <= {"king", "queen"}
