"""What TF-IDF counts is chosen by held-out examples, and the choice is stored."""

import numpy as np
import pytest

from stairs.inspection.reasons import explain, tfidf_weights
from stairs.tasks.classifier import word_tokenizer
from stairs.tasks.linear_mixture import Mixture, mix, temper
from stairs.tasks.tfidf_choice import TfidfChoice
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import LabelledText
from stairs.training.run import fit_once, load

FOODS = ("bread", "soup", "rice", "tea", "cake")
WEATHER = ("rain", "wind", "snow", "fog", "hail")


def examples(count, seed, order_decides=False):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        first, second = rng.choice(FOODS), rng.choice(WEATHER)
        if order_decides:
            label = "food" if rng.random() < 0.5 else "weather"
            text = f"{first} {second}" if label == "food" else f"{second} {first}"
        else:
            label = rng.choice(["food", "weather"])
            text = f"we had {rng.choice(FOODS if label == 'food' else WEATHER)} on day {rng.integers(1000)}"
        made.append(LabelledText(text, str(label)))
    return made


def train(data, validation=(), choice=None):
    return TfidfClassifier.train(data, word_tokenizer(data), validation, choice and Mixture((choice,)))


def test_validation_examples_choose_words_in_a_row_where_only_their_order_tells():
    task = train(examples(200, 0, order_decides=True), examples(100, 1, order_decides=True))
    assert all(fit["words"] >= 2 for fit in task.choice["fits"])
    assert task.choice["accuracy"] > 0.9 and task.choice["held_out"] == 100 and task.choice["trials"] == 8
    assert task.predict_labels(["soup rain", "rain soup"]) == ["food", "weather"]


def test_without_validation_examples_folds_of_the_training_examples_choose():
    task = train(examples(100, 0))
    assert task.choice["held_out"] == 100 and task.choice["accuracy"] > 0.9
    assert train(examples(49, 0)).choice == Mixture((TfidfChoice(),)).settings, "too few choose nothing"
    assert train(examples(100, 0), examples(10, 1)).choice["held_out"] == 100, "ten validation examples are too few to choose by"


def test_a_choice_that_is_given_is_followed_and_stored(tmp_path):
    given = TfidfChoice(words=1, characters=False, by_ratio=True, c=2.0)
    fit_once(tmp_path / "run", {"task": "classify"}, lambda: train(examples(100, 0), choice=given), lambda task: {})
    task = load(tmp_path / "run")
    assert Mixture.from_settings(task.choice, TfidfChoice) == Mixture((given,))
    assert not any(" " in term or term.startswith("\t") for term in task.terms)


def test_the_same_examples_give_the_same_bits():
    first, second = (train(examples(200, 0), examples(100, 1)) for _ in range(2))
    assert (first.weight == second.weight).all() and first.choice == second.choice


def test_a_label_that_validation_alone_has_is_left_out():
    task = train(examples(100, 0), [*examples(60, 1), LabelledText("a dog", "animal")])
    assert task.choice["held_out"] == 60 and task.labels == ["food", "weather"]


def test_reasons_add_up_to_the_scores_of_the_labels():
    task = train(examples(100, 0), choice=TfidfChoice(words=2, characters=True))
    text = "we had bread and breads and unknownword on day 7"
    scores = np.log(task.probabilities([text])[0])
    reasons = {own["label"]: own["words"] for own in explain(task, text)["labels"]}
    assert {"bread", "breads"} <= {own["word"] for own in reasons["food"]}, "a new word counts by its characters"
    total = {label: sum(own["weight"] for own in words) + task.bias[task.labels.index(label)] for label, words in reasons.items()}
    assert total["food"] - total["weather"] == pytest.approx(scores[0] - scores[1], abs=0.1)  # reasons below 0.005 are not listed


def test_reasons_add_up_in_chinese_where_characters_stand_across_two_words():
    label_of = {"好吃": "good", "不错": "good", "难吃": "bad", "糟糕": "bad"}
    data = [LabelledText(f"这家{thing}很{word}", label) for thing in ("酒店", "餐厅", "书店") for word, label in label_of.items()] * 5
    task, text = train(data, choice=TfidfChoice(words=2, characters=True)), "这家酒店不错，很好吃"
    assert "\t店很" in task.terms, "the last character of a word and the first of the next one"
    words, added = tfidf_weights(task, text)
    scores = task.tfidf.features([text]).times(task.weight)[0]
    np.testing.assert_allclose(added.sum(0), scores - scores.mean(), atol=1e-6)
    assert {"酒店", "很"} <= set(words) and not any(word.startswith("\t") for word in words)


def test_the_temperature_is_the_one_that_makes_the_labels_most_probable():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 3))
    truth = np.exp(2 * scores) / np.exp(2 * scores).sum(1, keepdims=True)
    gold = np.array([rng.choice(3, p=own) for own in truth])
    assert temper(scores, gold)[1] == pytest.approx(2.0, rel=0.1) and temper(scores[:50], gold[:50])[1] == 1.0


def noisy_scores(gold, strengths, seed=0):
    """Of fits that know the label so well, each with errors of its own."""
    rng = np.random.default_rng(seed)
    return [strength * np.eye(3)[gold] + rng.normal(size=(len(gold), 3)) for strength in strengths]


def test_fits_that_err_differently_are_mixed_and_one_that_knows_nothing_hardly_counts():
    gold = np.random.default_rng(1).integers(0, 3, 4000)
    scores = noisy_scores(gold, (1.0, 1.0, 0.0))
    mixture = mix([TfidfChoice(c=c) for c in (1.0, 2.0, 4.0)], [own[:2000] for own in scores], gold[:2000])
    weights = dict(zip([fit.c for fit in mixture.fits], mixture.weights, strict=True))
    assert weights[1.0] == pytest.approx(weights[2.0], rel=0.2) and weights.get(4.0, 0.0) < 0.1 * weights[1.0]
    others = [own[2000:] for own in scores]
    mixed = sum(weight * own for weight, own in zip(mixture.weights, others, strict=False))  # the last may have no weight
    accuracies = [(own.argmax(1) == gold[2000:]).mean() for own in (mixed, *others)]
    assert accuracies[0] > max(accuracies[1:]) + 0.05


def test_few_held_out_examples_hardly_move_the_weights():
    gold = np.random.default_rng(1).integers(0, 3, 60)
    mixture = mix([TfidfChoice(), TfidfChoice(c=1.0)], noisy_scores(gold, (1.5, 0.5)), gold)
    assert all(0.2 < weight < 1.2 for weight in mixture.weights)


def test_a_mixture_is_the_sum_of_its_fits(tmp_path):
    data, texts = examples(100, 0), ["we had bread on day 7", "we had fog and tea on day 8", "nothing known"]
    fits = [TfidfChoice(c=8.0), TfidfChoice(c=1.0, by_ratio=True)]
    tokenizer = word_tokenizer(data)
    both = TfidfClassifier.train(data, tokenizer, mixture=Mixture(tuple(fits), (0.75, 0.5)))
    scores = [np.asarray(own.text_features(texts) @ own.weight.T) + own.bias for own in (both, *(train(data, choice=fit) for fit in fits))]
    np.testing.assert_allclose(scores[0], 0.75 * scores[1] + 0.5 * scores[2], atol=1e-5)
    fit_once(tmp_path / "run", {"task": "classify"}, lambda: both, lambda task: {})
    assert Mixture.from_settings(load(tmp_path / "run").choice, TfidfChoice) == Mixture(tuple(fits), (0.75, 0.5))


def test_labels_that_nothing_tells_still_give_a_mixture():
    gold = np.random.default_rng(1).integers(0, 3, 2000)
    wrong = [3.0 * np.eye(3)[(gold + 1) % 3] + own for own in noisy_scores(gold, (0.0, 0.0))]
    mixture = mix([TfidfChoice(), TfidfChoice(c=1.0)], wrong, gold)
    assert len(mixture.fits) == 2 and all(weight > 0 for weight in mixture.weights) and mixture.accuracy < 0.2
