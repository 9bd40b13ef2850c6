"""Word vectors from characters.

Kim et al. 2016, "Character-Aware Neural Language Models"; Jozefowicz et al. 2016; Srivastava et al. 2015 for the highways:

    a word is its characters between two marks, each character a vector
    for each width w: filters over w characters at a time, and the maximum of each filter over the word
    highway     y = t * relu(x W + b) + (1 - t) * x,   t = sigmoid(x U + d)          a gate between change and carry
    the vector of the word = y P

A word that occurs several times in a batch is computed once, and words are computed with others of about their length.

Departures: the filters are followed by a relu, as in ELMo, where Kim et al. have a tanh; a window starts at each character and none after the word,
where ELMo's program has windows at all 50 positions of every word.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

PAD = 0  # the id of no character
WORDS_AT_ONCE = 128
GATE_BIAS = -2.0  # that the gates of the highways start with: they mostly carry


class Highway(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate(x).sigmoid()
        return gate * self.change(x).relu() + (1 - gate) * x


class CharacterCNN(nn.Module):
    """Character ids (N, C), with the marks and padded with PAD, to vectors (N, D). `filters` are the numbers of filters of width 1, 2, ..."""

    def __init__(self, codes: int, character_width: int, filters: tuple[int, ...], highways: int, width: int) -> None:
        super().__init__()
        self.codes = nn.Embedding(codes, character_width, padding_idx=PAD)
        self.filters = nn.ModuleList(nn.Linear(size * character_width, count) for size, count in enumerate(filters, 1))
        self.highways = nn.Sequential(*(Highway(sum(filters)) for _ in range(highways)))
        self.projection = nn.Linear(sum(filters), width)

    def forward(self, words: Tensor) -> Tensor:
        lengths, order = (words != PAD).sum(1).sort(stable=True)
        parts = zip(words[order].split(WORDS_AT_ONCE), lengths.split(WORDS_AT_ONCE), strict=True)
        activations = torch.cat([self.max_activations(part[:, : int(own[-1])]) for part, own in parts])  # short words beside short ones
        return self.projection(self.highways(activations.relu()))[order.argsort()]

    def max_activations(self, words: Tensor) -> Tensor:
        """The maximum of each filter over the word, (N, filters)."""
        is_pad = (words == PAD)[..., None]
        vectors = self.codes(pad(words, (0, len(self.filters) - 1)))  # so that a window of any width starts at each character
        return torch.cat([self.max_over_windows(filters, vectors, size, is_pad) for size, filters in enumerate(self.filters, 1)], -1)

    def max_over_windows(self, filters: nn.Module, vectors: Tensor, size: int, is_pad: Tensor) -> Tensor:
        """The same for one width. No window starts after the word, so that a word does not depend on those beside it."""
        windows = torch.cat([vectors[:, start : start + is_pad.shape[1]] for start in range(size)], -1)
        return filters(windows).masked_fill(is_pad, -torch.inf).amax(1)

    @torch.no_grad()
    def initialize(self) -> None:
        """The highways mostly carry, and the vector of PAD is 0."""
        self.codes.weight[PAD] = 0
        for highway in self.highways:
            nn.init.constant_(highway.gate.bias, GATE_BIAS)  # type: ignore[union-attr, arg-type]


def distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Where each different id occurs for the last time, in ascending order of the ids, and which of them stands at each position, (N,)."""
    unique, inverse = torch.unique(ids, return_inverse=True)
    positions = torch.arange(len(ids), device=ids.device)
    return inverse.new_zeros(len(unique)).scatter_(0, inverse, positions), inverse
