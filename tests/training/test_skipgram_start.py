"""Token embeddings that start as the vectors of skip-gram."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.kernels.cooccurrence import SPECIAL
from stairs.training.skipgram_start import start_from_skipgram

IDS = np.random.default_rng(0).integers(0, 2, 6000).repeat(8) * 10 + SPECIAL + np.random.default_rng(1).integers(0, 10, 48000)  # two topics


def table(width: int = 16) -> torch.Tensor:
    rows = torch.randn(SPECIAL + 20, width, generator=torch.manual_seed(0)) * 0.02
    rows[SPECIAL:] += torch.linspace(-0.1, 0.1, 20)[:, None]  # as the output bias of a GPT
    return rows


def test_tokens_of_one_topic_start_near_one_another():
    rows = table()
    start_from_skipgram(rows, IDS.astype(np.uint16), len(IDS), seed=0)
    words = rows[SPECIAL:] - rows[SPECIAL:].mean(1, keepdim=True)
    cosines = torch.nn.functional.cosine_similarity(words[:, None], words[None], dim=-1)
    assert cosines[:10, :10].mean() > 0.5 > 0.0 > cosines[:10, 10:].mean()


def test_lengths_means_and_special_tokens_stay():
    before, rows = table(), table()
    start_from_skipgram(rows, IDS.astype(np.uint16), len(IDS), seed=0)
    assert torch.equal(rows[:SPECIAL], before[:SPECIAL]) and not torch.equal(rows[SPECIAL:], before[SPECIAL:])
    assert torch.allclose(rows.mean(1), before.mean(1), atol=1e-6)
    spread = [(own[SPECIAL:] - own[SPECIAL:].mean(1, keepdim=True)).std().item() for own in (before, rows)]
    assert spread[0] == pytest.approx(spread[1], rel=1e-5)


def test_the_seed_and_the_number_of_tokens_decide_the_bits():
    def start(seed: int, tokens: int) -> torch.Tensor:
        rows = table()
        start_from_skipgram(rows, np.tile(IDS, 20).astype(np.uint16), tokens, seed)
        return rows

    assert torch.equal(start(0, 1000), start(0, 1000))
    assert not torch.equal(start(0, 1000), start(1, 1000)) and not torch.equal(start(0, 1000), start(0, 900_000))


def test_a_training_starts_from_them_once(train, tmp_path, monkeypatch):
    from stairs.training import gradients

    calls = []
    monkeypatch.setattr(gradients, "start_from_skipgram", lambda *arguments: calls.append(arguments))
    train("gpt", skipgram_tokens=5000, steps=8, save_every=4)
    (tmp_path / "run" / "model").rename(tmp_path / "model")
    train("gpt", skipgram_tokens=5000, steps=12, save_every=4)
    assert len(calls) == 1 and calls[0][2:] == (5000, 0)


def test_pairs_of_sentences_are_no_running_text(train):
    with pytest.raises(BadInput, match="needs running text"):
        train("transformer", skipgram_tokens=5000, steps=2)
