"""attend against PyTorch's fused kernel and against arithmetic; Attention's three paths against one another."""

import math

import pytest
import torch
import torch.nn.functional as F

from stairs.errors import BadInput
from stairs.fast.decode_state import BeamCache, KeyValueCache
from stairs.inspection.capture import capture
from stairs.layers.attention import Additive, Attention, Bilinear, Projected, attend, attend_by_matmul, dot, scaled_dot, uniform
from stairs.layers.masks import causal, padding, prefix, window

B, H, T, S, D = 2, 3, 5, 7, 8


def some(*shape):
    return torch.randn(*shape)


def masks():
    nothing = torch.rand(B, 1, T, S) > 0.4
    nothing[0, 0, 2] = False  # a query that may look at nothing
    return {"none": None, "causal": torch.ones(T, S, dtype=torch.bool).tril(), "nothing": nothing}


@pytest.mark.parametrize("name", ["none", "causal", "nothing"])
def test_attend_equals_the_fused_kernel_and_plain_products(name):
    mask = masks()[name]
    query, key, value = some(B, H, T, D), some(B, H, S, D), some(B, H, S, D)
    mixed, weights = attend(query, key, value, mask=mask)
    assert torch.allclose(mixed, F.scaled_dot_product_attention(query, key, value, attn_mask=mask), atol=1e-6)
    assert torch.allclose(mixed, attend_by_matmul(query, key, value, mask, 0.0), atol=1e-6)
    if mask is not None:
        assert (weights.masked_select(~mask) == 0).all()
    rows = weights.sum(-1)
    assert torch.allclose(rows, torch.ones_like(rows) if name != "nothing" else mask.any(-1).float().expand_as(rows), atol=1e-6)


def test_a_query_that_may_look_at_nothing_gets_zeros_everywhere():
    mask = masks()["nothing"]
    query, key, value = some(B, H, T, D), some(B, H, S, D), some(B, H, S, D)
    fused = F.scaled_dot_product_attention(query, key, value, mask)
    for mixed in (attend(query, key, value, mask=mask)[0], attend_by_matmul(query, key, value, mask, 0.0), fused):
        assert (mixed[0, :, 2] == 0).all() and torch.isfinite(mixed).all()


def test_attend_by_hand():
    query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 5.0], [0.0, 1.0]])
    value = torch.tensor([[10.0], [20.0]])
    first = math.exp(2) / (math.exp(2) + 1)
    mixed, weights = attend(query, key, value, score=dot)
    assert weights[0, 0].item() == pytest.approx(first)
    assert mixed.item() == pytest.approx(10 * first + 20 * (1 - first))


def test_uniform_scores_under_a_window_are_the_average_of_the_neighbours():
    value = some(T, D)
    neighbours = window(T, 1) & ~torch.eye(T, dtype=torch.bool)
    mixed, _ = attend(value, value, value, score=uniform, mask=neighbours)
    assert torch.allclose(mixed[2], (value[1] + value[3]) / 2, atol=1e-6)
    assert torch.allclose(mixed[0], value[1], atol=1e-6)


def test_scores_are_their_equations():
    query, key = some(B, T, 4), some(B, S, 6)
    additive, bilinear, projected = Additive(4, 6, 5), Bilinear(4, 6), Projected(4, 6, 5)
    q, k = query[1, 3], key[1, 2]
    by_hand = additive.value.weight[0] @ torch.tanh(additive.query.weight @ q + additive.key.weight @ k)
    assert additive(query, key)[1, 3, 2].item() == pytest.approx(by_hand.item(), abs=1e-6)
    assert bilinear(query, key)[1, 3, 2].item() == pytest.approx((bilinear.query.weight @ q @ k).item(), abs=1e-5)
    assert projected(query, key)[1, 3, 2].item() == pytest.approx(((projected.query.weight @ q) @ (projected.key.weight @ k)).item(), abs=1e-5)
    same = some(B, T, 4)
    assert torch.allclose(scaled_dot(same, same), dot(same, same) / 2)


@pytest.mark.parametrize("make", [lambda: Additive(4, 4, 6), lambda: Bilinear(4, 4), lambda: Projected(4, 4, 6), lambda: uniform])
def test_any_score_serves_in_an_attention(make):
    attention = Attention(8, 2, score=make())
    x = some(B, T, 8)
    out = attention(x, mask=causal(T))
    changed = x.clone()
    changed[:, -1] += 1
    assert out.shape == x.shape
    assert torch.equal(out[:, :-1], attention(changed, mask=causal(T))[:, :-1])


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_all_paths_of_attention_agree(kind, training):
    attention = Attention(16, 4).to(kind).train(training)
    x = some(B, T, 16).to(kind)
    mask = causal(T) & padding(torch.tensor([[True] * T, [True, True, False, False, False]]))
    with capture(attention) as seen:  # the readable path
        looked_at = attention(x, mask=mask)
    plain = attention(x, mask=mask)  # products, in bfloat16 with gradient
    with torch.no_grad():
        fused = attention(x, mask=mask)
    within = 1e-6 if kind == torch.float32 else 0.02
    assert torch.allclose(looked_at, plain, atol=within) and torch.allclose(looked_at, fused, atol=within)
    assert seen[""].shape == (B, 4, T, T)


def test_gradients_of_the_paths_agree():
    query, key, value = (some(B, H, T, D).requires_grad_() for _ in range(3))
    mask = causal(T)
    paths = [
        attend(query, key, value, mask=mask)[0],
        attend_by_matmul(query, key, value, mask, 0.0),
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
    ]
    weight = some(B, H, T, D)
    first, *others = (torch.autograd.grad((path * weight).sum(), (query, key, value)) for path in paths)
    for other in others:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(first, other, strict=True))


def test_dropout_drops_weights_only_in_training():
    attention = Attention(16, 4, dropout=0.5)
    x = some(B, T, 16)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_cross_attention_reads_a_text_of_another_width():
    attention = Attention(16, 4, key_value_width=10)
    memory = some(B, S, 10)
    real = torch.ones(B, S, dtype=torch.bool)
    real[0, 4:] = False
    x = some(B, T, 16)
    whole = attention(x, memory, padding(real))
    assert torch.allclose(whole[:1], attention(x[:1], memory[:1, :4]), atol=1e-6)


def test_a_cache_continues_where_reading_stopped():
    attention = Attention(16, 4)
    x = some(B, T, 16)
    whole = attention(x, mask=causal(T))
    cache = KeyValueCache(B, 4, T, 4, x)
    parts = [attention(x[:, :3], mask=causal(3), cache=cache), attention(x[:, 3:4], cache=cache), attention(x[:, 4:], cache=cache)]
    assert torch.allclose(whole, torch.cat(parts, 1), atol=1e-6)
    cache.reorder(torch.tensor([1, 1]))
    assert torch.equal(cache.keys[0], cache.keys[1])


def test_masks_by_hand():
    assert causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert prefix(3, 2).tolist() == [[True, True, False], [True, True, False], [True, True, True]]
    assert prefix(3, torch.tensor([0, 3])).tolist() == [causal(3).tolist(), [[True] * 3] * 3]
    assert window(4, 1).int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert padding(torch.tensor([[True, False]])).shape == (1, 1, 2)


@pytest.mark.parametrize(("width", "heads", "better"), [(128, 7, 8), (96, 5, 6), (64, 100, 64), (64, 0, 1)])
def test_heads_that_do_not_divide_the_width_are_refused_with_a_number_that_does(width, heads, better):
    with pytest.raises(BadInput, match=rf"{heads} heads .* width of {width}.*try {better} heads"):
        Attention(width, heads)


def test_ways_that_look_back_see_their_own_past_alone():
    torch.manual_seed(0)
    attention, sources, ways = Attention(16, 4).eval(), 3, 2
    past = torch.zeros(sources, 1, 0, dtype=torch.int64)
    seen = torch.randn(sources, 1, 1, 16)  # (B, K, T, D): what each way has read
    cache, plain = BeamCache(sources, 20, 16, 4, seen), BeamCache(sources, 20, 16, 4, seen)
    for step in range(4):
        now = torch.arange(past.shape[1]).expand(sources, -1)[..., None]
        cache.ancestry = plain.ancestry = past = torch.cat([past, now], 2)
        with torch.no_grad():
            told = attention(seen[:, :, -1], cache=cache)
            parts = attention.project(seen[:, :, -1], seen[:, :, -1])
            plain.keys[:, plain.length : plain.length + past.shape[1]], plain.values[:, plain.length : plain.length + past.shape[1]] = parts[1:]
            plain.length += past.shape[1]
            assert torch.allclose(attention.output(plain.attend_by_gather(parts[0])), told, atol=1e-5)
            for way in range(past.shape[1]):
                whole = attention(seen[:, way, -1:], seen[:, way])
                assert torch.allclose(told[:, way], whole[:, 0], atol=1e-5)
        if step == 0:
            cache.expand(ways), plain.expand(ways)
        chosen = torch.zeros(sources, ways, dtype=torch.int64) if step == 0 else torch.tensor([[1, 0], [1, 1], [0, 0]])
        rows = torch.arange(sources)[:, None]
        past, seen = past[rows, chosen], torch.cat([seen[rows, chosen], torch.randn(sources, ways, 1, 16)], 2)
    cache.reorder(torch.tensor([0, 2]))
    assert len(cache.keys) == 2 and torch.equal(cache.keys[1, : cache.length], plain.keys[2, : plain.length])


def test_a_memory_is_what_attention_would_read_each_time():
    torch.manual_seed(0)
    attention, read, query = Attention(16, 4).eval(), torch.randn(3, 6, 16), torch.randn(3, 2, 16)
    real = torch.arange(6) < torch.tensor([[6], [2], [4]])
    with torch.no_grad():
        memory, whole = attention.source_cache(read, real), attention(query, read, padding(real))
        assert torch.allclose(attention(query, memory), whole, atol=1e-5)
        assert torch.allclose(attention.output(memory.attend_by_gather(attention.query(query))), whole, atol=1e-5)
        assert torch.allclose(attention(query[1:2], memory.reorder(torch.tensor([1]))), whole[1:2], atol=1e-5)
