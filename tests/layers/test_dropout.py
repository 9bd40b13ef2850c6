"""Dropout drawn by a kernel: as many, as large, and as repeatable as PyTorch's."""

import pytest
import torch

from stairs.layers.dropout import Dropout, dropout


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_share_is_switched_off_and_the_rest_grows(kind, share):
    found = dropout(torch.ones(400, 1000, dtype=kind), share)
    assert float((found == 0).float().mean()) == pytest.approx(share, abs=0.003)
    assert set(found.unique().tolist()) == {0.0, float(torch.tensor(1 / (1 - share), dtype=kind))}


def test_rows_columns_and_calls_are_independent():
    first, second = ((dropout(torch.ones(1000, 256), 0.1) == 0).float() for _ in range(2))
    for a, b in ((first, second), (first[1:], first[:-1]), (first[:, 1:], first[:, :-1])):
        assert abs(float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])) < 0.01


def test_the_seed_decides():
    x = torch.randn(50, 50)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(dropout(x, 0.3))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_the_gradient_passes_where_the_number_did():
    x = torch.randn(30, 30, requires_grad=True)
    found = dropout(x, 0.25)
    found.sum().backward()
    assert torch.equal(x.grad == 0, found == 0)


def test_without_training_nothing_changes():
    x = torch.randn(5, 5)
    assert dropout(x, 0.0) is x and Dropout(0.9).eval()(x) is x
    assert dropout(x.double(), 0.5).dtype == torch.float64  # PyTorch's own
