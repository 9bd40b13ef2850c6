"""Cells that read one token after the other and carry a state along.

RNN    h' = tanh(W x + b + U h + d)                                        Elman 1990

LSTM   i, f, o = sigmoid(W x + b + U h + d), each with its own W, U, b, d  Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000
       g       = tanh(W x + b + U h + d)
       c'      = f * c + i * g                                             what is remembered
       h'      = o * tanh(c')                                              what is told of it
       h'      = R (o * tanh(c')), with a projection                       Sak et al. 2014: much is remembered, less is told

GRU    r, z = sigmoid(W x + b + U h + d)                                   Cho et al. 2014
       n    = tanh(W x + b + r * (U h + d))
       h'   = (1 - z) * n + z * h

`unroll` is these equations, one position after the other; `Recurrent` computes the same in PyTorch's fused loops.

Where bfloat16 is emulated, cells compute in float32 whatever the rest of the model does: oneDNN has no LSTM in bfloat16 below AVX-512, and what there
is of the others is slower (an update of 16 x 20 x 512, ms: AVX2 fp32 15 to 54, bf16 102 to 166; AVX-512 20 to 59 and 26 to 101).

Departures: in the GRU r is taken of U h + d instead of h, as in PyTorch and cuDNN, which makes one product of three.
"""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from stairs import machine

warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")  # PyTorch's own loop is as fast

State = tuple[Tensor, ...]  # (B, D) each: h, and the LSTM's c


def rnn(x: Tensor, hidden: Tensor, state: State) -> State:
    """`x` is W x + b and `hidden` U h + d, of all gates side by side, as in the two cells below."""
    return (torch.tanh(x + hidden),)


def lstm(x: Tensor, hidden: Tensor, state: State) -> State:
    admit, keep, new, tell = (x + hidden).chunk(4, -1)
    remembered = keep.sigmoid() * state[1] + admit.sigmoid() * new.tanh()
    return tell.sigmoid() * remembered.tanh(), remembered


def gru(x: Tensor, hidden: Tensor, state: State) -> State:
    (reset, stay, new), (reset_by, stay_by, new_by) = x.chunk(3, -1), hidden.chunk(3, -1)
    stays = (stay + stay_by).sigmoid()
    return ((1 - stays) * torch.tanh(new + (reset + reset_by).sigmoid() * new_by) + stays * state[0],)


CELLS = {"rnn": rnn, "lstm": lstm, "gru": gru}
STATE_TENSORS = {"rnn": 1, "lstm": 2, "gru": 1}  # of a state
FUSED: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def unroll(layer: "Recurrent", x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """What `Recurrent` gives for (B, T, D), by the equations."""
    fused: Any = layer.fused
    given = torch.nn.functional.linear(x, fused.weight_ih_l0, fused.bias_ih_l0)
    state = state or tuple(x.new_zeros(len(x), size) for size in (layer.output_width, layer.width)[: STATE_TENSORS[layer.cell]])
    told = []
    for now in given.unbind(1):
        state = CELLS[layer.cell](now, torch.nn.functional.linear(state[0], fused.weight_hh_l0, fused.bias_hh_l0), state)
        if layer.projection:
            state = torch.nn.functional.linear(state[0], fused.weight_hr_l0), *state[1:]
        told.append(state[0])
    return torch.stack(told, 1), state


class Recurrent(nn.Module):
    """One layer in one direction: (B, T, D) to the h of each position, and the state after the last. An LSTM may have a projection."""

    def __init__(self, cell: str, read: int, width: int, projection: int = 0) -> None:
        super().__init__()
        self.cell, self.width, self.projection = cell, width, projection
        self.output_width = projection or width
        self.fused = FUSED[cell](read, width, batch_first=True, **({"proj_size": projection} if projection else {}))

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        if computes_in_fp32(x):
            with torch.autocast(x.device.type, enabled=False):
                kind = next(self.fused.parameters()).dtype
                told, after = self.loop(x.to(kind), None if state is None else tuple(part.to(kind) for part in state))
            return told.to(x.dtype), tuple(part.to(x.dtype) for part in after)
        return self.loop(x, state)

    def loop(self, x: Tensor, state: State | None) -> tuple[Tensor, State]:
        begin = None if state is None else tuple(part[None].contiguous() for part in state)
        told, after = self.fused(x, begin if begin is None or self.cell == "lstm" else begin[0])
        return told, tuple(part[0] for part in (after if self.cell == "lstm" else (after,)))


def computes_in_fp32(x: Tensor) -> bool:
    """Whether a cell does so in a model, or under an autocast, of bfloat16."""
    in_bf16 = x.dtype == torch.bfloat16 or torch.is_autocast_enabled(x.device.type)
    return in_bf16 and x.device.type == "cpu" and not machine.has_bf16()


class Bidirectional(nn.Module):
    """One layer that reads from the left and one that reads from the right: (B, T, D) to both side by side."""

    def __init__(self, cell: str, read: int, width: int) -> None:
        super().__init__()
        self.forwards, self.backwards = (Recurrent(cell, read, width // 2) for _ in range(2))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        return torch.cat([self.forwards(x)[0], reverse_rows(self.backwards(reverse_rows(x, real))[0], real)], -1)


def reverse_rows(x: Tensor, real: Tensor) -> Tensor:
    """The real positions of each row in the opposite order, padding where it was: what reads from the right begins with the last token."""
    lengths, places = real.sum(1, keepdim=True), torch.arange(real.shape[1], device=real.device)
    turned = torch.where(places < lengths, lengths - 1 - places, places)
    return x.gather(1, turned[..., None].expand_as(x))
