"""Distributions are those of the model, before and after, at the positions of the target."""

import json
import math

import pytest
import torch

from stairs.errors import Unsupported
from stairs.inspection.distribution import new_model
from stairs.pictures.catalogue import picture_data, suitable_pictures
from stairs.tasks import NextToken
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.gallery import TEXT, runs, translator
from tests.support.small_world import encoder

MERCI = ["merci thanks", "je suis étudiant i am a student"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def merci():
    """A translator of nine words, trained until it knows that merci is thanks."""
    task = translator("transformer", Tokenizer.train(TokenizerSpec("words"), lambda: [MERCI]), label_smoothing=0.0, dropout=0.0)
    task.start(3)
    from stairs.text.examples import TranslationPair

    rows = task.rows([TranslationPair("merci", "thanks", ""), TranslationPair("je suis étudiant", "i am a student", "")])
    optimizer = torch.optim.Adam(task.model.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        task.model.loss(rows.batch([0, 1])).backward()
        optimizer.step()
    task.model.eval()
    return task


def test_all_words_of_a_small_vocabulary_are_shown_and_training_moves_the_output_to_the_target(merci, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"seed": 3}))
    data = picture_data(merci, "distribution", "merci -> thanks", run=str(tmp_path))
    first, end = data["positions"]
    assert {token["token"] for token in first["tokens"]} == {*" ".join(MERCI).split(), "[SEP]"}
    assert (first["target"], end["target"]) == ("thanks", "[SEP]")
    assert [token["token"] for token in first["tokens"] if token["target"]] == ["thanks"] and (first["read"], end["read"]) == ("", "thanks")
    assert first["bits_after"] < 0.2 < first["bits_before"] and not data["has_own_target"]
    shown = {token["token"]: token for token in first["tokens"]}
    assert first["bits_after"] == pytest.approx(-math.log2(shown["thanks"]["after"])) and sum(one["after"] for one in shown.values()) <= 1.0001
    assert picture_data(merci, "distribution", "merci", second="thanks", run=str(tmp_path)) == {**data, "text": "merci"}
    assert picture_data(merci, "distribution", "merci", run=str(tmp_path)) == {**data, "text": "merci", "has_own_target": True}
    other = picture_data(merci, "distribution", "merci -> thanks")["positions"][0]
    assert other["bits_after"] == first["bits_after"] and other["bits_before"] != first["bits_before"]  # another seed


def test_before_is_the_model_that_training_starts_with(merci):
    untrained = new_model(merci.model, 3)
    merci_again = translator("transformer", merci.tokenizer, label_smoothing=0.0, dropout=0.0)
    merci_again.start(3)
    assert all(torch.equal(a, b) for a, b in zip(untrained.parameters(), merci_again.model.parameters(), strict=True))


@pytest.mark.parametrize("name", ["gpt", "nnlm"])
def test_the_target_of_a_language_model_is_the_last_token(tasks, name):
    task = tasks[name]
    (position,) = picture_data(task, "distribution", TEXT, top=4)["positions"]
    ids = task.tokenizer.encode(TEXT)
    following = task.next_tokens([task.tokenizer.begin, *ids[:-1]], 4)
    assert position["target"].strip() == "." and position["tokens"][0]["target"] == 1.0
    best = sorted((token["after"] for token in position["tokens"]), reverse=True)[:4]
    assert best == pytest.approx([entry["probability"] for entry in following], abs=1e-4)
    with pytest.raises(Unsupported, match="leave --second out"):
        picture_data(task, "distribution", TEXT, second="soup")


def test_a_text_beyond_the_context_keeps_its_end(tasks):
    (position,) = picture_data(tasks["gpt"], "distribution", f"{TEXT} " * 30)["positions"]
    assert position["target"].strip() == "."


def test_models_without_gradients_have_no_before(tasks):
    assert "distribution" not in suitable_pictures(tasks["ngram"]) and "distribution" not in suitable_pictures(tasks["bert"])
    alone = NextToken(encoder("gpt", tasks["bert"].tokenizer), tasks["bert"].tokenizer)
    assert picture_data(alone, "distribution", "soup")["positions"][0]["read"] == ""  # the first token, after [CLS] alone
