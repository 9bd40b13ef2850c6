"""attend against PyTorch's fused kernel and against arithmetic; Attention, its scores and masks."""

import math
from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from stairs.errors import BadInput
from stairs.layers.attention import Additive, Bilinear, Projected, attend, dot, make_score, project_keys, scaled_dot, uniform
from stairs.layers.block import Attention
from stairs.layers.masks import causal, padding, prefix, window
from stairs.layers.score_names import ScoreName

B, H, T, S, D = 2, 3, 5, 7, 8


def masks():
    with_empty_row = torch.rand(B, 1, T, S) > 0.4
    with_empty_row[0, 0, 2] = False  # a query that may attend to nothing
    return {"none": None, "causal": torch.ones(T, S, dtype=torch.bool).tril(), "empty row": with_empty_row}


@pytest.mark.parametrize("name", ["none", "causal", "empty row"])
def test_attend_equals_the_fused_kernel(name):
    mask = masks()[name]
    query, key, value = torch.randn(B, H, T, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
    mixed, weights = attend(query, key, value, mask=mask)
    assert torch.allclose(mixed, F.scaled_dot_product_attention(query, key, value, attn_mask=mask), atol=1e-6)
    if mask is not None:
        assert (weights.masked_select(~mask) == 0).all()
    rows = weights.sum(-1)
    assert torch.allclose(rows, torch.ones_like(rows) if name != "empty row" else mask.any(-1).float().expand_as(rows), atol=1e-6)


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    mask = masks()["empty row"]
    query, key, value = torch.randn(B, H, T, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
    fused = F.scaled_dot_product_attention(query, key, value, mask)
    for mixed in (attend(query, key, value, mask=mask)[0], fused):
        assert (mixed[0, :, 2] == 0).all() and torch.isfinite(mixed).all()


def test_attend_by_hand():
    query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 5.0], [0.0, 1.0]])
    value = torch.tensor([[10.0], [20.0]])
    first = math.exp(2) / (math.exp(2) + 1)
    mixed, weights = attend(query, key, value, score=dot)
    assert weights[0, 0].item() == pytest.approx(first)
    assert mixed.item() == pytest.approx(10 * first + 20 * (1 - first))


def test_uniform_scores_under_a_window_are_the_average_of_the_neighbours():
    value = torch.randn(T, D)
    neighbours = window(T, 1) & ~torch.eye(T, dtype=torch.bool)
    mixed, _ = attend(value, value, value, score=uniform, mask=neighbours)
    assert torch.allclose(mixed[2], (value[1] + value[3]) / 2, atol=1e-6)
    assert torch.allclose(mixed[0], value[1], atol=1e-6)


def test_scores_are_their_equations():
    query, key = torch.randn(B, T, 4), torch.randn(B, S, 6)
    additive, bilinear, projected = Additive(4, 6, 5), Bilinear(4, 6), Projected(4, 6, 5)
    q, k = query[1, 3], key[1, 2]
    by_hand = additive.value.weight[0] @ torch.tanh(additive.query.weight @ q + additive.key.weight @ k)
    assert additive(query, key)[1, 3, 2].item() == pytest.approx(by_hand.item(), abs=1e-6)
    assert bilinear(query, key)[1, 3, 2].item() == pytest.approx((bilinear.query.weight @ q @ k).item(), abs=1e-5)
    assert projected(query, key)[1, 3, 2].item() == pytest.approx(((projected.query.weight @ q) @ (projected.key.weight @ k)).item(), abs=1e-5)
    same = torch.randn(B, T, 4)
    assert torch.allclose(scaled_dot(same, same), dot(same, same) / 2)


def test_scaled_scores_are_divided_by_the_root_of_the_width_that_is_multiplied():
    query, key = torch.randn(B, T, 4, dtype=torch.float64), torch.randn(B, S, 6, dtype=torch.float64)
    bilinear, projected = (make_score(name, 4, 6).double() for name in ("scaled-bilinear", "scaled-projected"))
    by_hand = torch.einsum("btq,kq,bsk->bts", query, bilinear.query.weight, key) / math.sqrt(6)
    assert torch.allclose(bilinear(query, key), by_hand, atol=1e-12)
    by_hand = torch.einsum("btq,wq,wk,bsk->bts", query, projected.query.weight, projected.key.weight, key) / math.sqrt(4)
    assert torch.allclose(projected(query, key), by_hand, atol=1e-12)


def test_scores_are_made_by_name():
    assert make_score("dot", 4, 4) is dot and make_score("scaled", 4, 4) is scaled_dot
    query, key = torch.randn(B, T, 4), torch.randn(B, S, 6)
    scores = {name: make_score(name, 4, 6) for name in get_args(ScoreName) if name not in ("dot", "scaled")}
    kinds = {"additive": Additive, "bilinear": Bilinear, "scaled-bilinear": Bilinear, "projected": Projected, "scaled-projected": Projected}
    assert {name: type(score) for name, score in scores.items()} == kinds
    for name in ("bilinear", "projected"):
        scores[f"scaled-{name}"].load_state_dict(scores[name].state_dict())
        ratio = scores[name](query, key) / scores[f"scaled-{name}"](query, key)
        assert torch.allclose(ratio, torch.full_like(ratio, math.sqrt({"bilinear": 6, "projected": 4}[name])), rtol=1e-4)
    for score in scores.values():  # the part that depends on the keys alone is computed once
        compare = getattr(score, "compare", score)
        assert torch.equal(compare(query, project_keys(score, key)), score(query, key))


@pytest.mark.parametrize("name", ["dot", "scaled"])
def test_a_score_without_weights_needs_equal_widths(name):
    with pytest.raises(BadInput, match=rf"^attention {name} .* width 4 .* width 6; .*additive"):
        make_score(name, 4, 6)


@pytest.mark.parametrize("make", [lambda: Additive(4, 4, 6), lambda: Bilinear(4, 4), lambda: Projected(4, 4, 6), lambda: uniform])
def test_any_score_serves_in_an_attention(make):
    attention = Attention(8, 2, score=make())
    x = torch.randn(B, T, 8)
    out = attention(x, mask=causal(T))
    changed = x.clone()
    changed[:, -1] += 1
    assert out.shape == x.shape
    assert torch.equal(out[:, :-1], attention(changed, mask=causal(T))[:, :-1])


def test_dropout_drops_weights_only_in_training():
    attention = Attention(16, 4, dropout=0.5)
    x = torch.randn(B, T, 16)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_cross_attention_reads_a_text_of_another_width():
    attention = Attention(16, 4, key_width=10)
    source = torch.randn(B, S, 10)
    real = torch.ones(B, S, dtype=torch.bool)
    real[0, 4:] = False
    x = torch.randn(B, T, 16)
    output = attention(x, source, padding(real))
    assert torch.allclose(output[:1], attention(x[:1], source[:1, :4]), atol=1e-6)


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
