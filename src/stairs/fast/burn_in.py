"""Both directions of a language model from one batch whose rows overlap: what is read only to warm up the states costs no backward pass.

`loss` of ELMo with it equals the sum of both directions' `log_likelihood`, which read all columns alike: tests/models/test_elmo.py.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from stairs.layers.recurrent import State, reverse_rows
from stairs.text.batch import IGNORE_INDEX, Batch

Read = Callable[[Tensor, list[State] | None], tuple[list[Tensor], list[State]]]  # x and the states before it to h of each layer and the states after


class BidirectionalTargets:
    """The next and the previous word of each position. Only the columns from the first target to the last are learnt from; those outside are the
    burn-in."""

    def __init__(self, batch: Batch, begin: int, end: int) -> None:
        assert batch.targets is not None
        self.real, self.length = batch.real, batch.ids.shape[1]
        self.has_next = batch.targets != IGNORE_INDEX
        columns = self.has_next.any(0).nonzero()
        self.first, self.stop = int(columns[0]), int(columns[-1]) + 1
        position = torch.arange(self.length, device=self.real.device)
        self.has_previous = self.real & (position >= max(self.first, 1)) & (position < self.stop)
        previous = batch.ids.roll(1, 1)
        previous = previous.where(previous != begin, end)  # as in the targets
        self.targets = torch.cat([batch.targets[self.has_next], previous[self.has_previous]])

    def hidden(self, read_forwards: Read, read_backwards: Read, x: Tensor) -> Tensor:
        """The last h before each of the targets, (N, D), from x (B, T, D)."""
        forward = hidden_between(read_forwards, x, self.first, self.stop)
        mirrored = hidden_between(read_backwards, reverse_rows(x, self.real), self.length - self.stop, self.length - self.first)
        return torch.cat([forward[self.has_next], reverse_rows(mirrored, self.real)[self.has_previous]])


def hidden_between(read: Read, x: Tensor, start: int, stop: int) -> Tensor:
    """The last h of the positions from `start` to `stop`, zeros elsewhere, (B, T, D); those before are read without a gradient."""
    states = None
    if start:
        with torch.no_grad():
            states = read(x[:, :start], None)[1]
    hidden = read(x[:, start:stop], states)[0][-1]
    return pad(hidden, (0, 0, start, x.shape[1] - stop))
