"""Masks as PyTorch has them give what PyTorch's attention gives."""

import itertools

import pytest
import torch

from stairs.errors import BadInput
from stairs.layers.block import Attention
from stairs.layers.torch_attention import MultiheadAttention, mask_from_torch

N, L, S, E, HEADS = 64, 12, 10, 300, 5  # the notes' example: 12 queries and 10 keys of width 300 in a batch of 64


def random_masks(kind, rows, shape):
    """Nothing, or a mask in which every query keeps its first key."""
    if kind is None:
        return None
    hidden = torch.rand(rows, *shape) > 0.6
    hidden[..., 0] = False
    if kind == "float":
        return torch.randn(hidden.shape).masked_fill(hidden, -torch.inf)
    return hidden.to(torch.uint8) if kind == "byte" else hidden


PADDING = [None, "bool", "byte", "float"]
ATTENTION = [None, ("bool", 2), ("float", 2), ("bool", 3), ("float", 3)]


@pytest.mark.parametrize(("padding", "attention"), list(itertools.product(PADDING, ATTENTION)))
@pytest.mark.parametrize("batch_first", [False, True])
def test_equals_the_attention_of_pytorch(batch_first, padding, attention):
    theirs = torch.nn.MultiheadAttention(E, HEADS, batch_first=batch_first).eval()
    torch.nn.init.normal_(theirs.in_proj_bias)
    ours = MultiheadAttention.from_torch(theirs)
    query, key, value = torch.randn(N, L, E), torch.randn(N, S, E), torch.randn(N, S, E)
    inputs = [part if batch_first else part.transpose(0, 1) for part in (query, key, value)]
    masks = {"key_padding_mask": random_masks(padding, N, (S,))}
    if attention is not None:
        kind, axes = attention
        masks["attn_mask"] = random_masks(kind, N * HEADS, (L, S)) if axes == 3 else random_masks(kind, L, (S,))
    given = {name: mask.bool() if mask is not None and mask.dtype == torch.uint8 else mask for name, mask in masks.items()}
    with torch.no_grad():
        expected, expected_weights = theirs(*inputs, **as_one_kind(given))
        output, weights = ours(*inputs, **masks)
    assert torch.allclose(output, expected, atol=1e-5)
    assert torch.allclose(weights, expected_weights, atol=1e-6)


def as_one_kind(masks):
    """PyTorch wants both masks to be bool or both of floats."""
    kinds = {mask.dtype for mask in masks.values() if mask is not None}
    if len(kinds) < 2:
        return masks
    return {name: torch.zeros(mask.shape).masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else mask for name, mask in masks.items()}


def test_a_mask_for_each_head():
    attention = Attention(8, 2)
    x = torch.randn(3, 5, 8)
    mask = torch.rand(3, 2, 5, 5) > 0.4
    mask[..., 0] = True
    theirs = torch.nn.functional.scaled_dot_product_attention(*(attention.split_heads(part) for part in attention.project(x, x, x)), mask)
    assert torch.allclose(attention(x, mask=mask), attention.output(theirs.transpose(1, 2).flatten(2)), atol=1e-6)


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    ours = MultiheadAttention.from_torch(theirs)
    x, hidden = torch.randn(1, 4, 8), torch.zeros(4, 4, dtype=torch.bool)
    hidden[2] = True
    for mask in (hidden, torch.zeros(4, 4).masked_fill(hidden, -torch.inf)):
        output, weights = ours(x, x, x, attn_mask=mask)
        assert torch.isfinite(output).all() and (weights[0, 2] == 0).all()


@pytest.mark.parametrize(
    ("masks", "sentence"),
    [
        ({"attn_mask": torch.zeros(7, 4, 4)}, r"an attn_mask of shape \(7, 4, 4\) does not fit 2 heads; give \(L, S\) or \(N \* 2, L, S\)"),
        ({"attn_mask": torch.zeros(4)}, "does not fit 2 heads"),
        ({"key_padding_mask": torch.zeros(1, 4, 4)}, r"a key_padding_mask of shape \(1, 4, 4\) does not fit"),
        ({"key_padding_mask": torch.zeros(1, 4), "attn_mask": torch.zeros(5, 5)}, r"shapes \(5, 5\) and \(1, 4\) do not fit each other"),
    ],
)
def test_a_mask_of_the_wrong_shape_is_refused_in_a_sentence(masks, sentence):
    with pytest.raises(BadInput, match=sentence):
        mask_from_torch(**masks, heads=2)


@pytest.mark.parametrize("shape", [(5, 5), (2, 4, 4), (3, 3, 4, 4)])
def test_a_mask_that_does_not_fit_the_rows_is_refused_in_a_sentence(shape):
    with pytest.raises(BadInput, match=r"a mask of shape .* does not fit 3 rows of 4 queries and 4 keys in 2 heads"):
        Attention(8, 2)(torch.randn(3, 4, 8), mask=torch.ones(shape, dtype=torch.bool))
