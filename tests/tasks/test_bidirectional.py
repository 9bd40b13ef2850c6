"""Both ways: judged from either end, and read with every letter."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.tasks import BidirectionalLM
from stairs.tasks.parts.adapt import adaptation_task
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import SENTENCES, encoder, examples


@pytest.fixture
def task():
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])
    return BidirectionalLM(encoder("elmo", words), words)


def test_a_text_is_evaluated_in_both_directions(task):
    measured = task.evaluate_texts(["\n".join(SENTENCES[:40])])
    assert {"perplexity", "backward_perplexity", "bits_per_character", "backward_bits_per_character"} <= measured.keys()
    assert measured["unknown_words"] == 0


def test_a_word_outside_the_output_vocabulary_costs_its_spelling(task):
    plain, unknown = ("Rome and rain today .", "Rome and wombats today .")
    costs = [task.evaluate_texts([text])["bits_per_character"]["value"] * (len(text) + 1) for text in (plain, unknown)]
    assert task.evaluate_texts([unknown])["unknown_words"] == 1
    ids = np.array(task.tokenizer.encode(unknown))
    assert task.spelling_outside_output(ids) == (pytest.approx(task.tokenizer.spelling_bits("wombats")), 1)
    assert costs[1] > costs[0]


def test_every_word_has_vectors_and_its_own(task):
    (tokens, vectors), (_, others) = task.token_vectors(["the wombats ate soup", "the gnus ate soup"])
    assert tokens == ["the", "wombats", "ate", "soup"] and vectors.shape == (4, 32)
    assert not np.allclose(vectors[1], others[1], atol=1e-3)
    with pytest.raises(BadInput, match="no tokens"):
        list(task.token_vectors(["  "]))


def test_it_continues_a_text_and_goes_on_learning_from_labelled_ones(task, tmp_path):
    assert task.answer("soup and", length=4)["continuation"].startswith("soup and")
    further = adaptation_task(task)
    train = examples("classify")
    fit(further, LabelledSplits(train[:40], train[40:]), tmp_path / "run", TrainingOptions(steps=4, batch_examples=8, precision="fp32"))
    assert isinstance(load(tmp_path / "run"), BidirectionalLM)
