"""Scores of pairs through the cosine of two vectors."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import BiEncoder, Encode
from stairs.tasks.baselines import cosine_correlation
from stairs.tasks.bi_encoder import CosineHead
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.examples import TextPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import FOOD, SENTENCES, WEATHER, encoder

THINGS = FOOD + WEATHER
PAIRS = [TextPair(f"{a} today", f"{b} in Rome", None, 1.0 + 4.0 * ((a in FOOD) == (b in FOOD)), f"file:{a}-{b}") for a in THINGS for b in THINGS]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [SENTENCES])


def new_task(tokenizer, step="bert", **transfer):
    torch.manual_seed(0)
    return BiEncoder(encoder(step, tokenizer), tokenizer, TransferOptions(**transfer), **BiEncoder.settings_from(PAIRS))


def test_it_learns_and_its_vectors_are_those_of_the_tuned_encoder(tokenizer, tmp_path):
    task = new_task(tokenizer)
    before = cosine_correlation(Encode(task.model, tokenizer), PAIRS)["value"]
    options = TrainingOptions(epochs=15, batch_examples=16, learning_rate=3e-3, precision="fp32", patience=0)
    measured = fit(task, LabelledSplits(PAIRS[::2], PAIRS[1::2]), tmp_path / "run", options)
    assert measured["spearman"]["value"] > max(0.8, before)
    again = load(tmp_path / "run")
    assert again.evaluate_examples(PAIRS[1::2])["spearman"] == measured["spearman"]
    a, b = again.vectors(["soup today", "rain in Rome"]).astype(np.float64)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    expected = 1.0 + 4.0 * (again.head.slope.item() * cosine + again.head.offset.item())
    assert again.answer("soup today", second="rain in Rome")["score"] == pytest.approx(expected, abs=1e-4)
    assert cosine_correlation(again, PAIRS[1::2])["value"] == pytest.approx(measured["spearman"]["value"], abs=1e-3)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_training_begins_where_the_untuned_encoder_stands(pooling, tokenizer):
    task = new_task(tokenizer, pooling=pooling)
    task.examples(LabelledSplits(PAIRS, PAIRS))
    task.start(0)
    features = torch.from_numpy(np.stack(task.compute_vectors(task.rows(PAIRS))))
    untuned = Encode(task.model, tokenizer, pooling=pooling)
    expected = [untuned.similarity(pair.first, pair.second) for pair in PAIRS[:5]]
    assert task.head.cosine(features)[:5].tolist() == pytest.approx(expected, abs=1e-5)
    assert task.head.slope.item() != 1.0


@pytest.mark.parametrize("step", ["gpt", "skipgram"])
def test_encoders_of_other_kinds_learn_so_too(step, tokenizer, tmp_path):
    options = TrainingOptions(steps=3, batch_examples=8, precision="fp32")
    measured = fit(new_task(tokenizer, step), LabelledSplits(PAIRS, PAIRS[::3]), tmp_path / "run", options)
    again = load(tmp_path / "run")
    assert again.evaluate_examples(PAIRS[::3])["error"] == measured["error"]
    assert cosine_correlation(again, PAIRS[::3])["value"] == pytest.approx(measured["spearman"]["value"], abs=1e-3)


def test_the_head_begins_with_the_least_squares():
    random = torch.Generator().manual_seed(0)
    both = torch.randn((50, 8), generator=random)
    head = CosineHead()
    head.fit_to(both, 0.25 * head.cosine(both) + 0.5)
    assert head.slope.item() == pytest.approx(0.25, abs=1e-5) and head.offset.item() == pytest.approx(0.5, abs=1e-5)
    head.fit_to(both, -head.cosine(both))
    assert head.slope.item() > 0


def test_labels_are_refused():
    with pytest.raises(BadInput, match="file:1: the pairs have labels, and --head bi-encoder learns scores"):
        BiEncoder.settings_from([TextPair("a", "b", "same", None, "file:1")])
