"""Shaw's and Transformer-XL's positions against formulas with a (T, S, D) tensor, T5's buckets against their definition, three widths, shared
projections."""

import math

import pytest
import torch

from stairs.errors import BadInput
from stairs.layers.attention import dot, make_score
from stairs.layers.attention_positions import (
    BUCKETS,
    SEGMENT_STRIDE,
    BucketPositions,
    RelativePositions,
    TransformerXLPositions,
    distance_buckets,
    distances_between,
)
from stairs.layers.block import Attention, Block
from stairs.layers.masks import causal

B, T, WIDTH, HEADS = 2, 9, 8, 2
D = WIDTH // HEADS


def heads_of(attention, x):
    return [attention.split_heads(part) for part in attention.project(x, x, x)]


@pytest.mark.parametrize("score", ["scaled", "dot", "bilinear", "scaled-projected"])
@pytest.mark.parametrize("mask", [None, causal(T)], ids=["both sides", "causal"])
def test_relative_positions_are_shaw_s_formula(mask, score):
    relative = RelativePositions(3, D)
    attention = Attention(WIDTH, HEADS, positions=relative, score=make_score(score, D, D))
    x, ids = torch.randn(B, T, WIDTH), torch.arange(T)
    q, k, v = heads_of(attention, x)
    rows = (ids[None, :] - ids[:, None]).clamp(-3, 3) + 3
    a, b = relative.key_vectors(rows), relative.value_vectors(rows)  # (T, T, D)
    expected = torch.zeros(B, HEADS, T, D)
    for i in range(T):
        scores = attention.score(q[:, :, i : i + 1], k + a[i])[:, :, 0]  # each key with the vector of its distance
        scores = scores if mask is None else scores.masked_fill(~mask[i], -math.inf)
        expected[:, :, i] = (scores.softmax(-1)[..., None] * (v + b[i])).sum(-2)
    assert torch.allclose(attention(x, mask=mask, position_ids=ids), attention.output(expected.transpose(1, 2).flatten(2)), atol=1e-5)


@pytest.mark.parametrize("has_segments", [False, True])
def test_transformer_xl_s_positions_are_its_formula(has_segments):
    positions = TransformerXLPositions(WIDTH, HEADS, is_causal=False, has_segments=has_segments)
    attention = Attention(WIDTH, HEADS, positions=positions)
    x, ids, segments = torch.randn(B, T, WIDTH), torch.arange(T), (torch.arange(T) > 4).long()
    u = attention.query.bias.unflatten(0, (HEADS, D))
    v = u + positions.position_bias.weight
    content = attention.split_heads(torch.nn.functional.linear(x, attention.query.weight))  # q without a bias
    _, k, values = heads_of(attention, x)
    distance = (ids[:, None] - ids[None, :]).float()
    waves = distance[..., None] / 10_000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
    keys = positions.projection(torch.cat([waves.sin(), waves.cos()], -1)).unflatten(-1, (HEADS, D))  # (T, T, H, D)
    scores = (content + u[:, None]) @ k.transpose(-1, -2) + torch.einsum("bhid,ijhd->bhij", content + v[:, None], keys)
    if has_segments:
        w = u + positions.segment_bias.weight
        same, other = positions.segment_vectors.weight.unflatten(0, (2, HEADS))
        chosen = torch.where((segments[:, None] == segments)[..., None, None], same, other)  # (T, T, H, D)
        scores = scores + torch.einsum("bhid,ijhd->bhij", content + w[:, None], chosen)
    expected = attention.output(((scores / math.sqrt(D)).softmax(-1) @ values).transpose(1, 2).flatten(2))
    assert torch.allclose(attention(x, position_ids=ids + (SEGMENT_STRIDE * segments if has_segments else 0)), expected, atol=1e-5)


@pytest.mark.parametrize("positions", [RelativePositions(3, D), TransformerXLPositions(WIDTH, HEADS, is_causal=False, has_segments=True)])
def test_only_distances_count(positions):
    attention = Attention(WIDTH, HEADS, positions=positions)
    x = torch.randn(B, T, WIDTH)
    near, far = (attention(x, position_ids=torch.arange(T) + start) for start in (0, 1000))
    assert torch.equal(near, far)
    assert not torch.allclose(near, attention(x, position_ids=torch.arange(T) * 2), atol=1e-3)


def test_positions_may_differ_by_row():
    for positions in (RelativePositions(3, D), BucketPositions(HEADS, False), TransformerXLPositions(WIDTH, HEADS, False)):
        attention = Attention(WIDTH, HEADS, positions=positions)
        x, rows = torch.randn(B, T, WIDTH), torch.stack([torch.arange(T), torch.arange(T) * 3])
        both = attention(x, position_ids=rows)
        for number in range(B):
            assert torch.allclose(both[number], attention(x[number : number + 1], position_ids=rows[number])[0], atol=1e-6)


def t5_bucket(distance, is_causal):
    """Raffel et al. 2020, for one number."""
    count, offset = BUCKETS, 0
    if not is_causal:
        count //= 2
        offset = count if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = count // 2
    if distance < exact:
        return offset + distance
    return offset + min(exact + int(math.log(distance / exact) / math.log(128 / exact) * (count - exact)), count - 1)


@pytest.mark.parametrize("is_causal", [True, False])
def test_buckets_are_t5_s(is_causal):
    distances = torch.arange(-300, 301)
    assert distance_buckets(distances, is_causal).tolist() == [t5_bucket(distance, is_causal) for distance in distances.tolist()]


@pytest.mark.reference
@pytest.mark.parametrize("is_causal", [True, False])
def test_buckets_are_those_of_transformers(is_causal):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    distances = distances_between(torch.arange(400), torch.arange(400))
    theirs = t5.T5Attention._relative_position_bucket(distances, bidirectional=not is_causal, num_buckets=32, max_distance=128)
    assert torch.equal(distance_buckets(distances, is_causal), theirs)


def test_a_bucket_adds_its_number_to_the_score():
    positions = BucketPositions(HEADS, is_causal=False)
    attention = Attention(WIDTH, HEADS, positions=positions, score=dot)
    x = torch.randn(1, T, WIDTH)
    q, k, v = heads_of(attention, x)
    scores = q @ k.transpose(-1, -2)
    for head in range(HEADS):
        for i in range(T):
            for j in range(T):
                scores[0, head, i, j] += positions.table.weight[t5_bucket(j - i, False), head]
    expected = attention.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    assert torch.allclose(attention(x, position_ids=torch.arange(T)), expected, atol=1e-5)


def test_query_key_and_value_of_three_widths():
    """The notes' toys: the query is a child, keys are children's features, values those of their parents."""
    attention = Attention(WIDTH, HEADS, key_width=5, value_width=3)
    child, children, parents = torch.randn(1, 2, WIDTH), torch.randn(1, 6, 5), torch.randn(1, 6, 3)
    output = attention(child, children, value=parents)
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, kdim=5, vdim=3, batch_first=True)
    with torch.no_grad():
        for name, role in (("q_proj_weight", "query"), ("k_proj_weight", "key"), ("v_proj_weight", "value")):
            getattr(theirs, name).copy_(getattr(attention, role).weight)
        theirs.in_proj_bias.copy_(torch.cat([attention.query.bias, attention.key.bias, attention.value.bias]))
        theirs.out_proj.weight.copy_(attention.output.weight)
        theirs.out_proj.bias.copy_(attention.output.bias)
    assert torch.allclose(output, theirs(child, children, parents)[0], atol=1e-6)


@pytest.mark.parametrize(("share", "owners"), [("none", "qkv"), ("qk", "qqv"), ("kv", "qkk"), ("all", "qqq")])
def test_shared_projections_are_one(share, owners):
    attention = Attention(WIDTH, HEADS, share_projections=share)
    names = {"q": "query", "k": "key", "v": "value"}
    assert {name for name, _ in attention.named_children()} == {names[owner] for owner in owners} | {"output", "weights"}
    x = torch.randn(B, T, WIDTH)
    q, k, v = (attention.split_heads(getattr(attention, names[owner])(x)) for owner in owners)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(attention(x), attention.output(expected.transpose(1, 2).flatten(2)), atol=1e-6)


def test_widths_that_differ_share_no_projection():
    with pytest.raises(BadInput, match="a key of width 5 cannot share the projection of a query of width 8"):
        Attention(WIDTH, HEADS, key_width=5, share_projections="qk")


def test_scores_of_shared_queries_and_keys_are_symmetric():
    attention = Attention(WIDTH, 1, share_projections="qk")
    q, k, _ = heads_of(attention, torch.randn(1, T, WIDTH))
    scores = attention.score(q, k)
    assert torch.allclose(scores, scores.transpose(-1, -2))


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_block_without_residual_connections_is_its_sublayers(norm_first):
    block = Block(WIDTH, HEADS, 16, norm_first=norm_first, has_residual=False, activation="none")
    x = torch.randn(B, T, WIDTH)
    if norm_first:
        expected = block.feed_forward(block.feed_forward_norm(block.attention(block.attention_norm(x))))
    else:
        expected = block.feed_forward_norm(block.feed_forward(block.attention_norm(block.attention(x))))
    assert torch.allclose(block(x), expected, atol=1e-6)
    twice = block.feed_forward(2 * x) - block.feed_forward(x) - (block.feed_forward(x) - block.feed_forward(0 * x))
    assert torch.allclose(twice, torch.zeros_like(twice), atol=1e-5)  # without activation it is linear


def test_attention_without_feed_forward_only_averages():
    """Row after row of the output is a mean of the values: stacking such layers only averages again."""
    attention = Attention(WIDTH, 1)
    x = torch.randn(1, T, WIDTH)
    _, _, v = heads_of(attention, x)
    torch.nn.init.eye_(attention.output.weight)
    torch.nn.init.zeros_(attention.output.bias)
    output = attention(x)
    assert (output.amax(1) <= v[:, 0].amax(1) + 1e-6).all() and (output.amin(1) >= v[:, 0].amin(1) - 1e-6).all()
