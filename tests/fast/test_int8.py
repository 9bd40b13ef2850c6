"""Products in 8 bits: near those in float32, whatever the tokens are scaled by, and a block of them near the block."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, gelu

from stairs import machine
from stairs.errors import Unsupported
from stairs.fast import int8 as module
from stairs.fast.block import FastBlock
from stairs.fast.int8 import Int8Block, Int8Linear, can_be_int8
from stairs.fast.packed_linear import for_inference
from stairs.kernels import int8_rows as kernel
from stairs.layers.block import Block


def test_each_token_has_its_own_scale():
    linear = nn.Linear(64, 48)
    x = torch.randn(5, 64) * torch.tensor([1e-3, 1.0, 50.0, 0.0, 1e3])[:, None]
    ours, expected = Int8Linear(linear.weight, None)(x), x @ linear.weight.T
    assert (cosine_similarity(ours, expected)[[0, 1, 2, 4]] > 0.999).all() and (ours[3] == 0).all()
    assert torch.allclose(Int8Linear(linear.weight, linear.bias)(x[:3]), linear(x[:3]), rtol=0.05, atol=0.6)
    assert Int8Linear(linear.weight, linear.bias)(torch.randn(2, 3, 64)).shape == (2, 3, 48)


def test_the_kernels_do_what_they_say():
    x = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
    out, scales = np.empty(x.shape, np.uint8), np.empty(3, np.float32)
    kernel.quantize(x, out, scales)
    assert np.allclose(scales, np.abs(x).max(1) / 127)
    assert np.abs((out.astype(np.float32) - 128) * scales[:, None] - x).max() <= scales.max() / 2 + 1e-6
    bias, shift, weight = (np.random.default_rng(n).normal(size=50).astype(np.float32) for n in range(3))
    ones = np.full(3, 0.5, np.float32)
    y = x.copy()
    kernel.scale_and_add(y, ones, bias)
    assert np.allclose(y, x / 2 + bias, atol=1e-6)
    y, again = x.copy(), np.empty(3, np.float32)
    kernel.gelu_and_quantize(y, ones, bias, out, again)
    expected = gelu(torch.from_numpy(x / 2 + bias)).numpy()
    assert np.allclose(y, expected, atol=1e-6)
    assert np.abs((out.astype(np.float32) - kernel.LOW) * again[:, None] - expected).max() <= again.max() / 2 + 1e-6
    y, before = x.copy(), np.roll(x, 1, 0).copy()
    kernel.add_and_norm(y, ones, bias, before, weight, shift, np.float32(1e-12))
    norm = nn.functional.layer_norm(torch.from_numpy(x / 2 + bias + before), (50,), torch.from_numpy(weight), torch.from_numpy(shift), 1e-12)
    assert np.allclose(y, norm.numpy(), atol=1e-5)


def test_gelu_far_from_zero():
    x = np.linspace(-30, 30, 6001, dtype=np.float32)[None]
    y = x.copy()
    kernel.gelu_and_quantize(y, np.ones(1, np.float32), np.zeros(6001, np.float32), np.empty(x.shape, np.uint8), np.empty(1, np.float32))
    assert np.allclose(y, gelu(torch.from_numpy(x)).numpy(), atol=2e-6)


def test_a_block_of_them_is_near_the_block():
    block = FastBlock(64, 4, 128, norm_first=False, epsilon=1e-12).eval()
    x, real = torch.randn(3, 9, 64), torch.arange(9) < torch.tensor([[9], [5], [7]])
    mask = real[:, None, :]
    ours, expected = Int8Block(block)(x, mask), block(x, mask)
    assert (cosine_similarity(ours[real], expected[real]) > 0.999).all()
    others = (FastBlock(64, 4, 128), FastBlock(64, 4, 128, norm_first=False, activation="relu"), FastBlock(64, 4, 128, norm_first=False,
        has_cross_attention=True))
    assert can_be_int8(block) and not any(map(can_be_int8, others))


def test_other_models_have_their_layers_in_8_bits():
    block = nn.Sequential(Block(64, 4, 128)).eval()
    x = torch.randn(2, 9, 64)
    twin = for_inference(block, "int8")
    assert isinstance(twin[0].feed_forward.inner, Int8Linear) and isinstance(block[0].feed_forward.inner, nn.Linear)
    assert (cosine_similarity(twin(x), block(x), dim=-1) > 0.999).all()


@pytest.mark.parametrize("width", [5, 384])
def test_one_row_is_what_it_is_among_others(width):
    layer, x = Int8Linear(torch.randn(70, width), torch.randn(70)), torch.randn(6, width) * 3
    together = layer(x)
    assert all(torch.equal(layer(row[None])[0], other) for row, other in zip(x, together, strict=True))


@pytest.mark.parametrize(("has_bf16", "advice"), [(True, "bf16 or fp32"), (False, "fp32")])
def test_a_machine_without_them_says_so(has_bf16, advice, monkeypatch):
    monkeypatch.setattr(module, "has_exact_int8", lambda: False)
    monkeypatch.setattr(machine, "has_bf16", lambda: has_bf16)
    with pytest.raises(Unsupported, match=f"--precision {advice}$"):
        Int8Linear(torch.zeros(4, 4))
