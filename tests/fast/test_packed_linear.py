"""Packed equals Linear, with and without oneDNN's layout."""

import pytest
import torch
from torch import nn

from stairs import machine, progress
from stairs.fast import packed_linear as module
from stairs.fast import threads
from stairs.fast.packed_linear import PackedLinear, for_inference


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("inside", "outside"), [(16, 40), (40, 16), (33, 67)])
@pytest.mark.parametrize("way", ["laid out", "plain", "panels", "panels by threads"])
def test_packed_equals_linear(bias, inside, outside, way, monkeypatch):
    monkeypatch.setattr(module, "has_packed_linear", lambda kind, can=module.has_packed_linear: way != "plain" and can(kind))
    monkeypatch.setattr(module, "uses_panels", lambda: way.startswith("panels"))
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1 if way.endswith("threads") else 1 << 22)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    linear = nn.Linear(inside, outside, bias=bias)
    ours = PackedLinear(linear.weight, linear.bias)
    for shape in ((1, inside), (1, 1, inside), (3, inside), (2, 5, inside), (inside,), (100, inside)):
        x = torch.randn(shape)
        assert torch.allclose(ours(x), linear(x), atol=1e-5)
    rounded = PackedLinear(linear.weight.bfloat16(), None if linear.bias is None else linear.bias.bfloat16())
    for rows in (1, 4):
        x = torch.randn(rows, inside)
        assert torch.allclose(rounded(x.bfloat16()).float(), linear(x), atol=0.05)


def test_a_build_without_the_operator_is_noticed(monkeypatch):
    module.has_packed_linear.cache_clear()
    monkeypatch.setattr(module.torch.ops.mkldnn, "_reorder_linear_weight", lambda *given: (_ for _ in ()).throw(RuntimeError("not here")))
    assert not module.has_packed_linear(torch.float32)
    module.has_packed_linear.cache_clear()


def test_in_float32_the_copy_shares_what_is_not_packed():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    twin = for_inference(model, "fp32")
    assert twin[0].weight.data_ptr() == model[0].weight.data_ptr() and isinstance(twin[1], PackedLinear) and isinstance(model[1], nn.Linear)


@pytest.mark.parametrize("has_bf16", [True, False])
def test_in_bf16_weights_are_rounded_and_where_it_is_emulated_computed_with_in_fp32(has_bf16, monkeypatch):
    monkeypatch.setattr(machine, "has_bf16", lambda: has_bf16)
    monkeypatch.setattr(progress, "listener", (messages := []).append)
    module.warn_of_emulated_bf16.cache_clear()
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    twins = [for_inference(model, "bf16") for _ in range(2)]
    module.warn_of_emulated_bf16.cache_clear()
    for twin in twins:
        assert twin[0].weight.dtype == twin(torch.arange(5)).dtype == (torch.bfloat16 if has_bf16 else torch.float32)
        assert torch.equal(twin[0].weight.float(), model[0].weight.bfloat16().float())
        assert torch.allclose(twin(torch.arange(5)).float(), model(torch.arange(5)), atol=0.05)
    assert model[0].weight.dtype == torch.float32 and len(messages) == (not has_bf16)
    assert not messages or "emulates bfloat16" in messages[0]
