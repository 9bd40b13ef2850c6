"""Analogies and similarities, by hand."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from stairs.errors import BadInput
from stairs.formats.word_vectors import WordVectorFile, to_model
from stairs.tasks import WordVectors
from stairs.tasks.metrics import rank_correlation
from stairs.tasks.word_benchmarks import Analogies, Similarities, evaluate_benchmark, read_benchmark


def task(vectors):
    return WordVectors(*to_model(WordVectorFile(list(vectors), np.array(list(vectors.values()), np.float32), "")))


SQUARE = {"man": [1, 0, 0], "king": [1, 1, 0], "woman": [1, 0, 1], "Queen": [1, 1, 1], "KING": [1, 0.9, 1], "queen": [-1, 0, 0], "far": [0, -1, -1]}


def test_an_analogy_is_solved_by_the_nearest_word_that_was_not_given():
    lines = [": royal", "man king woman queen", "Man King Woman Queen", "man king woman far", ": unknown", "man king boy prince"]
    # KING is nearer, but it is the word that was asked with; Queen comes before queen
    result = evaluate_benchmark(task(SQUARE), read_benchmark(lines, "q"))
    assert result["sections"]["royal"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert result["sections"]["royal"] | {"accuracy": None} == {"accuracy": None, "covered": 3, "total": 3}
    assert result["sections"]["unknown"] == {"accuracy": None, "covered": 0, "total": 1}
    assert (result["covered"], result["total"]) == (3, 4) and result["accuracy"]["low"] < 2 / 3 < result["accuracy"]["high"]


def test_similarity_is_spearmans_correlation_with_the_cosines():
    random = np.random.default_rng(0)
    vectors = {f"w{i}": random.normal(size=5) for i in range(40)}
    pairs = [(f"w{i}", f"W{39 - i}", round(float(random.normal()), 1)) for i in range(40)]
    result = evaluate_benchmark(task(vectors), Similarities([*pairs, ("w1", "nothing", 3.0)]))
    rows = np.array(list(vectors.values()), np.float32)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = [(units[i] * units[39 - i]).sum() for i in range(40)]
    assert result["spearman"]["value"] == pytest.approx(spearmanr(cosines, [score for *_, score in pairs])[0], abs=1e-9)
    assert result["spearman"]["low"] < result["spearman"]["value"] < result["spearman"]["high"]
    assert (result["covered"], result["total"]) == (40, 41)


def test_an_interval_holds_what_it_should_and_equals_count_for_nothing():
    random = np.random.default_rng(1)
    first = random.normal(size=200)
    result = rank_correlation(first, first + random.normal(size=200))
    assert result["low"] < 0.69 < result["high"] and result["high"] - result["low"] < 0.25
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
    result = read_benchmark(lines, "f")
    assert isinstance(result, kind) and len(result[0]) == count
    assert all(word == word.strip() for row in result[0] for word in (row[1] if kind is Analogies else row[:2]))


@pytest.mark.parametrize("lines", [[], ["once upon a time"] * 0, ["The cat sat on the mat.", "It was happy."], ["a b 1", "prose of five words here"]])
def test_a_text_is_no_list_of_questions(lines):
    assert read_benchmark(lines, "f") is None


def test_what_does_not_fit_is_named_with_its_line():
    with pytest.raises(BadInput, match=r"f:3: the line has 5 words and not four"):
        read_benchmark([": a", "a b c d", "a b c d e"], "f")
    with pytest.raises(BadInput, match=r"f:2: 'c\\td\\tnan' has no number"):
        read_benchmark(["a\tb\t1", "c\td\tnan"], "f")


PAIRS = [("love", "sex", 6.77), ("tiger", "cat", 7.35), ("book", "paper", 7.46)]


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        ([",word1,word2,score", "0,love,sex,6.77", "1,tiger,cat,7.35", "2,book,paper,7.46"], None),  # the index of a data frame
        (["word1\tword2\tscore", "0\tlove\tsex\t6.77", "1\ttiger\tcat\t7.35", "2\tbook\tpaper\t7.46"], None),  # as R writes it
        (["5,love,sex,6.77", "6,tiger,cat,7.35", "7,book,paper,7.46"], None),  # an index without a header
        (["SimLex999;POS;Word 2;Word 1;SD(SimLex)", "6,77;N;sex;love;1", "7,35;N;cat;tiger;2", "7,46;N;paper;book;1"], None),
        (["词1,词2,次数,评分", "love,sex,12,6.77", "tiger,cat,9,7.35", "book,paper,9,7.46"], None),
        (['"w1","w2","Human (mean)"', '"love","sex","6.77"', '"tiger","cat","7.35"', '"book","paper","7.46"'], None),
        (["9 love sex 6.77 1", "8 tiger cat 7.35 1", "9 book paper 7.46 0"], "first=2,second=3,score=4"),
        (["x,y,n,m", "sex,love,6.77,9", "cat,tiger,7.35,9", "paper,book,7.46,9"], "first=y,second=x,score=n"),
        (["x,y,n,m", "sex,love,6.77,9", "cat,tiger,7.35,9", "paper,book,7.46,9"], "y,x,n"),
        (["x,y,n,m", "love,sex,6.77,9", "tiger,cat,7.35,9", "book,paper,7.46,9"], {"score": "3"}),
    ],
)
def test_the_header_the_flags_and_the_cells_say_which_columns_are_the_words_and_which_the_score(lines, columns):
    assert read_benchmark(lines, "f", columns).pairs == PAIRS


@pytest.mark.parametrize(
    ("lines", "columns", "sentence"),
    [
        (["love,sex,6.77,1", "tiger,cat,7.35,2.5"], None, r"f:1: several columns of numbers can be the score among '1: love',"),
        (["x,y,z,score", "love,sex,N,6.77", "tiger,cat,N,7.35"], None, r"f:2: it is not clear which columns have the two words among 'x'"),
        (["love sex 1", "tiger cat 2", "book paper 3"], None, r"f:1: no column of numbers can be the score"),
        (["first,second,note,score", "1,love,sex,6.77", "2,tiger,cat,7", "3,book,paper,7"], None, r"f:2: 'first' has consecutive numbers, not words"),
        (["love,sex,6.77", "tiger,cat,7.35"], "score=mean", r"f:1: no column 'mean' for the score; it has '1: love', '2: sex', '3: 6.77'"),
        (["love,sex,6.77", "tiger,cat,7.35"], "tag=1", r"columns 'tag=1' do not fit; this task has the columns text, second-column, label"),
        (["word1,word2,score", "love,sex,6.77", "tiger,cat"], None, r"f:3: the line has 2 columns and not 3"),
    ],
)
def test_ambiguous_columns_are_refused_with_their_names(lines, columns, sentence):
    with pytest.raises(BadInput, match=sentence) as caught:
        read_benchmark(lines, "f", columns)
    if columns is None and "and not 3" not in sentence:
        assert "--text=NAME --second-column=NAME --label=NAME" in str(caught.value)


def test_pairs_of_sentences_are_no_pairs_of_words():
    assert read_benchmark(["sentence1\tsentence2\tscore", "a man eats\ta man sleeps\t1.5", "it rains\tit pours\t4"], "f") is None


def test_the_files_people_use_read_as_before(data):
    for name, count, first in [("wordsim353.tsv", 353, ("love", "sex", 6.77)), ("simlex999.txt", 999, ("old", "new", 1.58)),
                               ("wordsim-240.txt", 240, ("李白", "诗", 9.2)), ("wordsim-297.txt", 297, ("足球", "足球", 4.98))]:  # fmt: skip
        pairs = read_benchmark((data / "words" / name).read_text(encoding="utf-8").splitlines(), name).pairs
        assert len(pairs) == count and pairs[0] == first
