"""The fast paths of attention equal the plain Attention: fused, by matrix products, over caches; and a hook of somebody else's switches none off."""

import pytest
import torch
import torch.nn.functional as F

from stairs.fast import block as module
from stairs.fast.block import FastAttention, FastBlock, UnpaddedLayout, attend_by_matmul
from stairs.fast.decode_state import BeamCache, CachedMask, KeyValueCache
from stairs.layers.attention import attend
from stairs.layers.block import Attention, Block
from stairs.layers.capture import capture
from stairs.layers.masks import causal, padding
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig
from stairs.text.batch import Batch

B, H, T, S, D = 2, 3, 5, 7, 8


def plain_copy(fast, *arguments, kind=Attention, **settings):
    plain = kind(*arguments, **settings)
    plain.load_state_dict(fast.state_dict())
    return plain.train(fast.training)


def masks():
    with_empty_row = torch.rand(B, 1, T, S) > 0.4
    with_empty_row[0, 0, 2] = False  # a query that may attend to nothing
    return {"none": None, "causal": torch.ones(T, S, dtype=torch.bool).tril(), "empty row": with_empty_row}


@pytest.mark.parametrize("name", ["none", "causal", "empty row"])
def test_attend_by_matmul_is_attend(name):
    mask = masks()[name]
    query, key, value = torch.randn(B, H, T, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
    assert torch.allclose(attend(query, key, value, mask=mask)[0], attend_by_matmul(query, key, value, mask, 0.0), atol=1e-6)


def test_gradients_of_the_paths_agree():
    query, key, value = (torch.randn(B, H, T, D).requires_grad_() for _ in range(3))
    mask = causal(T)
    paths = [
        attend(query, key, value, mask=mask)[0],
        attend_by_matmul(query, key, value, mask, 0.0),
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
    ]
    weight = torch.randn(B, H, T, D)
    first, *others = (torch.autograd.grad((path * weight).sum(), (query, key, value)) for path in paths)
    for other in others:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_all_paths_equal_the_plain_attention(kind, training):
    fast = FastAttention(16, 4).to(kind).train(training)
    x = torch.randn(B, T, 16).to(kind)
    mask = causal(T) & padding(torch.tensor([[True] * T, [True, True, False, False, False]]))
    expected = plain_copy(fast, 16, 4).to(kind)(x, mask=mask)
    with capture(fast) as seen:
        captured = fast(x, mask=mask)
    by_matmul = fast(x, mask=mask)  # in bfloat16 with gradient
    with torch.no_grad():
        fused = fast(x, mask=mask)
    within = 1e-6 if kind == torch.float32 else 0.02
    assert all(torch.allclose(expected, output, atol=within) for output in (captured, by_matmul, fused))
    assert seen[""].shape == (B, 4, T, T)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_fast_block_is_a_block(norm_first):
    settings = {"norm_first": norm_first, "has_cross_attention": True}
    fast = FastBlock(8, 2, 16, **settings).eval()
    plain = plain_copy(fast, 8, 2, 16, kind=Block, **settings)
    x, source, mask = torch.randn(2, 4, 8), torch.randn(2, 3, 8), causal(4)
    assert torch.allclose(fast(x, mask, source), plain(x, mask, source), atol=1e-6)
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    positions = torch.tensor([[0, 2], [1, 0], [2, 2]])[: len(x)]
    whole = plain(x, padding(real))
    assert torch.allclose(fast.forward_at(x, padding(real), positions), whole[torch.arange(len(x))[:, None], positions], atol=1e-6)


def test_the_hook_of_a_profiler_switches_no_fast_path_off(monkeypatch):
    model = BERT(BERTConfig(vocab_size=20, context=8, width=16, heads=2, layers=2, objective="none", dropout=0.0)).eval()
    batch = Batch(torch.randint(5, 20, (3, 6)), torch.arange(6) < torch.tensor([[6], [2], [4]]))
    masks, fused, kernel = [], [], F.scaled_dot_product_attention
    monkeypatch.setattr(module.F, "scaled_dot_product_attention", lambda *given, **named: fused.append(1) or kernel(*given, **named))
    for part in model.modules():
        part.register_forward_hook(lambda *given: None)
    model.blocks[0].register_forward_pre_hook(lambda block, given: masks.append(given[1]))
    with torch.no_grad():
        model.encode(batch)
        assert isinstance(masks[-1], UnpaddedLayout) and fused
        fused.clear()
        with capture(model):
            model.encode(batch)
        assert isinstance(masks[-1], torch.Tensor) and not fused, "who looks inside is shown rows and weights"
        model.encode(batch)
    assert isinstance(masks[-1], UnpaddedLayout) and fused


def test_a_cache_continues_where_reading_stopped():
    attention = FastAttention(16, 4)
    x = torch.randn(B, T, 16)
    cache = KeyValueCache(B, 4, T, 4, x)
    steps = [attention(x[:, :3], mask=CachedMask(cache, causal(3)))]
    steps += [attention(x[:, position : position + 1], mask=CachedMask(cache, None)) for position in (3, 4)]
    assert torch.allclose(attention(x, mask=causal(T)), torch.cat(steps, 1), atol=1e-6)
    cache.reorder(torch.tensor([1, 1]))
    assert torch.equal(cache.keys[0], cache.keys[1])


def test_hypotheses_attend_to_their_own_past_alone():
    torch.manual_seed(0)
    attention, sources, beam_size = FastAttention(16, 4).eval(), 3, 2
    ancestry = torch.zeros(sources, 1, 0, dtype=torch.int64)
    inputs = torch.randn(sources, 1, 1, 16)  # (B, K, T, D): of each hypothesis so far
    compiled, gathered = BeamCache(sources, 20, 16, 4, inputs), BeamCache(sources, 20, 16, 4, inputs)
    for step in range(4):
        own = torch.arange(ancestry.shape[1]).expand(sources, -1)[..., None]
        compiled.ancestry = gathered.ancestry = ancestry = torch.cat([ancestry, own], 2)
        with torch.no_grad():
            output = attention(inputs[:, :, -1], mask=compiled)
            query, keys, values = attention.project(*[inputs[:, :, -1]] * 3)
            stop = gathered.length + ancestry.shape[1]
            gathered.keys[:, gathered.length : stop], gathered.values[:, gathered.length : stop] = keys, values
            gathered.length = stop
            assert torch.allclose(attention.output(gathered.attend_by_torch(query)), output, atol=1e-5)
            for hypothesis in range(ancestry.shape[1]):
                alone = attention(inputs[:, hypothesis, -1:], inputs[:, hypothesis])
                assert torch.allclose(output[:, hypothesis], alone[:, 0], atol=1e-5)
        if step == 0:
            compiled.expand(beam_size), gathered.expand(beam_size)
        parents = torch.zeros(sources, beam_size, dtype=torch.int64) if step == 0 else torch.tensor([[1, 0], [1, 1], [0, 0]])
        rows = torch.arange(sources)[:, None]
        ancestry, inputs = ancestry[rows, parents], torch.cat([inputs[rows, parents], torch.randn(sources, beam_size, 1, 16)], 2)
    compiled.reorder(torch.tensor([0, 2]))
    assert len(compiled.keys) == 2 and torch.equal(compiled.keys[1, : compiled.length], gathered.keys[2, : gathered.length])


def test_a_source_cache_is_what_attention_would_compute_at_each_step():
    torch.manual_seed(0)
    attention, source, query = FastAttention(16, 4).eval(), torch.randn(3, 6, 16), torch.randn(3, 2, 16)
    real = torch.arange(6) < torch.tensor([[6], [2], [4]])
    with torch.no_grad():
        cache, expected = attention.source_cache(source, real), attention(query, source, padding(real))
        assert torch.allclose(attention(query, cache), expected, atol=1e-5)
        assert torch.allclose(attention.output(cache.attend_by_torch(attention.query(query))), expected, atol=1e-5)
        assert torch.allclose(attention(query[1:2], cache.reorder(torch.tensor([1]))), expected[1:2], atol=1e-5)
