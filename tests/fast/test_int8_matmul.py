"""Products of bytes are those of exact integers, at the largest values too, on every kind of machine."""

import pytest
import torch

from stairs import machine
from stairs.fast import int8_matmul as module
from stairs.fast import threads
from stairs.fast.int8_matmul import MIDDLE, OneDNNMatmul, PanelMatmul, has_exact_int8, int8_matmul, round_weight
from stairs.kernels import int8_rows as kernel
from stairs.kernels.instruction_set import has_avx2


@pytest.fixture(params=["8 bits", "pairs"])
def matmul(request, monkeypatch):
    """Either product, whatever the machine would choose."""
    if request.param == "8 bits" and not machine.has_int8():
        pytest.skip("this machine adds pairs in 16 bits")
    if request.param == "pairs" and not has_avx2():
        pytest.skip("this machine has no AVX2")
    monkeypatch.setattr(machine, "has_int8", lambda: request.param == "8 bits")
    return OneDNNMatmul if request.param == "8 bits" else PanelMatmul


def weights(outputs, width):
    """Rows of the largest values of one sign, of turning signs, of uneven pairs, and others."""
    columns = torch.arange(width)
    turning, in_twos, uneven = 1 - 2 * (columns % 2), 1 - 2 * (columns // 2 % 2), torch.where(columns % 2 == 0, 1.0, 0.01)
    return torch.stack([torch.ones(width), -torch.ones(width), turning, in_twos, uneven, -uneven, *torch.randn(outputs - 6, width)])


@pytest.mark.parametrize("rows", [1, 2, 7, 67])
@pytest.mark.parametrize(("outputs", "width"), [(46, 3), (48, 32), (50, 385), (7, 1536)])
@pytest.mark.parametrize("middle", [MIDDLE, int(kernel.LOW), 0])
def test_the_largest_values_are_multiplied_as_exact_integers(matmul, rows, outputs, width, middle):
    weight, _ = round_weight(weights(outputs, width))
    product = matmul(weight, torch.ones(outputs))  # so that integers come out
    all_of_them, turning = torch.full((rows, width), 255, dtype=torch.uint8), torch.zeros(rows, width, dtype=torch.uint8)
    turning[:, ::2] = 255
    for inputs in (all_of_them, 0 * all_of_them, turning, 255 - turning, torch.randint(0, 256, (rows, width), dtype=torch.uint8)):
        assert torch.equal(product(inputs, middle), ((inputs.long() - middle) @ weight.long().T).float())


@pytest.mark.parametrize("count", [1, 3])
def test_threads_change_nothing(matmul, count, monkeypatch):
    weight, scales = round_weight(torch.randn(90, 64))
    inputs = torch.randint(0, 256, (9, 64), dtype=torch.uint8)
    expected = matmul(weight, scales)(inputs)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: count)
    assert torch.equal(matmul(weight, scales)(inputs), expected)


def test_pairs_that_fit_into_16_bits_keep_more_than_7_bits(monkeypatch):
    monkeypatch.setattr(module, "has_saturating_pairs", lambda: True)
    weight = torch.randn(200, 383)
    found, scales = round_weight(weight)
    pairs = torch.nn.functional.pad(found.long(), (0, 1)).unflatten(1, (-1, 2))
    assert (255 * pairs.clamp(min=0).sum(2)).max() <= 32767 and (255 * pairs.clamp(max=0).sum(2)).min() >= -32768
    assert (scales < 0.8 * weight.abs().amax(1) / 64).float().mean() > 0.8


def test_this_machine_multiplies_exactly():
    assert has_exact_int8() and isinstance(int8_matmul(torch.ones(3, 4)), PanelMatmul if module.has_saturating_pairs() else OneDNNMatmul)


@pytest.mark.parametrize("fits", [True, False])
def test_a_product_that_saturates_is_noticed(fits, monkeypatch):
    """oneDNN's without VNNI, as it is with weights of 8 bits, and as it would be with those that fit."""

    class Saturating(OneDNNMatmul):
        def __call__(self, inputs, middle=MIDDLE):
            pairs = (inputs.long()[:, None] * self.bytes.long()).unflatten(2, (-1, 2)).sum(3).clamp(-32768, 32767)
            return (pairs.sum(2) - middle * self.bytes.long().sum(1)).float()

    monkeypatch.setattr(module, "has_saturating_pairs", lambda: fits)
    monkeypatch.setattr(module, "PanelMatmul" if fits else "OneDNNMatmul", Saturating)
    assert has_exact_int8.__wrapped__() is fits


def test_a_build_without_the_operator_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "has_saturating_pairs", lambda: False)
    monkeypatch.setattr(module, "onednn_linear", lambda *inputs: (_ for _ in ()).throw(RuntimeError("not here")))
    assert not has_exact_int8.__wrapped__()
