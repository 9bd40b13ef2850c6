"""Blocks by hand, norm before and after."""

import pytest
import torch
import torch.nn.functional as F

from stairs.layers.block import Block
from stairs.layers.masks import causal


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_block_is_its_equation(norm_first):
    block = Block(8, 2, 16, norm_first=norm_first, activation="relu", has_cross_attention=True)
    x, memory, mask = torch.randn(2, 4, 8), torch.randn(2, 3, 8), causal(4)
    sublayers = [
        (lambda y: block.attention(y, mask=mask), block.attention_norm),
        (lambda y: block.cross_attention(y, memory), block.cross_attention_norm),
        (lambda y: block.feed_forward.outer(F.relu(block.feed_forward.inner(y))), block.feed_forward_norm),
    ]
    expected = x
    for sublayer, norm in sublayers:
        expected = expected + sublayer(norm(expected)) if norm_first else norm(expected + sublayer(expected))
    assert torch.allclose(block(x, mask, memory), expected, atol=1e-6)


def test_modules_are_named_by_their_roles():
    names = {name for name, _ in Block(8, 2, 16, has_cross_attention=True).named_modules()}
    assert {"attention.query", "attention.output", "cross_attention.key", "feed_forward.inner", "attention_norm"} <= names
