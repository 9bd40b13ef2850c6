"""Leaving the padding out changes no number."""

import itertools

import numpy as np
import pytest
import torch

from stairs.fast.block import GROUP, FastAttention, UnpaddedLayout, group_borders, run_unpadded

LENGTHS = [7, 2, 7, 1, 12, 3, 3, 11]


def real_of(lengths):
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def cost(ascending, cuts):
    edges = [0, *cuts, len(ascending)]
    return sum((stop - start) * ascending[stop - 1] + GROUP for start, stop in itertools.pairwise(edges))


@pytest.mark.parametrize("seed", range(5))
def test_no_other_grouping_costs_less(seed):
    ascending = np.sort(np.random.default_rng(seed).integers(1, 40, 9))
    found = group_borders(ascending)
    assert [start for start, _ in found[1:]] == [stop for _, stop in found[:-1]] and found[0][0] == 0 and found[-1][1] == len(ascending)
    everything = (cuts for size in range(len(ascending)) for cuts in itertools.combinations(range(1, len(ascending)), size))
    assert cost(ascending, [start for start, _ in found[1:]]) == min(cost(ascending, cuts) for cuts in everything)


def test_packing_and_padding_give_back_what_is_real():
    real = real_of(LENGTHS)
    x = torch.randn(*real.shape, 3)
    groups = UnpaddedLayout(real, real[:, None])
    again = groups.unpack(groups.pack(x))
    assert torch.equal(again[real], x[real])
    assert len(groups.positions) < real.numel()


@pytest.mark.parametrize("mask", ["padding", "some"])
def test_attention_without_padding_is_attention(mask):
    real = real_of(LENGTHS)
    real[4] = False
    real[4, 3:9] = True  # a hole before the text, as one that begins late
    attention_mask = real[:, None] if mask == "padding" else real[:, None] & (torch.rand(*real.shape, real.shape[1]) < 0.6)
    attention = FastAttention(16, 4)
    x = torch.randn(*real.shape, 16, requires_grad=True)
    groups = UnpaddedLayout(real, attention_mask)
    found = groups.unpack(attention(groups.pack(x), mask=groups))
    expected = attention(x, mask=attention_mask)
    assert torch.allclose(found[real], expected[real], atol=1e-6)
    slopes = [torch.autograd.grad((out[real] ** 2).sum(), x)[0] for out in (found, expected)]
    assert torch.allclose(*slopes, atol=1e-5)


def test_a_row_without_a_token_is_no_trouble():
    real = real_of([3, 0])
    groups = UnpaddedLayout(real, real[:, None])
    x = torch.randn(2, 3, 8)
    assert torch.isfinite(groups.unpack(FastAttention(8, 2)(groups.pack(x), mask=groups))).all()


def test_rows_run_without_padding_and_come_back_with_it():
    real = real_of(LENGTHS)
    values, seen = torch.arange(real.numel()).reshape(real.shape), []

    def run(values, mask):
        seen.append((mask, values.numel()))
        return values[..., None].float()

    assert torch.equal(run_unpadded(run, [values], real, real[:, None])[real][:, 0], values[real].float())
    ((mask, count),) = seen
    assert isinstance(mask, UnpaddedLayout) and count < real.numel()


def test_rows_that_are_full_stay_as_they_are():
    real = torch.ones(2, 3, dtype=torch.bool)
    mask = real[:, None] & torch.ones(3, 3, dtype=torch.bool).tril()
    assert run_unpadded(lambda values, given: (values, given), [real], real, mask) == (real, mask)
