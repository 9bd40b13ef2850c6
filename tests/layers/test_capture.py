"""capture: weights and hidden states by module path, and nothing left behind."""

import pytest
import torch

from stairs.layers.capture import capture
from stairs.models.gpt import GPT
from stairs.models.settings import GPTConfig
from stairs.text.batch import Batch

IDS = torch.tensor([[2, 5, 6, 7], [2, 8, 9, 0]])
REAL = IDS != 0


@pytest.fixture
def model():
    return GPT(GPTConfig(vocab_size=12, context=8, width=16, heads=2, layers=3)).eval()


def test_weights_and_states_are_keyed_by_path(model):
    with capture(model) as seen:
        out = model.encode(Batch(IDS, REAL))
    weights = seen["blocks.2.attention"]
    assert weights.shape == (2, 2, 4, 4)
    assert torch.allclose(weights[0].sum(-1), torch.ones(2, 4), atol=1e-6)
    assert (weights[0].triu(1) == 0).all()  # nobody looks ahead
    assert (weights[1, :, 2, 3] == 0).all()  # nor at padding
    assert seen["blocks.0"].shape == (2, 4, 16)
    assert torch.equal(seen["norm"], out)
    assert not any(path.endswith(".weights") for path in seen)


def test_nothing_stays_on_the_model_even_after_an_error(model):
    with pytest.raises(ZeroDivisionError), capture(model) as seen:
        model.encode(Batch(IDS, REAL))
        raise ZeroDivisionError
    kept = set(seen)
    model.encode(Batch(IDS, REAL))
    assert set(seen) == kept and "blocks.1.attention" in kept
    assert not any(part._forward_hooks for part in model.modules())
