"""Mixes of layers, and readers of words beside them."""

import dataclasses

import numpy as np
import pytest
import torch
from small import SENTENCES, encoder, examples, new_task

from stairs.errors import BadInput
from stairs.models.transfer import Transfer
from stairs.tasks import TASKS, Sense
from stairs.tasks.mix import Mix, Reading, chosen_layers
from stairs.tasks.supervised import Examples
from stairs.tasks.task import Task
from stairs.text.batch import Batch
from stairs.text.examples import Sensed
from stairs.text.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load

QUICK = TrainingOptions(steps=8, batch_examples=8, learning_rate=0.02, precision="fp32", patience=0)


@pytest.fixture(scope="module")
def words():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])


@pytest.fixture
def elmo(words):
    return Task(encoder("elmo", words), words)


def test_a_mix_begins_as_the_mean_and_is_scaled_as_a_whole():
    layers = [torch.randn(2, 3, 4) for _ in range(3)]
    mix = Mix(3)
    assert torch.allclose(mix(layers), torch.stack(layers).mean(0), atol=1e-6)
    with torch.no_grad():
        mix.s.copy_(torch.tensor([0.0, 50.0, 0.0]))
        mix.gamma.fill_(2.0)
    assert torch.allclose(mix(layers), 2 * layers[1], atol=1e-5)


def test_which_layers(elmo, words):
    model = elmo.model
    assert chosen_layers(None, model) == chosen_layers("all", model) == [0, 1, 2]
    assert (chosen_layers("last", model), chosen_layers("1", model), chosen_layers("0,-1", model)) == ([2], [1], [0, 2])
    bert = encoder("bert", words)
    assert chosen_layers(None, bert) is None and chosen_layers("all", bert) == [0, 1]
    for layers, said in (("3", "no layer 3; it has 3"), ("0,5", "no layer 5"), ("top", "names no layers"), ("1.5", "names no layers")):
        with pytest.raises(BadInput, match=said):
            chosen_layers(layers, model)
    with pytest.raises(BadInput, match="one vector for each token"):
        chosen_layers("1", encoder("cbow", words))


@pytest.mark.parametrize("step", ["elmo", "bert", "cove"])
@pytest.mark.parametrize("asks", ["classify", "tag"])
def test_a_mix_is_learnt_with_the_task_and_kept(step, asks, words, tmp_path):
    train = examples(asks)
    task = new_task(asks, encoder(step, words), words, train, transfer="frozen", layers="all")
    fit(task, Examples(train[:40], train[40:]), tmp_path / "run", QUICK)
    (mix,) = load(tmp_path / "run").reported(train[40:])["mix"]
    assert sum(mix["layers"].values()) == pytest.approx(1) and len(set(mix["layers"].values())) > 1 and mix["gamma"] != 1


def test_a_heavy_penalty_keeps_the_shares_equal(words, tmp_path):
    train = examples("classify")
    spread = {}
    for penalty in (0.0, 100.0):
        task = new_task("classify", encoder("elmo", words), words, train, transfer="frozen", mix_penalty=penalty)
        fit(task, Examples(train[:40], train[40:]), tmp_path / str(penalty), dataclasses.replace(QUICK, steps=40))
        spread[penalty] = np.ptp(list(task.reading.weights()[0]["layers"].values()))
    assert spread[100.0] < spread[0.0] / 3


@pytest.mark.parametrize("place", ["input", "output", "both", "none"])
@pytest.mark.parametrize("asks", ["classify", "compare", "tag"])
def test_a_reader_of_words_with_the_vectors_at_any_place(place, asks, words, tmp_path):
    train = examples(asks)
    kind = TASKS[asks]
    known = ["soup", "rain", "Rome"]
    transfer = Transfer(transfer="frozen", place=place, reader=8, word_width=5)
    task = kind(encoder("elmo", words), words, transfer, **kind.learned_from(train), words=known)
    task.word_vectors = np.arange(20, dtype=np.float32).reshape(4, 5)
    task.start(0)
    assert torch.equal(task.reading.words.weight[2], torch.arange(10.0, 15.0)) and len(task.reading.mixes) == {"both": 2, "none": 0}.get(place, 1)
    measured = fit(task, Examples(train[:40], train[40:]), tmp_path / "run", QUICK)
    assert load(tmp_path / "run").evaluate(train[40:])["error"] == measured["error"]


def test_without_the_vectors_their_encoder_does_not_matter(elmo, words):
    found = []
    for seed in (1, 2):
        elmo.model.initialize(seed)
        reading = Reading(elmo.model, Transfer(place="none", reader=8), ["soup"], elmo.tokenizer.token)
        torch.manual_seed(0)
        for weight in reading.parameters():
            torch.nn.init.normal_(weight)
        ids = torch.tensor([elmo.tokenizer.encode("soup and wombats today")])
        found.append(reading.eval()(Batch(ids, torch.ones_like(ids, dtype=torch.bool)), elmo.model))
    assert torch.equal(*found)


def test_senses_by_one_layer(elmo, tmp_path):
    def sensed(text, sense):
        split = tuple(text.split())
        return Sensed(split, tuple(f"{word}.n" for word in split), ((split.index("soup"), sense),), "file:1")

    task = Sense.learned([sensed("soup and rain", "one"), sensed("snow and soup", "two")], elmo, "0")
    assert np.allclose(task.known[0], task.known[1], atol=1e-5)  # the word alone is the same everywhere
    deeper = Sense.learned([sensed("soup and rain", "one"), sensed("snow and soup", "two")], elmo, "2")
    assert not np.allclose(deeper.known[0], deeper.known[1], atol=1e-3)
