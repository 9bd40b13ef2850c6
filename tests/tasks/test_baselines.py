"""The classifiers every higher step has to beat."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.tasks import TASKS
from stairs.tasks.metrics import label_metrics, ratio
from stairs.tasks.ngram_classifier import NGramClassifier
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

GOOD = ["a lovely film", "what a lovely story", "great and lovely", "a great film", "great story , lovely end", "真 好看"]
BAD = ["a dull film", "what a dull story", "poor and dull", "a poor film", "poor story , dull end", "真 难看"]


def examples():
    return [LabelledText(text, label, f"films.csv:{i}") for i, (text, label) in enumerate([(t, "good") for t in GOOD] + [(t, "bad") for t in BAD], 2)]


def learned(kind):
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text] for example in examples()])
    return kind.train(examples(), tokenizer)


@pytest.mark.parametrize("kind", [NGramClassifier, TfidfClassifier])
def test_learns_what_the_labels_say(kind):
    task = learned(kind)
    answer = task.answer("a lovely , great story")
    assert answer["label"] == "good" and list(answer["probabilities"]) == ["good", "bad"]
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert task.answer("poor , dull")["label"] == "bad"
    assert task.evaluate_examples(examples())["accuracy"]["value"] == 1


@pytest.mark.parametrize("kind", [NGramClassifier, TfidfClassifier])
def test_saved_and_opened_it_answers_the_same(kind, tmp_path):
    task = learned(kind)
    task.save(tmp_path)
    again = TASKS[task.name].open(tmp_path, task.describe())
    for text in ("a lovely film", "something else", "", "真 好看"):
        assert again.answer(text) == task.answer(text)


@pytest.mark.parametrize("kind", [NGramClassifier, TfidfClassifier])
def test_one_label_is_refused_with_its_place(kind):
    same = [LabelledText("a", "good", "films.csv:2"), LabelledText("b", "good", "films.csv:3")]
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [["a b"]])
    with pytest.raises(BadInput, match=r"films\.csv:2.*'good'"):
        kind.train(same, tokenizer)


def test_a_label_only_in_the_test_is_refused_with_its_place():
    with pytest.raises(BadInput, match=r"test\.csv:9.*'mixed'"):
        learned(TfidfClassifier).evaluate_examples([LabelledText("a film", "mixed", "test.csv:9")])


def test_a_word_seen_under_one_label_does_not_decide_alone():
    """Both models give every word of the common vocabulary a chance, and the chances of all words sum to one."""
    task = learned(NGramClassifier)
    for trie in task.tries:
        probabilities = np.exp(trie.continuations(trie.next_context(-1, 2))[0])
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert probabilities[task.tokenizer.id("lovely")] > 1e-4 and probabilities[task.tokenizer.id("dull")] > 1e-4


def test_intervals_hold_the_value_and_shrink_with_the_number_of_examples():
    random = np.random.default_rng(0)
    few, many = (ratio((random.random(n) < 0.8).astype(float), np.ones(n)) for n in (50, 5000))
    for result in (few, many):
        assert result["low"] <= result["value"] <= result["high"]
    assert many["high"] - many["low"] < 0.2 * (few["high"] - few["low"])


def test_macro_f1_by_hand():
    result = label_metrics(["a", "a", "a", "b"], ["a", "a", "b", "b"])
    assert result["accuracy"]["value"] == 0.75
    assert result["macro_f1"]["value"] == pytest.approx((0.8 + 2 / 3) / 2)
