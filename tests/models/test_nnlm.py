"""NNLM: the paper's equation by hand, and training against a sample of the words."""

import pytest
import torch

from stairs.errors import BadInput
from stairs.models.nnlm import NNLM
from stairs.models.settings import NNLMConfig
from stairs.text.batch import next_token_batch
from tests.support.tiny import tiny

SMALL = tiny("nnlm", vocab_size=20, order=4, width=5, hidden=7)


def small(**settings):
    return NNLM(NNLMConfig(**{**SMALL, **settings})).eval()


@pytest.mark.parametrize("direct", [True, False])
def test_the_output_is_the_papers_equation(direct):
    model = small(direct=direct)
    batch = next_token_batch([[7, 8, 9, 10]], 2, 3, 0)
    x = model.vectors.weight[[8, 9, 10]].flatten()
    u, w = model.output.weight[:, :7], model.output.weight[:, 7:]
    y = model.output.bias + u @ torch.tanh(model.hidden.bias + model.hidden.weight @ x)
    if direct:
        y = y + w @ x
    assert torch.allclose(model.predict(batch)[0, -1], y, atol=1e-6)
    assert model.encode(batch).shape == (1, 5, 5 + 7)


def test_words_further_back_than_its_order_do_not_matter():
    model = small()
    far, near = (model.predict(next_token_batch([row], 2, 3, 0))[0, -1] for row in ([5, 7, 8, 9], [6, 7, 8, 9]))
    assert torch.equal(far, near)


def test_it_trains_on_a_sampled_softmax_and_is_evaluated_on_the_full_one():
    model = small(softmax="sampled", samples=8).train()
    batch = next_token_batch([[5, 6, 7, 8, 9]], 2, 3, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
    assert model.eval().loss(batch).item() < 0.3
    assert not small().samples_words and small(vocab_size=40_000).samples_words and not small(vocab_size=40_000, softmax="full").samples_words


@pytest.mark.parametrize(
    ("name", "value"), [("order", 1), ("order", 65), ("width", 0), ("hidden", 0), ("samples", 0), ("dropout", 1.5), ("context", 0)]
)
def test_settings_that_cannot_be_are_refused(name, value):
    with pytest.raises(BadInput, match=f"{name} {value}"):
        small(**{name: value})
