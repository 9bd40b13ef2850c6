"""Patterns by hand; a mask for each, and Linformer's mixtures."""

import pytest
import torch

from stairs.errors import BadInput
from stairs.layers.block import Attention
from stairs.layers.masks import causal, window
from stairs.layers.patterns import LinformerProjection, RowMask, SparsePattern, WindowPattern


def rows(length, is_causal=False):
    return RowMask(torch.ones(1, length, dtype=torch.bool), is_causal)


def test_a_window_is_a_band():
    assert torch.equal(WindowPattern(2).mask(rows(6))[0], window(6, 2))
    assert torch.equal(WindowPattern(2).mask(rows(6, is_causal=True))[0], window(6, 2) & causal(6))


def test_a_sparse_pattern_by_hand():
    pattern = SparsePattern(radius=2, block=2, global_blocks=1, random_blocks=0, context=12)
    mask = pattern.mask(rows(12))[0]
    for query in range(12):
        for key in range(12):
            is_near = abs(query // 2 - key // 2) <= 1
            assert bool(mask[query, key]) == (is_near or key < 2 or query < 2)


def test_random_blocks_are_added_and_differ_by_seed():
    plain, drawn, other = (SparsePattern(2, 2, 1, count, context=40, seed=seed).mask(rows(40))[0] for count, seed in ((0, 0), (2, 0), (2, 1)))
    assert bool((drawn | ~plain).all()) and not torch.equal(plain, drawn) and not torch.equal(drawn, other)
    assert drawn.view(20, 2, 20, 2).float().mean((1, 3)).unique().tolist() == [0.0, 1.0]  # whole blocks


@pytest.mark.parametrize("is_causal", [False, True])
def test_what_comes_later_and_padding_change_no_pattern(is_causal):
    pattern = SparsePattern(2, 2, 1, 2, context=20)
    long = pattern.mask(rows(20, is_causal))[0]
    assert torch.equal(pattern.mask(rows(13, is_causal))[0], long[:13, :13])
    real = torch.arange(20) < 13
    assert torch.equal(pattern.mask(RowMask(real[None], is_causal))[0][:13, :13], long[:13, :13])
    if is_causal:
        assert not (long & ~causal(20)).any()
        assert torch.equal(pattern.allows(torch.tensor([17]), torch.arange(18), is_causal=True)[0], long[17, :18])


def test_a_mask_of_the_batch_s_own_is_respected():
    allowed = torch.rand(1, 6, 6) > 0.5
    mask = WindowPattern(2).mask(RowMask(torch.ones(1, 6, dtype=torch.bool), False, allowed))
    assert torch.equal(mask, window(6, 2) & allowed)


@pytest.mark.parametrize("shared", [True, False])
def test_linformer_is_its_equation(shared):
    projection, length, rank = LinformerProjection(10, 3, shared), 7, 3
    attention = Attention(8, 2, pattern=projection)
    x = torch.randn(2, length, 8)
    real = torch.arange(length) < torch.tensor([[length], [4]])
    output = attention(x, mask=RowMask(real, False))
    e = projection.keys.weight[:, :4]
    f = e if shared else projection.values.weight[:, :4]
    q, k, v = (part[1, :4].unflatten(-1, (2, 4)) for part in (attention.query(x), attention.key(x), attention.value(x)))
    heads = []
    for head in range(2):
        weights = torch.softmax(q[:, head] @ (e @ k[:, head]).T / 2, -1)
        assert weights.shape == (4, rank)
        heads.append(weights @ (f @ v[:, head]))
    assert torch.allclose(output[1, :4], attention.output(torch.cat(heads, -1)), atol=1e-6)


def test_a_text_beyond_the_context_is_refused_by_linformer():
    attention = Attention(8, 2, pattern=LinformerProjection(4, 2, True))
    with pytest.raises(BadInput, match="linformer mixes at most 4 tokens, got 5"):
        attention(torch.randn(1, 5, 8), mask=rows(5))
