"""The output layer: chunks equal PyTorch's cross entropy, values and gradients; a sample of the words estimates it."""

import pytest
import torch
import torch.nn.functional as F

from stairs.layers import vocabulary
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll, sample_zipf, sampled_softmax_loss, zipf_probability


@pytest.fixture
def layer(monkeypatch):
    monkeypatch.setattr(vocabulary, "LOGITS_AT_ONCE", 1)
    monkeypatch.setattr(vocabulary, "ROWS_AT_LEAST", 7)  # so that 30 rows are five chunks, the last one short
    hidden, weight, bias = (torch.randn(*shape, requires_grad=True) for shape in ((30, 8), (50, 8), (50,)))
    return hidden, weight, bias, torch.randint(0, 50, (30,))


@pytest.mark.parametrize("with_bias", [True, False])
def test_chunks_equal_cross_entropy_and_its_gradients(layer, with_bias):
    hidden, weight, bias, targets = layer
    bias = bias if with_bias else None
    inputs = [hidden, weight, bias] if with_bias else [hidden, weight]
    ours = linear_cross_entropy(hidden, weight, bias, targets)
    theirs = F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="sum")
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
    for a, b in zip(torch.autograd.grad(ours / 30, inputs), torch.autograd.grad(theirs / 30, inputs), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    each = F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="none")
    assert torch.allclose(linear_nll(hidden, weight, bias, targets), each, atol=1e-5)


def test_in_bfloat16_it_is_as_near_as_autocast_is(layer):
    hidden, weight, bias, targets = layer
    exact = torch.autograd.grad(linear_cross_entropy(hidden, weight, bias, targets), (hidden, weight, bias))
    with torch.autocast("cpu", torch.bfloat16):
        total = linear_cross_entropy(hidden, weight, bias, targets)
    rounded = torch.autograd.grad(total, (hidden, weight, bias))
    assert total.dtype == torch.float32
    for a, b in zip(exact, rounded, strict=True):
        assert a.dtype == b.dtype and (a - b).norm() < 0.02 * a.norm()


def test_improbable_words_cost_much_but_not_infinitely_much():
    hidden, weight = torch.tensor([[200.0]]), torch.tensor([[1.0], [-1.0]])
    assert linear_nll(hidden, weight, None, torch.tensor([1])).item() == pytest.approx(400.0)
    assert linear_nll(hidden, weight, None, torch.tensor([0])).item() == 0


def test_nothing_asked_costs_nothing():
    none = torch.zeros(0, dtype=torch.int64)
    weight = torch.randn(5, 4, requires_grad=True)
    total = linear_cross_entropy(torch.zeros(0, 4), weight, None, none)
    total.backward()
    assert total.item() == 0 and not weight.grad.any()
    assert linear_nll(torch.zeros(0, 4), weight, None, none).shape == (0,)


def test_ids_are_drawn_by_zipfs_law():
    size = 40
    probabilities = zipf_probability(torch.arange(size), size)
    assert probabilities.sum().item() == pytest.approx(1, abs=1e-6)
    drawn = sample_zipf(size, 100_000, torch.device("cpu"), torch.Generator().manual_seed(0))
    assert torch.allclose(torch.bincount(drawn, minlength=size) / len(drawn), probabilities, atol=5e-3)


def test_a_large_sample_estimates_the_full_cross_entropy(layer):
    hidden, weight, bias, targets = layer
    full = linear_cross_entropy(hidden, weight, bias, targets).item()
    random = torch.Generator().manual_seed(0)
    sampled = torch.stack([sampled_softmax_loss(hidden, lambda ids: weight[ids], bias, targets, 5_000, random) for _ in range(5)]).mean().item()
    assert sampled == pytest.approx(full, rel=0.02)
    sampled_softmax_loss(hidden, lambda ids: weight[ids], bias, targets, 10).backward()
    assert hidden.grad is not None and weight.grad is not None and bias.grad is not None
