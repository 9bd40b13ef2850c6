"""Window over vectors laid out by hand: who is near whom, what a text is, and what is said of words that nobody knows."""

import math

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.glove import GloVe
from stairs.models.settings import GloVeConfig, Word2VecConfig
from stairs.models.word2vec import CBOW, SkipGram
from stairs.tasks import WordVectors
from stairs.tasks.task import Task
from stairs.tasks.word_vectors import SIF_WEIGHT, sample_slices
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.text.tokenizers.word_table import tokenizer_from_words
from stairs.training.run import Run

ANGLES = {"king": (0, 1.0), "queen": (10, 2.0), "man": (80, 1.0), "woman": (90, 1.0), "the": (200, 3.0)}  # degrees, length
COUNTS = {"king": 10, "queen": 10, "man": 20, "woman": 20, "the": 940}


def by_hand(**settings) -> WordVectors:
    tokenizer = tokenizer_from_words(list(ANGLES))
    model = SkipGram(Word2VecConfig(tokenizer.vocab_size, width=2, **settings))
    with torch.no_grad():
        for word, (angle, length) in ANGLES.items():
            i = tokenizer.id(word)
            model.vectors[i] = length * torch.tensor([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
            model.counts[i] = COUNTS[word]
    return WordVectors(model.eval(), tokenizer)


@pytest.fixture(scope="module")
def task() -> WordVectors:
    return by_hand()


def test_the_nearest_words_by_cosine_and_never_the_word_itself(task):
    answer = task.answer("king", top=2)
    assert [near["word"] for near in answer["near"]] == ["queen", "man"]
    assert answer["near"][0]["cosine"] == pytest.approx(math.cos(math.radians(10)), abs=1e-6)
    assert answer["words"] == ["king"]
    assert {near["word"] for near in task.answer("king", top=99)["near"]} == set(ANGLES) - {"king"}  # and no special token


def test_a_text_is_the_mean_of_its_words_in_which_frequent_ones_count_little(task):
    rows = {word: task.rows(np.array([task.tokenizer.id(word)]))[0] for word in ANGLES}
    weight = {word: SIF_WEIGHT / (SIF_WEIGHT + COUNTS[word] / 1000) for word in ANGLES}
    by_definition = sum(weight[word] * rows[word] for word in ("the", "king", "man")) / 3
    assert task.vectors(["the king man"])[0] == pytest.approx(by_definition, abs=1e-6)
    assert task.similarity("the king", "king") > 0.9 > 0 > task.similarity("the", "king")
    assert task.similarity("king", "king") == pytest.approx(1.0)


def test_words_nobody_knows_are_left_out_of_a_text_and_one_of_nothing_else_is_zero(task):
    assert np.array_equal(task.vectors(["king zebra"]), task.vectors(["king"]))
    assert not task.vectors(["zebra", "", "king"])[:2].any()
    assert task.vectors([]).shape == (0, 2)
    tokens, vectors = next(task.token_vectors(["king zebra queen"]))
    assert tokens == ["king", "queen"] and vectors.shape == (2, 2)
    with pytest.raises(BadInput, match="no word of 'zebra' is in the vocabulary"):
        task.answer("zebra")


def test_with_characters_every_word_has_a_vector():
    task = by_hand(subwords="3-6", buckets=100)
    task.model.set_vocabulary(task.tokenizer.vocabulary)
    tokens, vectors = next(task.token_vectors(["kingdom queen"]))
    assert tokens == ["kingdom", "queen"] and np.isfinite(vectors).all() and vectors.any(1).all()
    assert task.answer("kingdom")["near"]


def test_a_slice_of_held_out_text_keeps_its_pieces_apart():
    ids = np.arange(5, 100_005, dtype=np.uint32)
    assert sample_slices(ids, None) is not None and len(sample_slices(ids, 200_000)) == len(ids)
    result = sample_slices(ids, 20_000)
    assert 19_000 < len(result) < 21_000 and result[0] == 5 and result[-2] == 100_004
    jumps = np.flatnonzero(np.diff(result.astype(np.int64)) != 1)
    assert len(jumps) and all(Tokenizer.begin in result[at : at + 2] for at in jumps)


TEXT = "\n\n".join(f"the {a} saw the {b} . the {b} saw a {a} ." for a in ("cat", "dog", "cow") for b in ("king", "queen", "duke", "earl")) * 30


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "animals.txt").write_text(TEXT)
    return build_shards(Corpus([folder / "animals.txt"]), TokenizerSpec("words"), cache=folder)


@pytest.mark.parametrize(("kind", "config"), [(CBOW, Word2VecConfig), (SkipGram, Word2VecConfig), (GloVe, GloVeConfig)])
def test_trained_by_fit_it_learns_and_is_evaluated_and_loaded(shards, tmp_path, kind, config):
    from stairs.training.fit import fit
    from stairs.training.options import TrainingOptions

    task: Task = WordVectors(kind(config(shards.tokenizer.vocab_size, width=16)), shards.tokenizer)
    measured = fit(task, shards, tmp_path / "run", TrainingOptions(epochs=6, threads=1, deterministic=True, patience=0))
    losses = [line["loss"]["value"] for line in Run(tmp_path / "run").metrics() if isinstance(line["loss"], dict)]
    assert losses[-1] < losses[0] and measured["loss"]["low"] <= measured["loss"]["value"] <= measured["loss"]["high"]
    again = Run(tmp_path / "run").load_task()
    assert np.array_equal(again.vectors(["the cat"]), task.vectors(["the cat"]))
    assert again.evaluate_split(shards) == task.evaluate_split(shards)
    near = [neighbour["word"] for neighbour in again.answer("king", top=3)["near"]]
    assert set(near) <= set(shards.tokenizer.vocabulary[5:]) and len(near) == 3
    assert again.evaluate_texts(["the cat saw the king . the king saw a cat ."])["pairs"] > 0
    with pytest.raises(BadInput, match="no two known words next to each other"):
        again.evaluate_texts(["zebra giraffe"])


def test_a_text_without_known_words_is_refused():
    task = WordVectors(SkipGram(Word2VecConfig(6, width=2)), tokenizer_from_words(["zebra"]))

    class UnknownWords:
        def ids(self, split):
            return np.full(100, Tokenizer.unknown, np.uint16)

    with pytest.raises(BadInput, match="the train split of the text has no two known words next to each other; give a longer text"):
        task.examples(UnknownWords())


def test_the_means_of_many_texts_are_those_of_each(tmp_path):
    """Words of the vocabulary, from subwords, and none at all."""
    import stairs

    texts = ["the cat sat on the mat", "dog", "", "qqq zzz", "cats and dogs ."] * 6
    for subwords in ({}, {"subwords": "3-4"}):
        settings = {"width": 8, "window": 2, "epochs": 1, "min_count": 1, "subsample": 0.0, **subwords}
        task = stairs.train("skipgram", texts[:5] * 8, out=tmp_path / f"run{len(subwords)}", **settings)
        apart = np.concatenate([task.vectors([text]) for text in texts])
        assert np.allclose(task.vectors(texts), apart, atol=1e-6) and np.abs(apart[0]).max() > 0
