"""Multiple choice: one score for each answer, and a softmax over those of an example."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.tasks.baselines import train_baselines
from stairs.tasks.outcomes import evaluate_with_baselines
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import MultipleChoice, TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from stairs.web import studio
from tests.support.small_world import SENTENCES, encoder, examples, new_task

TRAIN = examples("choose")


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])


def task_on(model, tokenizer, **transfer):
    task = new_task("choose", encoder(model, tokenizer), tokenizer, TRAIN, **transfer)
    task.start(0)
    task.trained_module.eval()
    return task


@pytest.mark.parametrize(("model", "transfer"), [("bert", "full"), ("gpt", "full"), ("bert", "frozen"), ("skipgram", "full")])
def test_the_loss_is_that_of_a_softmax_over_the_choices_of_each_example(tokenizer, model, transfer):
    task = task_on(model, tokenizer, transfer=transfer, auxiliary_weight=0.0)
    rows = task.labelled_rows(TRAIN[:5])
    assert [len(own) for own in rows.row_numbers] == [2, 3, 2, 3, 2]
    assert rows.lengths.sum() == sum(len(row.ids) + len(row.second or ()) for row in rows.rows)
    loss, count = task.training_loss(rows.batch(np.array([3, 0, 4]), 0, 0))
    scores = task.logits(rows.rows)
    expected = 0.0
    for number in (3, 0, 4):
        own = torch.tensor(np.array([scores[row][0] for row in rows.row_numbers[number]]))
        expected -= own.log_softmax(0)[TRAIN[number].right].item()
    assert count == 3 and loss.item() == pytest.approx(expected, rel=1e-4)


def test_each_answer_is_read_after_the_context(tokenizer):
    task = task_on("gpt", tokenizer)
    first = task.rows(TRAIN[:1])[1]
    end, words = tokenizer.end, tokenizer.encode
    assert first.ids == [tokenizer.begin, *words(TRAIN[0].context), end, *words(TRAIN[0].choices[1]), end]


def test_it_learns_answers_is_saved_and_is_the_same_whatever_else_is_in_the_batch(tokenizer, tmp_path):
    task = new_task("choose", encoder("bert", tokenizer), tokenizer, TRAIN)
    validation = examples("choose", 80)[60:]
    fit(task, LabelledSplits(TRAIN, validation), tmp_path / "run", TrainingOptions(epochs=8, learning_rate=3e-3, precision="fp32"))
    saved = load(tmp_path / "run")
    metrics = saved.evaluate_examples(validation)
    assert metrics["accuracy"]["value"] >= 0.8 > metrics["guessing_accuracy"] == pytest.approx((1 / 2 + 1 / 3) / 2) and metrics["questions"] == 20
    answer = saved.answer("soup and rice", choices=["rain today", "bread today", "snow today"])
    assert (answer["answer"], answer["number"]) == ("bread today", 2) and sum(answer["probabilities"].values()) == pytest.approx(1)
    for separator in "\t\n":
        assert saved.answer(separator.join(["soup and rice", "rain today", "bread today", "snow today"])) == answer
    assert saved.summary(answer).startswith("2: bread today (")
    assert saved.predict_examples(validation)[:3] == saved.predict_examples(validation[:3])


def test_the_explorer_asks_with_one_choice_on_each_line(tokenizer):
    answer = studio.answer(task_on("gpt", tokenizer), "soup\nrain today\nrice today", "")
    assert set(answer["probabilities"]) == {"rain today", "rice today"} and answer["answer"] in answer["probabilities"]
    with pytest.raises(BadInput, match="no choices to choose from"):
        studio.answer(task_on("gpt", tokenizer), "soup", "rice today")


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ((), "no choices to choose from; give at least two with --choices"),
        (("a",), "1 choice to choose from"),
        (("a", " "), "choice 2 of 2 is empty"),
    ],
)
def test_what_nobody_can_choose_from_is_refused(tokenizer, choices, sentence):
    with pytest.raises(BadInput, match=sentence):
        task_on("bert", tokenizer).answer("soup", choices=choices)


def test_swapping_two_texts_changes_no_score_with_both_orders(tokenizer):
    pairs = [TextPair("soup and rice in Rome", "rain today", None, 1.0), TextPair("wind", "soup and bread and beans today .", None, 2.0)]
    swapped = [TextPair(pair.second, pair.first, None, pair.score) for pair in pairs]
    scores = {}
    for both_orders in (False, True):
        task = new_task("compare", encoder("gpt", tokenizer), tokenizer, pairs, both_orders=both_orders, max_length=12)
        task.start(0)
        scores[both_orders] = [np.array(task.predict_examples(given)) for given in (pairs, swapped)]
    assert np.allclose(*scores[True], atol=1e-6) and not np.allclose(*scores[False], atol=1e-4)


@pytest.mark.parametrize(
    ("model", "transfer", "sentence"),
    [
        ("bert", {}, "--both-orders is for models that read two texts from left to right, such as gpt, and this is bert"),
        ("gpt", {"transfer": "features"}, "with --transfer features each text is read alone"),
    ],
)
def test_both_orders_are_refused_where_they_say_nothing(tokenizer, model, transfer, sentence):
    pairs = [TextPair("a", "b", None, 1.0), TextPair("a", "c", None, 2.0)]
    with pytest.raises(BadInput, match=sentence):
        new_task("compare", encoder(model, tokenizer), tokenizer, pairs, both_orders=True, **transfer)


def test_an_example_without_a_right_answer_is_answered_all_the_same(tokenizer):
    assert len(task_on("bert", tokenizer).predict_examples([MultipleChoice("soup", ("rain", "rice"))])) == 1


def test_the_choice_that_shares_most_words_with_the_context_is_the_baseline(tokenizer):
    quiz = [MultipleChoice("soup in Rome", ("rain in Paris", "soup today", "in Rome"), 1), MultipleChoice("rain today", ("rain", "soup"), 0)]
    result = evaluate_with_baselines(task_on("bert", tokenizer), quiz, train_baselines(quiz, None), "accuracy")["baseline"]
    assert result["name"] == "choice most like the context" and result["value"] == 0.5
