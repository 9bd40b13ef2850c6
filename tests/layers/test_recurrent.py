"""Recurrent cells: the equations, PyTorch's own, and reading from both ends."""

import copy

import pytest
import torch
from torch import nn

from stairs import machine
from stairs.fast.packed_linear import for_inference
from stairs.layers.initial import initialize
from stairs.layers.recurrent import CELLS, FUSED, STATE_TENSORS, Bidirectional, Recurrent, reverse_rows, unroll


def layer_of(cell):
    torch.manual_seed(1)
    return Recurrent(cell, 5, 6)


@pytest.mark.parametrize("cell", CELLS)
def test_the_equations_are_what_the_fused_loop_computes(cell):
    layer, x = layer_of(cell), torch.randn(3, 7, 5)
    begin = tuple(torch.randn(3, 6) for _ in range(STATE_TENSORS[cell]))
    for state in (None, begin):
        fused, fused_state = layer(x, state)
        plain, plain_state = unroll(layer, x, state)
        assert torch.allclose(fused, plain, atol=1e-6)
        assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(fused_state, plain_state, strict=True))
    fused[:, -1].sum().backward()
    own = layer.fused.weight_hh_l0.grad.clone()
    layer.zero_grad()
    plain[:, -1].sum().backward()
    assert torch.allclose(own, layer.fused.weight_hh_l0.grad, atol=1e-5)


def test_a_projection_tells_less_than_is_remembered():
    torch.manual_seed(1)
    layer, x = Recurrent("lstm", 5, 6, projection=4), torch.randn(3, 7, 5)
    for state in (None, (torch.randn(3, 4), torch.randn(3, 6))):
        (fused, fused_state), (plain, plain_state) = layer(x, state), unroll(layer, x, state)
        assert fused.shape == (3, 7, 4) and [part.shape[1] for part in fused_state] == [4, 6]
        assert torch.allclose(fused, plain, atol=1e-6) and torch.allclose(fused_state[1], plain_state[1], atol=1e-6)


def clipped_by_hand(layer, x, cell_clip, projection_clip):
    """The paper's program, one position and one number at a time."""
    w, u, b, d, r = (getattr(layer.fused, f"{name}_l0").detach().double() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"))
    h, c, outputs = torch.zeros(4).double(), torch.zeros(6).double(), []
    for column in x.double():
        i, f, g, o = (w @ column + b + u @ h + d).chunk(4)
        c = torch.tensor([min(max(number, -cell_clip), cell_clip) for number in (f.sigmoid() * c + i.sigmoid() * g.tanh()).tolist()]).double()
        h = torch.tensor([min(max(number, -projection_clip), projection_clip) for number in (r @ (o.sigmoid() * c.tanh())).tolist()]).double()
        outputs.append(h)
    return torch.stack(outputs), c


def test_cells_and_projections_are_clipped_and_so_are_their_gradients():
    torch.manual_seed(1)
    layer, x = Recurrent("lstm", 5, 6, 4, cell_clip=0.2, projection_clip=0.05), 3 * torch.randn(1, 9, 5)
    output, (_, c) = layer(x)
    expected, memory = clipped_by_hand(layer, x[0], 0.2, 0.05)
    assert torch.allclose(output[0].double(), expected, atol=1e-6) and torch.allclose(c[0].double(), memory, atol=1e-6)
    assert [float(part.detach().abs().max()) for part in (output, c)] == pytest.approx([0.05, 0.2])
    assert not torch.allclose(layer.fused(x)[0], output)
    first, state = layer(x[:, :4])
    assert torch.equal(torch.cat([first, layer(x[:, 4:], state)[0]], 1), output)  # in two parts, as when a text is continued
    wide = Recurrent("lstm", 5, 6, 4, cell_clip=100.0, projection_clip=100.0)
    wide.load_state_dict(layer.state_dict())
    assert torch.allclose(wide(x)[0], layer.fused(x)[0], atol=1e-6)  # far limits change nothing
    layer.zero_grad()
    layer(x[:, :1])[0].sum().backward()
    at_limit = layer(x[:, :1])[0][0, 0].abs() >= 0.05
    assert at_limit.any() and not layer.fused.weight_hr_l0.grad[at_limit].any()  # nothing is learnt through a clipped number


@pytest.mark.parametrize(("cell", "kind"), [("rnn", nn.RNNCell), ("lstm", nn.LSTMCell), ("gru", nn.GRUCell)])
def test_one_step_is_pytorchs_cell(cell, kind):
    layer, theirs, x = layer_of(cell), kind(5, 6), torch.randn(3, 5)
    theirs.load_state_dict({name.removesuffix("_l0"): weight for name, weight in layer.fused.state_dict().items()})
    begin = tuple(torch.randn(3, 6) for _ in range(STATE_TENSORS[cell]))
    state = theirs(x, begin if cell == "lstm" else begin[0])
    for ours in (unroll(layer, x[:, None], begin)[1], layer.step(x, begin)):
        assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(state if cell == "lstm" else (state,), ours, strict=True))


@pytest.mark.parametrize("cell", CELLS)
def test_steps_are_the_fused_loop(cell):
    layer, x = layer_of(cell), torch.randn(3, 7, 5)
    begin = state = tuple(torch.randn(3, 6) for _ in range(STATE_TENSORS[cell]))
    outputs = []
    for column in x.unbind(1):
        state = layer.step(column, state)
        outputs.append(state[0])
    fused, after = layer(x, begin)
    assert torch.allclose(torch.stack(outputs, 1), fused, atol=1e-6)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(state, after, strict=True))


def test_what_reads_from_the_right_begins_with_the_last_real_token():
    real = torch.tensor([[True, True, True], [True, False, False]])
    x = torch.arange(6.0).view(2, 3, 1)
    assert reverse_rows(x, real)[..., 0].tolist() == [[2, 1, 0], [3, 4, 5]]


@pytest.mark.parametrize("cell", CELLS)
def test_both_ways_is_pytorchs_bidirectional_layer_and_padding_changes_nothing(cell):
    torch.manual_seed(2)
    both, theirs, x = Bidirectional(cell, 5, 8), FUSED[cell](5, 4, batch_first=True, bidirectional=True), torch.randn(2, 6, 5)
    weights = dict(both.forwards.fused.named_parameters())
    weights |= {f"{name}_reverse": weight for name, weight in both.backwards.fused.named_parameters()}
    theirs.load_state_dict(weights)
    real = torch.ones(2, 6, dtype=torch.bool)
    assert torch.allclose(both(x, real), theirs(x)[0], atol=1e-6)
    real[1, 4:] = False
    assert torch.allclose(both(x, real)[1, :4], both(x[1:, :4], real[1:, :4])[0], atol=1e-6)


def test_the_first_weights_follow_from_the_seed_and_the_name():
    first, second = (Bidirectional("lstm", 5, 8) for _ in range(2))
    initialize(first, 3), initialize(second, 3)
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.forwards.fused.weight_ih_l0, first.backwards.fused.weight_ih_l0)
    keep = first.forwards.fused.bias_ih_l0[4:8] + first.forwards.fused.bias_hh_l0[4:8]
    assert (keep >= 0).all()


@pytest.mark.parametrize("has_bf16", [True, False])
@pytest.mark.parametrize(("cell", "projection"), [*((cell, 0) for cell in CELLS), ("lstm", 4)])
def test_every_cell_trains_and_answers_in_bf16(cell, projection, has_bf16, monkeypatch):
    """By the machine's own products if it has any, in float32 if it has none."""
    if has_bf16 and not machine.has_bf16():
        pytest.skip("this machine has no LSTM in bfloat16")
    monkeypatch.setattr(machine, "has_bf16", lambda: has_bf16)
    torch.manual_seed(1)
    layer, x = Recurrent(cell, 5, 6, projection=projection), torch.randn(3, 7, 5)
    expected, state = layer(x)
    for given in (x, x.bfloat16()):  # what comes in is one or the other, as it was computed
        layer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            output, after = layer(given)
            again, _ = layer(given, after)
            stepped = after if projection else layer.step(given[:, 0], after)
        next_state = state if projection else layer(x[:, :1], state)[1]
        assert all(torch.allclose(one.float(), other, atol=0.03) for one, other in zip(stepped, next_state, strict=True))
        assert torch.allclose(output.float(), expected, atol=0.03) and torch.allclose(after[-1].float(), state[-1], atol=0.03)
        again.float().sum().backward()
        assert all(weight.grad is not None and weight.grad.isfinite().all() and weight.dtype == torch.float32 for weight in layer.parameters())
    twin, kind = for_inference(nn.Sequential(layer), "bf16")[0], torch.bfloat16 if has_bf16 else torch.float32
    copied = copy.deepcopy(layer).bfloat16()  # by another hand
    for answering, given in ((twin, x.to(kind)), (copied, x.bfloat16())):
        output, after = answering(given)
        again, _ = answering(given, after)
        assert output.dtype == again.dtype == given.dtype and torch.allclose(output.float(), expected, atol=0.03)


def test_in_fp32_nothing_is_rounded_on_the_way(monkeypatch):
    monkeypatch.setattr(machine, "has_bf16", lambda: False)
    layer, x = layer_of("lstm"), torch.randn(3, 7, 5)
    with torch.autocast("cpu", torch.bfloat16):
        inside, _ = layer(x)
    assert torch.equal(inside, layer(x)[0])
