"""Words from their letters.

Kim et al. 2016, "Character-Aware Neural Language Models"; Jozefowicz et al. 2016; Srivastava et al. 2015 for the highways:

    a word is its letters between two marks, each letter a vector
    for each width w: filters look at w letters at a time, and of what each filter finds the largest is kept
    highway     y = t * relu(x W + b) + (1 - t) * x,   t = sigmoid(x U + d)          a part is changed, the rest passes
    the vector of the word = y P

A word that stands in a batch many times is computed once, and no word costs more than its longest neighbour in the batch.

Departures: what the filters find passes a relu, as in ELMo, where Kim et al. have a tanh; a window begins at each letter and at none behind the word,
where ELMo's program looks at all 50 places of every word.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

PAD = 0  # the code of no letter
WORDS_AT_ONCE = 128
GATE_BIAS = -2.0  # where the gates of the highways begin


class Highway(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate(x).sigmoid()
        return gate * self.change(x).relu() + (1 - gate) * x


class CharacterCNN(nn.Module):
    """Codes of letters (N, C), with the marks and filled up with PAD, to vectors (N, D). `filters` are how many look at one letter, at two, ..."""

    def __init__(self, codes: int, character_width: int, filters: tuple[int, ...], highways: int, width: int) -> None:
        super().__init__()
        self.codes = nn.Embedding(codes, character_width, padding_idx=PAD)
        self.filters = nn.ModuleList(nn.Linear(size * character_width, count) for size, count in enumerate(filters, 1))
        self.highways = nn.Sequential(*(Highway(sum(filters)) for _ in range(highways)))
        self.projection = nn.Linear(sum(filters), width)

    def forward(self, words: Tensor) -> Tensor:
        lengths, order = (words != PAD).sum(1).sort(stable=True)
        parts = zip(words[order].split(WORDS_AT_ONCE), lengths.split(WORDS_AT_ONCE), strict=True)
        found = torch.cat([self.max_activations(part[:, : int(own[-1])]) for part, own in parts])  # short words beside short ones
        return self.projection(self.highways(found.relu()))[order.argsort()]

    def max_activations(self, words: Tensor) -> Tensor:
        """What each filter finds at best, (N, filters)."""
        beyond = (words == PAD)[..., None]
        letters = self.codes(pad(words, (0, len(self.filters) - 1)))  # so that each letter begins a window of any width
        return torch.cat([self.max_over_windows(part, letters, size, beyond) for size, part in enumerate(self.filters, 1)], -1)

    def max_over_windows(self, part: nn.Module, letters: Tensor, size: int, beyond: Tensor) -> Tensor:
        """The same for one width. No window begins behind the word, so that its neighbours do not matter."""
        windows = torch.cat([letters[:, start : start + beyond.shape[1]] for start in range(size)], -1)
        return part(windows).masked_fill(beyond, -torch.inf).amax(1)

    @torch.no_grad()
    def initialize(self) -> None:
        """The highways let most pass, and nothing stays nothing."""
        self.codes.weight[PAD] = 0
        for highway in self.highways:
            nn.init.constant_(highway.gate.bias, GATE_BIAS)  # type: ignore[union-attr, arg-type]


def distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Where each different id occurs for the last time, in ascending order of the ids, and which of them stands at each position, (N,)."""
    unique, inverse = torch.unique(ids, return_inverse=True)
    positions = torch.arange(len(ids), device=ids.device)
    return inverse.new_zeros(len(unique)).scatter_(0, inverse, positions), inverse
