"""Tasks that keep vectors and look among them: the nearest texts, and the senses of words."""

import numpy as np
import pytest

from stairs.errors import BadInput, Unsupported
from stairs.tasks import Encode, NextToken, Sense, Similar, WordVectors
from stairs.text.examples import SenseSentence, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import fit_once, load
from tests.support.small_world import SENTENCES, encoder

BANKS = [("money in the bank today", "bank%1"), ("the bank of the river", "bank%2")]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=250), lambda: [[*SENTENCES, *(text for text, _ in BANKS)]])


@pytest.fixture(scope="module")
def bert(tokenizer):
    return Encode(encoder("bert", tokenizer), tokenizer)


def sensed(text, sense):
    words = tuple(text.split())
    return SenseSentence(words, tuple(f"{word}.n" for word in words), ((words.index("bank"), sense),), "file:1")


def test_the_nearest_text_is_the_text_itself(bert, tmp_path):
    fit_once(tmp_path / "run", {"seed": 0}, lambda: Similar(bert, SENTENCES[:40]), lambda task: {"texts": 40})
    task = load(tmp_path / "run")
    result = task.answer(SENTENCES[7], top=3)["near"]
    assert len(result) == 3 and result[0]["text"] == SENTENCES[7] and result[0]["cosine"] == pytest.approx(1, abs=1e-5)
    assert task.answer("soup", second="soup")["cosine"] == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(task.vectors(SENTENCES[:3]), bert.vectors(SENTENCES[:3]))


def test_cosines_are_evaluated_by_scores(bert):
    pairs = [TextPair(SENTENCES[0], SENTENCES[0], None, 5.0), TextPair(SENTENCES[0], SENTENCES[200], None, 1.0), TextPair(SENTENCES[0], SENTENCES[1],
        None, 3.0)]
    assert Similar(bert).evaluate_examples(pairs)["spearman"]["value"] > 0.4
    with pytest.raises(BadInput, match="file:9: this pair has a label and no score"):
        Similar(bert).evaluate_examples([TextPair("soup", "rain", "same", None, "file:9")])
    with pytest.raises(BadInput, match="has no texts to search"):
        Similar(bert).answer("soup")


@pytest.mark.parametrize("step", ["bert", "gpt", "skipgram"])
def test_senses_are_told_apart_by_their_neighbours(step, tokenizer, tmp_path):
    cutter = tokenizer if step != "skipgram" else Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, *(text for text, _ in BANKS)]])
    reloaded = {"bert": Encode, "gpt": NextToken, "skipgram": WordVectors}[step](encoder(step, cutter), cutter)
    train = [sensed(*pair) for pair in BANKS]
    fit_once(tmp_path / "run", {"seed": 0}, lambda: Sense.train(train, reloaded), lambda task: task.evaluate_examples(train))
    task = load(tmp_path / "run")
    measured = task.evaluate_examples(train)
    assert measured["words"] == measured["known_words"] == 2 and measured["most_frequent_f1"]["value"] == 0.5
    if step != "skipgram":  # whose words have one vector each
        assert measured["f1"]["value"] == 1
        assert task.answer("money in the *bank* today")["label"] == "bank%1"
        assert task.answer("the *bank* of the river")["label"] == "bank%2"
    assert [result["sense"] for result in task.answer("two *banks=bank* today")["senses"]].count("bank%1") == 1


def test_a_lemma_that_was_never_seen_has_no_sense(bert):
    task = Sense.train([sensed(*pair) for pair in BANKS], bert)
    unseen = SenseSentence(("soup", "today"), ("soup.n", "today.r"), ((0, "soup%1"),), "file:1")
    assert task.evaluate_examples([unseen])["f1"]["value"] == 0
    with pytest.raises(BadInput, match="no sense of 'soup'"):
        task.answer("the *soup* is hot")
    with pytest.raises(BadInput, match="no word is marked"):
        task.answer("the soup is hot")
    with pytest.raises(BadInput, match="no word of the file has a sense"):
        Sense.train([SenseSentence(("soup",), ("soup.n",), (), "file:1")], bert)


WORDNET = [("a big cat ate", "cat", "cat%1:05:00::"), ("a small dog ate", "dog", "dog%1:05:00::"), ("one red van sank", "van", "van%1:06:00::")]


def test_a_lemma_that_was_never_seen_gets_the_first_sense_of_the_nearest_topic(bert):
    """WordNet's keys tell the topic: 05 is animals, 06 artefacts."""

    def labelled(text, word, sense):
        words = tuple(text.split())
        return SenseSentence(words, tuple(f"{own}.n" for own in words), ((words.index(word), sense),), "file:1")

    task = Sense.train([labelled(*row) for row in WORDNET], bert)
    for text, word, topic in (("a big cat ate", "ate", "05"), ("one red van sank", "sank", "06")):
        unseen = labelled(text, word, f"{word}%1:{topic}:00::")
        vector = next(task.word_vectors([unseen]))[0]
        centre = task.stored_vectors.mean(0)
        votes = {"05": 0.0, "06": 0.0}
        for sense, own in zip(task.senses, task.stored_vectors, strict=True):
            cosine = float((vector / np.linalg.norm(vector) - centre) @ (own - centre) / np.linalg.norm(own - centre))
            votes[sense[6:8]] += max(cosine, 0) ** 2
        expected = max(votes, key=votes.get)
        assert task.predict_examples([unseen]) == [[f"{word}%1:{expected}:00::"]]
        measured = task.evaluate_examples([unseen])
        assert measured["f1"]["value"] == measured["most_frequent_f1"]["value"] == float(expected == topic) and measured["known_words"] == 0
    assert task.first_sense("ate.n", 0 * vector) is None  # the encoder knows nothing of the word
    assert task.first_sense("run.v", vector) is None  # no verb is in the file


def test_a_model_without_vectors_has_no_senses(tokenizer):
    from stairs.models.ngram import NGram
    from stairs.models.settings import NGramConfig

    with pytest.raises(Unsupported, match="ngram has no token vectors to tell senses apart by"):
        Sense.train([sensed(*pair) for pair in BANKS], NextToken(NGram(NGramConfig(**tokenizer.vocabulary_settings)), tokenizer))
