"""Attention by blocks equals attention under the mask of the pattern, gradients included, and makes no (T, T) tensor."""

import sys
from pathlib import Path

import pytest
import torch

from stairs.fast.block import FastAttention
from stairs.layers.attention_positions import BucketPositions, RelativePositions, RotaryPositions
from stairs.layers.block import Attention
from stairs.layers.patterns import RowMask, SparsePattern, WindowPattern

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
WIDTH, HEADS = 16, 2
PATTERNS = {
    "window": WindowPattern(5, block=4),
    "window of blocks": WindowPattern(8, block=4),
    "narrow window": WindowPattern(1, block=8),
    "sparse": SparsePattern(4, 4, 1, 2, context=50),
    "sparse, two global blocks": SparsePattern(8, 4, 2, 1, context=20, seed=3),
    "sparse without extras": SparsePattern(4, 4, 0, 0, context=50),
}
POSITIONS = {
    "none": lambda: None,
    "rotary": lambda: RotaryPositions(64, WIDTH // HEADS),
    "relative": lambda: RelativePositions(3, WIDTH // HEADS),
    "buckets": lambda: BucketPositions(HEADS, is_causal=False),
}


@pytest.mark.parametrize("length", [17, 32, 50])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_blocks_equal_the_mask(pattern, positions, is_causal, length):
    fast = FastAttention(WIDTH, HEADS, pattern=PATTERNS[pattern], positions=POSITIONS[positions]())
    plain = Attention(WIDTH, HEADS, pattern=PATTERNS[pattern], positions=POSITIONS[positions]())
    plain.load_state_dict(fast.state_dict())
    x, ids = torch.randn(3, length, WIDTH), torch.arange(length)
    real = ids < torch.tensor([[length], [length - 7], [5]])
    outputs, gradients = [], []
    for attention in (fast, plain):
        given = x.clone().requires_grad_()
        output = attention(given, mask=RowMask(real, is_causal), position_ids=ids)
        (output[real] ** 2).sum().backward()
        outputs.append(output[real])
        gradients.append([given.grad, *(weight.grad for weight in attention.parameters())])
    assert torch.allclose(*outputs, atol=1e-6)
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(*gradients, strict=True))
    with torch.no_grad():
        assert torch.allclose(fast(x, mask=RowMask(real, is_causal), position_ids=ids)[real], outputs[1], atol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("pattern", [WindowPattern(32, block=32), SparsePattern(32, 32, 1, 2, context=4096)], ids=["window", "sparse"])
def test_twice_the_length_is_twice_the_memory(pattern, is_causal):
    from largest_tensor import LargestTensor

    sizes = []
    for length in (1024, 2048):
        attention = FastAttention(WIDTH, HEADS, pattern=pattern)
        x = torch.randn(1, length, WIDTH, requires_grad=True)
        with LargestTensor() as largest:
            attention(x, mask=RowMask(torch.ones(1, length, dtype=torch.bool), is_causal)).sum().backward()
        assert largest.numbers < length * length / 8 and not largest.squares(length)
        sizes.append(largest.numbers)
    assert sizes[1] <= 2 * sizes[0]


def test_a_mask_that_is_multiplied_out_is_seen():
    from largest_tensor import LargestTensor

    attention = Attention(WIDTH, HEADS, pattern=WindowPattern(32, block=32))
    with LargestTensor() as largest:
        attention(torch.randn(1, 1024, WIDTH), mask=RowMask(torch.ones(1, 1024, dtype=torch.bool), False))
    assert largest.squares(1024)
