"""Recurrent layers: cells that read one token after the other and carry a state along.

RNN    h' = tanh(W x + b + U h + d)                                        Elman 1990

LSTM   i, f, o = sigmoid(W x + b + U h + d), each with its own W, U, b, d  Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000
       g       = tanh(W x + b + U h + d)
       c'      = f * c + i * g                                             the memory
       h'      = o * tanh(c')                                              its output
       h'      = R (o * tanh(c')), with a projection                       Sak et al. 2014: a wide memory, a narrow output
       c' and R (...) may be clipped to [-cell_clip, cell_clip] and [-projection_clip, projection_clip], c' before its tanh

GRU    r, z = sigmoid(W x + b + U h + d)                                   Cho et al. 2014
       n    = tanh(W x + b + r * (U h + d))
       h'   = (1 - z) * n + z * h

`unroll` is these equations, one position after the other; `Recurrent` computes the same in PyTorch's fused loops, and its
`step` one position by PyTorch's cells (tests/layers/test_recurrent.py). The fused loop cannot clip, so a layer that clips is unrolled.

Where bfloat16 is emulated, cells compute in float32 whatever the rest of the model does: oneDNN has no LSTM in bfloat16 below AVX-512, and the
others are slower (an update of 16 x 20 x 512, ms: AVX2 fp32 15 to 54, bf16 102 to 166; AVX-512 20 to 59 and 26 to 101).

Departures: in the GRU r is taken of U h + d instead of h, as in PyTorch and cuDNN, which makes one product of three.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from stairs import machine

warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")  # PyTorch's own loop is as fast

State = tuple[Tensor, ...]  # (B, D) each: h, and the LSTM's c


def rnn(x: Tensor, hidden: Tensor, state: State) -> State:
    """`x` is W x + b and `hidden` U h + d, of all gates side by side, as in the two cells below."""
    return (torch.tanh(x + hidden),)


def lstm(x: Tensor, hidden: Tensor, state: State, cell_clip: float | None = None) -> State:
    input_gate, forget_gate, new, output_gate = (x + hidden).chunk(4, -1)
    memory = clip(forget_gate.sigmoid() * state[1] + input_gate.sigmoid() * new.tanh(), cell_clip)
    return output_gate.sigmoid() * memory.tanh(), memory


def clip(x: Tensor, limit: float | None) -> Tensor:
    return x if limit is None else x.clamp(-limit, limit)


def gru(x: Tensor, hidden: Tensor, state: State) -> State:
    (x_r, x_z, x_n), (h_r, h_z, h_n) = x.chunk(3, -1), hidden.chunk(3, -1)
    z = (x_z + h_z).sigmoid()
    return ((1 - z) * torch.tanh(x_n + (x_r + h_r).sigmoid() * h_n) + z * state[0],)


CELLS = {"rnn": rnn, "lstm": lstm, "gru": gru}
STATE_TENSORS = {"rnn": 1, "lstm": 2, "gru": 1}  # of a state
FUSED: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
STEPS: dict[str, Any] = {"rnn": torch.rnn_tanh_cell, "lstm": torch.lstm_cell, "gru": torch.gru_cell}


def unroll(layer: "Recurrent", x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """The output of `Recurrent` for (B, T, D), by the equations."""
    fused: Any = layer.fused
    inputs = torch.nn.functional.linear(x, fused.weight_ih_l0, fused.bias_ih_l0)
    state = state or tuple(x.new_zeros(len(x), size) for size in (layer.output_width, layer.width)[: STATE_TENSORS[layer.cell]])
    cell: Callable[..., State] = CELLS[layer.cell] if layer.cell_clip is None else partial(lstm, cell_clip=layer.cell_clip)
    outputs = []
    for column in inputs.unbind(1):
        state = cell(column, torch.nn.functional.linear(state[0], fused.weight_hh_l0, fused.bias_hh_l0), state)
        if layer.projection:
            state = clip(torch.nn.functional.linear(state[0], fused.weight_hr_l0), layer.projection_clip), *state[1:]
        outputs.append(state[0])
    return torch.stack(outputs, 1), state


class Recurrent(nn.Module):
    """One layer in one direction: (B, T, D) to the h of each position, and the state after the last. An LSTM may have a projection, and clip."""

    def __init__(
        self, cell: str, input_width: int, width: int, projection: int = 0, cell_clip: float | None = None, projection_clip: float | None = None
    ) -> None:
        super().__init__()
        self.cell, self.width, self.projection = cell, width, projection
        self.cell_clip, self.projection_clip = cell_clip, projection_clip
        self.output_width = projection or width
        self.fused = FUSED[cell](input_width, width, batch_first=True, **({"proj_size": projection} if projection else {}))

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        return self.in_fp32_where_emulated(self.loop, x, state)

    def step(self, x: Tensor, state: State) -> State:
        """The state after one more position, (B, D): for an input that depends on the state before it, so that no fused loop can read it."""
        return self.in_fp32_where_emulated(self.run_cell, x, state)[1]

    def in_fp32_where_emulated(self, compute: Callable[..., tuple[Tensor, State]], x: Tensor, state: State | None) -> tuple[Tensor, State]:
        if computes_in_fp32(x):
            with torch.autocast(x.device.type, enabled=False):
                kind = next(self.fused.parameters()).dtype
                output, after = compute(x.to(kind), None if state is None else tuple(part.to(kind) for part in state))
            return output.to(x.dtype), tuple(part.to(x.dtype) for part in after)
        return compute(x, state)

    def loop(self, x: Tensor, state: State | None) -> tuple[Tensor, State]:
        if self.cell_clip is not None or self.projection_clip is not None:
            return unroll(self, x, state)
        start = None if state is None else tuple(part[None].contiguous() for part in state)
        output, after = self.fused(x, start if start is None or self.cell == "lstm" else start[0])
        return output, tuple(part[0] for part in (after if self.cell == "lstm" else (after,)))

    def run_cell(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        assert not self.projection and self.cell_clip is None, "PyTorch's cells have neither a projection nor clipping"
        fused, is_lstm = self.fused, self.cell == "lstm"
        after = STEPS[self.cell](x, state if is_lstm else state[0], fused.weight_ih_l0, fused.weight_hh_l0, fused.bias_ih_l0, fused.bias_hh_l0)
        after = after if is_lstm else (after,)
        return after[0], after


def computes_in_fp32(x: Tensor) -> bool:
    """Whether a cell computes in float32 although the model, or autocast, is in bfloat16."""
    in_bf16 = x.dtype == torch.bfloat16 or torch.is_autocast_enabled(x.device.type)
    return in_bf16 and x.device.type == "cpu" and not machine.has_bf16()


class Bidirectional(nn.Module):
    """One layer that reads from the left and one that reads from the right: (B, T, D) to both side by side."""

    def __init__(self, cell: str, input_width: int, width: int) -> None:
        super().__init__()
        self.forwards, self.backwards = (Recurrent(cell, input_width, width // 2) for _ in range(2))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        return torch.cat([self.forwards(x)[0], reverse_rows(self.backwards(reverse_rows(x, real))[0], real)], -1)


def reverse_rows(x: Tensor, real: Tensor) -> Tensor:
    """The real positions of each row in the opposite order, padding where it was, for a layer that reads from the right."""
    lengths, positions = real.sum(1, keepdim=True), torch.arange(real.shape[1], device=real.device)
    reversed_positions = torch.where(positions < lengths, lengths - 1 - positions, positions)
    return x.gather(1, reversed_positions[..., None].expand_as(x))
