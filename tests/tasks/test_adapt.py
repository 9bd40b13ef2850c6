"""Pretraining goes on with the task's own texts."""

import numpy as np
import pytest
import torch

from stairs.errors import Unsupported
from stairs.tasks import Encode, NextToken, WordVectors
from stairs.tasks.parts.adapt import adaptation_task, unique_texts
from stairs.tasks.parts.labelled_splits import LabelledSplits, weights_hash
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import QUESTION, SENTENCES, encoder, examples


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]])


def test_each_text_is_read_once():
    assert unique_texts(examples("span", 4)).count(QUESTION) == 1
    assert unique_texts(examples("tag", 2)) == unique_texts(examples("classify", 2))
    assert unique_texts(examples("compare", 1)) == [examples("compare", 1)[0].first, examples("compare", 1)[0].second]


@pytest.mark.parametrize("step", ["bert", "gpt", "nnlm"])
def test_it_learns_the_texts(step, tokenizer, tmp_path):
    model = encoder(step, tokenizer)
    if step == "bert":  # as it comes from elsewhere: it gives vectors only
        from dataclasses import replace

        model = type(model)(replace(model.config, output_heads=("pooler",), objective="none")).eval()
    source = {"bert": Encode}.get(step, NextToken)(model, tokenizer)
    given = LabelledSplits(examples("classify", 80)[:60], examples("classify", 80)[60:], weights_hash(model))
    options = TrainingOptions(epochs=8, batch_examples=8, learning_rate=3e-3, precision="fp32", patience=0)
    measured = fit(adaptation_task(source), given, tmp_path / "run", options)
    uniform = np.log(tokenizer.vocab_size)
    assert np.log(measured["perplexity"]["value"]) < 0.9 * uniform
    again = load(tmp_path / "run")
    assert again.name == ("masked-token" if step == "bert" else "next-token")
    assert fit(adaptation_task(source), given, tmp_path / "run", options)["perplexity"] == measured["perplexity"]  # finished: not trained again


def test_the_weights_stay_until_training_starts(tokenizer):
    model = encoder("bert", tokenizer)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    task = adaptation_task(Encode(model, tokenizer))
    task.start(5)
    assert all(torch.equal(tensor, before[name]) for name, tensor in task.model.state_dict().items())


def test_vectors_alone_cannot(tokenizer):
    with pytest.raises(Unsupported, match="skipgram cannot learn more from single texts"):
        adaptation_task(WordVectors(encoder("skipgram", tokenizer), tokenizer))
