"""Positions: the waves by hand, and turns whose products depend only on distance."""

import math

import pytest
import torch

from stairs.layers.attention_positions import RotaryPositions
from stairs.layers.positions import LearnedPositions, SinusoidalPositions, sinusoidal


def test_the_waves_are_those_of_the_paper():
    table = sinusoidal(50, 8)
    assert table.shape == (50, 8)
    for position, i in [(0, 0), (7, 1), (49, 3)]:
        angle = position / 10_000 ** (2 * i / 8)
        assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert torch.equal(SinusoidalPositions(50, 8)(torch.tensor([3, 1])), table[[3, 1]])
    assert sinusoidal(4, 5).shape == (4, 5)


def test_a_learned_place_is_a_row():
    learned = LearnedPositions(4, 3)
    assert torch.equal(learned(torch.tensor([2])), learned.weight[2:3])


def test_turned_products_depend_only_on_distance():
    rotary = RotaryPositions(40, 8)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def product(a, b):
        return (rotary.rotate(query, torch.tensor([a])) * rotary.rotate(key, torch.tensor([b]))).sum().item()

    assert product(3, 1) == pytest.approx(product(33, 31), abs=1e-5)
    assert product(3, 1) != pytest.approx(product(3, 2), abs=1e-3)
    assert product(5, 5) == pytest.approx((query * key).sum().item(), abs=1e-5)


def test_places_may_differ_by_row():
    rotary = RotaryPositions(10, 4)
    vectors = torch.randn(2, 3, 2, 4)
    rows = torch.tensor([[0, 1], [4, 5]])
    assert torch.allclose(rotary.rotate(vectors, rows)[1], rotary.rotate(vectors[1:], rows[1])[0])
