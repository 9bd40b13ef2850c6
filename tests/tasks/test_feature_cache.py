"""Features are computed once, and again only for other weights, other rows, or a damaged file."""

import numpy as np
import pytest

from stairs.cache import cache_folder
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.feature_cache import cached_features
from stairs.tasks.parts.labelled_splits import weights_hash
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.small_world import QUESTION, SENTENCES, encoder


@pytest.fixture
def model():
    return encoder("bert", Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=200), lambda: [[*SENTENCES, QUESTION]]))


@pytest.mark.parametrize("vectors", [[np.ones(3, np.float32), np.zeros(3, np.float32)], [np.ones((2, 3), np.float32), np.zeros((4, 3), np.float32)]])
def test_computed_once(model, vectors, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows, calls = [EncodedInput([2, 7, 3], [0, 0, 0], 0), EncodedInput([2, 8, 3], [0, 0, 0], 1)], []

    def compute():
        calls.append(1)
        return vectors

    for again in range(2):
        result = cached_features(model, rows, "classify", compute)
        assert len(calls) == 1 and all(np.array_equal(a, b) for a, b in zip(result, vectors, strict=True)), again
    cached_features(model, rows[:1], "classify", lambda: compute()[:1])
    cached_features(model, rows, "tag", compute)
    model.initialize(3)
    cached_features(model, rows, "classify", compute)
    assert len(calls) == 4
    for folder in cache_folder().glob("features-*"):
        (folder / "features.safetensors").write_bytes(b"damaged")
    cached_features(model, rows, "classify", compute)
    assert len(calls) == 5


def test_the_hash_is_of_all_weights(model):
    before = weights_hash(model)
    assert weights_hash(model) == before
    model.blocks[1].attention.query.bias.data[0] += 1
    assert weights_hash(model) != before
