"""Why scores are divided by sqrt(D): large ones saturate the softmax, as the header of layers/attention.py shows."""

import decimal
from decimal import Decimal

import pytest
import torch

from stairs.layers.attention import dot, weigh


@pytest.mark.parametrize("a", [1, 10, 100])
def test_large_scores_saturate_the_softmax_and_its_jacobian_vanishes(a):
    """The scores [a, a, 2a], against the closed form with 50 digits and against autograd."""
    with decimal.localcontext(prec=50):
        whole = 2 * Decimal(a).exp() + Decimal(2 * a).exp()
        small, large = float(Decimal(a).exp() / whole), float(Decimal(2 * a).exp() / whole)
        slope = float((1 - Decimal(a).exp() / whole) * Decimal(a).exp() / whole)  # of a small share by its own score
        steepest = float(Decimal(2 * a).exp() * 2 * Decimal(a).exp() / whole**2)  # of the large one by its own
    key = torch.tensor([[a], [a], [2 * a]], dtype=torch.float64)
    y = weigh(torch.ones(1, 1, dtype=torch.float64), key, score=dot)[0]
    assert y.tolist() == pytest.approx([small, small, large], rel=0, abs=1e-15)
    jacobian = torch.autograd.functional.jacobian(lambda scores: scores.softmax(0), key[:, 0])
    by_hand = y.diag() - y.outer(y)
    assert torch.allclose(jacobian, by_hand, rtol=0, atol=1e-15)
    assert float(jacobian[0, 0]) == pytest.approx(slope, rel=1e-12) and float(jacobian[2, 2]) == pytest.approx(steepest, rel=0, abs=1e-15)
    assert float(jacobian.abs().max()) < {1: 0.25, 10: 1e-4, 100: 1e-43}[a]
