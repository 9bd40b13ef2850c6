"""Muon: its steps are orthogonal, its equation is that of the paper, and a run with it resumes to the same bits."""

import pytest
import torch

from stairs.errors import BadInput
from stairs.training.muon import COEFFICIENTS, MOMENTUM, Muon, block_matrices, orthogonalize
from stairs.training.options import TrainingOptions


@pytest.mark.parametrize("shape", [(3, 32, 32), (2, 96, 32), (2, 32, 96)])
def test_five_iterations_bring_all_singular_values_near_one(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalize(matrices, 5))
    assert values.min() > 0.4
    assert values.max() < 1.3


def test_the_directions_of_a_matrix_stay():
    matrix = torch.randn(24, 16, generator=torch.Generator().manual_seed(1))
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    turned = u.mT @ orthogonalize(matrix[None], 5)[0] @ v.mT
    assert (turned - turned.diag().diag()).abs().max() < 1e-4


def test_a_batch_of_matrices_is_each_by_itself():
    matrices = torch.randn(4, 8, 20, generator=torch.Generator().manual_seed(2))
    together = orthogonalize(matrices)
    assert torch.allclose(together, torch.cat([orthogonalize(own[None]) for own in matrices]), atol=1e-6)


def test_a_step_by_hand():
    weight = torch.nn.Parameter(torch.randn(6, 3, generator=torch.Generator().manual_seed(3)))
    muon = Muon([{"params": [weight], "weight_decay": 0.1, "lr_scale": 20.0}])
    expected, momentum = weight.detach().clone(), torch.zeros(6, 3)
    a, b, c = COEFFICIENTS
    for step in range(3):
        gradient = torch.randn(6, 3, generator=torch.Generator().manual_seed(step))
        momentum = MOMENTUM * momentum + gradient
        x = gradient + MOMENTUM * momentum
        x = x.mT / x.norm()
        for _ in range(3):
            x = a * x + b * x @ x.mT @ x + c * x @ x.mT @ x @ x.mT @ x
        expected = expected * (1 - 0.1 * 0.02 / 20) - 0.02 * 2**0.5 * x.mT
        weight.grad = gradient
        muon.param_groups[0]["lr"] = 0.02
        muon.step()
    assert torch.allclose(weight.detach(), expected, atol=1e-5)


def test_only_linear_layers_inside_blocks_are_muons():
    from stairs.models.registry import MODELS
    from stairs.models.settings import SIZES, make_config

    model = MODELS["bert"](make_config("bert", {"vocab_size": 30}, **SIZES["bert"]["nano"]))
    names = dict(block_matrices(model))
    assert "blocks.0.attention.query.weight" in names
    assert "blocks.1.feed_forward.outer.weight" in names
    assert not [name for name in names if not name.startswith("blocks.")]


def test_what_muon_cannot_train_is_one_sentence():
    from stairs.models.registry import MODELS

    with pytest.raises(BadInput, match="blocks of a Transformer"):
        TrainingOptions(optimizer="muon").validated(MODELS["nnlm"])
    with pytest.raises(BadInput, match="whole matrices"):
        TrainingOptions(optimizer="muon", shard=True).check()
    with pytest.raises(BadInput, match="--optimizer muon"):
        TrainingOptions(muon_learning_rate=0.1).check()


def test_a_choice_that_is_not_made_is_not_recorded():
    assert "optimizer" not in TrainingOptions().frozen_fields()
    assert TrainingOptions(optimizer="muon").frozen_fields()["optimizer"] == "muon"


def test_in_bfloat16_the_step_is_about_the_same_and_momentum_stays_exact():
    matrices = torch.randn(3, 24, 16, generator=torch.Generator().manual_seed(0))
    rounded, exact = orthogonalize(matrices, dtype=torch.bfloat16), orthogonalize(matrices)
    assert rounded.dtype == torch.bfloat16 and torch.allclose(rounded.float(), exact, atol=0.03) and not torch.equal(rounded.float(), exact)
    weight = torch.nn.Parameter(torch.ones(4, 4))
    weight.grad = torch.eye(4) / 3
    muon = Muon([{"params": [weight]}])
    muon.dtype = torch.bfloat16
    muon.step()
    assert weight.dtype == torch.float32 and torch.equal(muon.state[weight]["momentum"], torch.eye(4) / 3)


def test_the_precision_of_a_run_is_that_of_muon():
    from stairs.models.registry import MODELS
    from stairs.models.settings import SIZES, make_config
    from stairs.training.optimizer import Optimizer

    model = MODELS["gpt"](make_config("gpt", {"vocab_size": 30}, **SIZES["gpt"]["nano"]))
    optimizer = Optimizer(model, TrainingOptions(optimizer="muon"), 1e-3, {}, 0.01)
    for precision, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        optimizer.set_precision(precision)
        assert [member.dtype for member in optimizer.members if isinstance(member, Muon)] == [dtype]
