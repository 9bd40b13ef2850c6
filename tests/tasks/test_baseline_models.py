"""The models that learn tags, pairs and spans from labelled examples alone."""

import itertools
from math import log

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.tasks import BASELINE_TASKS, TASKS
from stairs.tasks.crf_tagger import CrfTagger, word_shape
from stairs.tasks.hmm_tagger import HmmTagger, deleted_interpolation, tag_trigrams, trigram_viterbi
from stairs.tasks.overlap_spans import OverlapSpans, clause_runs, find_spans, shared_characters
from stairs.tasks.tfidf_pairs import TfidfPairs, shares
from stairs.text.examples import Question, TaggedSentence, TextPair
from tests.support.small_world import examples

FLOORS = [(kind, task) for kind, models in BASELINE_TASKS.items() if kind != "classify" for task in models.values()]
LEAST = {"compare": 0.55, "multilabel": 0.8, "regress": 0.6}  # other scores are nearly 1
SENTENCES = [
    TaggedSentence(("the", "dog", "barks"), ("D", "N", "V"), "tags.tsv:1"),
    TaggedSentence(("the", "cat"), ("D", "N"), "tags.tsv:5"),
]


@pytest.mark.parametrize(("kind", "task"), FLOORS)
def test_learns_and_answers_the_same_when_opened_again(kind, task, tmp_path):
    train, test = examples(kind, 60)[:40], examples(kind, 60)[40:]
    learned = TASKS[task].train(train)
    metric = {"tag": "f1", "span": "f1", "multilabel": "micro_f1", "regress": "spearman"}.get(kind, "accuracy")
    metrics, predictions = learned.metrics_and_predictions(test)
    assert metrics[metric]["value"] >= LEAST.get(kind, 0.99) and len(predictions) == len(test)
    learned.save(tmp_path)
    again = TASKS[task].open(tmp_path, learned.describe())
    assert again.predict_examples(test) == predictions and again.describe() == learned.describe()
    text = "soup and rain in Rome today ."
    of_kind: dict = {"tag": {}, "multilabel": {}, "regress": {}, "choose": {"choices": ["rain in Rome .", "snow in Kyoto ."]}}
    given = of_kind.get(kind, {"second": "rain and snow in Kyoto today ."})
    assert again.answer(text, **given) == learned.answer(text, **given)
    assert learned.summary(learned.answer(text, **given))


def test_trigrams_of_tags_by_hand():
    """D N V and D N, with E beyond both: seven trigrams, of which E E D and E D N occur twice."""
    labels = 3  # D N V, and E
    found = tag_trigrams([[0, 1, 2], [0, 1]], labels)
    # Votes for the longest order that predicts a trigram best without itself. E E D and E D N: (2 - 1) / (2 - 1) = 1 for trigrams, and the same for
    # bigrams; the others, which occur once, have 0 / 0 or 0 / 1 for trigrams, and N E: (1 - 1) / (2 - 1) = 0; unigrams (n - 1) / 6 win where n = 2.
    # D N V: V occurs once, all are 0, the longest wins. N V E and D N E: E occurs twice, so unigrams have 1 / 6.
    mix = np.array([2, 0, 5]) / 7
    np.testing.assert_allclose(found[3, 3, 0], mix[0] * 2 / 7 + mix[1] * 1 + mix[2] * 1)  # P(D | E E)
    np.testing.assert_allclose(found[0, 1, 2], mix[0] * 1 / 7 + mix[1] * 1 / 2 + mix[2] * 1 / 2)  # P(V | D N)
    np.testing.assert_allclose(found[0, 1].sum(), 1)
    trigrams = np.zeros((4, 4, 4))
    for own in ([3, 3, 0], [3, 0, 1], [0, 1, 2], [1, 2, 3], [3, 3, 0], [3, 0, 1], [0, 1, 3]):
        trigrams[tuple(own)] += 1
    np.testing.assert_allclose(deleted_interpolation(trigrams, trigrams.sum(0), trigrams.sum((0, 1))), mix)


def test_emissions_of_known_and_unknown_words_by_hand():
    task = HmmTagger.train(SENTENCES)
    prior = {"D": 2 / 5, "N": 2 / 5, "V": 1 / 5}
    theta = np.std([2 / 5, 2 / 5, 1 / 5], ddof=1)
    root = np.array([2, 2, 1]) / 5  # of rare words without a capital: all of them
    root = (root + theta * root) / (1 + theta)
    ending = (np.array([0, 0, 1]) + theta * root) / (1 + theta)  # "s" ends barks alone
    expected = np.log(ending / list(prior.values()))
    np.testing.assert_allclose(task.word_emission("runs"), expected, rtol=1e-5)
    own = task.word_emission("the")  # P(D | the) = (2 + P(D | ending the)) / 3, and D is two fifths
    assert own[0] > log(2 / 3 / prior["D"]) and own[0] > own[1]
    assert task.answer("the fish barks")["tags"] == ["D", "N", "V"]


def test_the_best_tags_of_an_hmm_equal_enumeration():
    random = np.random.default_rng(0)
    emissions, transition = random.normal(size=(4, 3)), random.normal(size=(4, 4, 4))

    def score(tags):
        padded = [3, 3, *tags, 3]
        return sum(transition[a, b, c] for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)) + sum(
            emissions[t, tag] for t, tag in enumerate(tags)
        )

    assert tuple(trigram_viterbi(emissions, transition)) == max(itertools.product(range(3), repeat=4), key=score)
    assert trigram_viterbi(emissions[:1], transition) == [max(range(3), key=lambda tag: score([tag]))]


@pytest.mark.parametrize("kind", [HmmTagger, CrfTagger])
def test_no_tagger_continues_what_has_not_begun(kind):
    train = [TaggedSentence(("Ms", "Ada", "Byron", "sat"), ("O", "B-PER", "I-PER", "O")), TaggedSentence(("we", "sat"), ("O", "O"))] * 3
    tags = kind.train(train).predict_examples([TaggedSentence(("Byron", "sat", "Byron", "Byron"), ())])[0]
    assert all(tag != "I-PER" or before in ("B-PER", "I-PER") for before, tag in itertools.pairwise(["O", *tags]))


@pytest.mark.parametrize("kind", [HmmTagger, CrfTagger])
def test_one_tag_and_unknown_tags_are_refused_with_their_place(kind):
    with pytest.raises(BadInput, match=r"tags\.tsv:1: every word has the tag 'O'; at least two are needed"):
        kind.train([TaggedSentence(("a", "b"), ("O", "O"), "tags.tsv:1")])
    with pytest.raises(BadInput, match=r"test\.tsv:3: the tag 'X' is not in the training file, which has D, N, V"):
        kind.train(SENTENCES).evaluate_examples([TaggedSentence(("the",), ("X",), "test.tsv:3")])
    with pytest.raises(BadInput, match="no words in the text"):
        kind.train(SENTENCES).answer("  ")


def test_the_same_examples_give_the_same_crf():
    first, second = (CrfTagger.train(examples("tag", 20)) for _ in range(2))
    assert first.features == second.features and np.array_equal(first.weight, second.weight)


@pytest.mark.parametrize(
    ("word", "shape"), [("The", "Xx"), ("EU", "X"), ("1996-08", "9-9"), ("中国", "h"), ("iPhone", "xXx"), ("B2", "X9"), ("Zürich", "Xx")]
)
def test_shapes_of_words(word, shape):
    assert word_shape(word) == shape


def test_pairs_learn_scores_within_their_scale():
    words = ["soup", "rice", "rain", "snow", "hail", "wind"]
    pairs = [
        TextPair(f"{a} {b} {c}", f"{a} {b} {d}", score=float((c == d) * 3 + 2))
        for a, b in (("big", "red"), ("old", "wet"))
        for c in words
        for d in words
    ]
    task = TfidfPairs.train(pairs)
    assert task.evaluate_examples(pairs)["spearman"]["value"] > 0.6
    same, other = (task.answer("big red fog", second=second)["score"] for second in ("big red fog", "big red ice"))
    assert 2 <= other < same <= 5 and task.answer("a\tb")["second"] == "b"
    with pytest.raises(BadInput, match="give the other with --second"):
        task.answer("alone")
    with pytest.raises(BadInput, match=r"all 2 pairs have the score 1"):
        TfidfPairs.train([TextPair("a", "b", score=1.0)] * 2)
    with pytest.raises(BadInput, match=r"all 2 pairs have the label 'x'"):
        TfidfPairs.train([TextPair("a", "b", "x")] * 2)


def test_shares_of_two_sets():
    assert shares({"a", "b", "c"}, {"b", "c", "d", "e"}) == (2 / 5, 2 / 3, 1 / 2)
    assert shares(set(), set()) == (0, 0, 0)


def test_spans_are_words_and_runs_of_clauses_within_sentences():
    passage = "Kyoto, old and calm, was founded in 794. Nobody came."
    texts = [passage[a:b] for a, b in find_spans("When?", passage).offsets]
    assert texts[0] == "" and "794" in texts and "old and calm" in texts and "Kyoto, old and calm, was founded in 794" in texts
    assert not any("794. Nobody" in text for text in texts)
    assert [own.tolist() for own in clause_runs([False, True, False, True], np.zeros(4, int))] == [[0, 0, 2], [0, 2, 2]]
    assert find_spans("why", "").features.shape[0] == find_spans("why", " ").features.shape[0] == 1


def test_the_share_of_an_answer_that_a_span_has():
    example = Question("?", "abcdef", ((1, "bcd"),))
    offsets = np.array([[0, 0], [1, 4], [0, 2], [4, 6]])
    assert shared_characters(offsets, example).tolist() == [0, 1, 2 * 1 / (2 + 3), 0]
    assert shared_characters(offsets, Question("?", "abcdef", ()))[0] == 1


def test_questions_without_answers():
    answered = [Question(f"When was {city} founded ?", f"{city} was founded in {year} .", ((len(city) + 16, str(year)),))
                for city, year in zip(("Rome", "Kyoto", "Paris", "Lima"), (753, 794, 250, 1535), strict=True)]  # fmt: skip
    unanswered = [Question("Who sang ?", example.passage, ()) for example in answered]
    task = OverlapSpans.train([*answered, *unanswered] * 3)
    assert task.predict_examples([answered[1], unanswered[0]]) == ["794", ""]
    assert OverlapSpans.train(answered).predict_examples(unanswered)[0] != ""
    with pytest.raises(BadInput, match="there is nothing to learn"):
        OverlapSpans.train(unanswered)
    with pytest.raises(BadInput, match="give the passage with --second"):
        task.answer("Who?")
