"""Which of an encoder's layers a task reads, and what reads them.

Peters et al. 2018, "Deep contextualized word representations", section 3:

    mixed_k = gamma * sum over layers j of softmax(s)_j h_k,j          s and gamma are learnt with the task; lambda |s|^2 is added to the loss

The mix goes to the head as it is, or to a reader, a BiLSTM over vectors of words that knows nothing else of the text:

    --place input     [w_k, mixed_k] -> BiLSTM -> head
    --place output    w_k -> BiLSTM, [h_k, mixed_k] -> head
    --place both      both, each with a mix of its own
    --place none      w_k -> BiLSTM -> head: what the reader can do alone
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput
from stairs.layers.dropout import Dropout
from stairs.layers.recurrent import BothWays
from stairs.models.base import Model
from stairs.models.transfer import Transfer
from stairs.text.batch import Batch

WORD_WIDTH = 100  # of a reader's vectors of words, if they do not come from a run


def chosen_layers(layers: str | None, model: Model) -> list[int] | None:
    """The numbers of the layers that are mixed; None for what the model's own `encode` gives."""
    layers = layers or model.mixes
    if layers is None or (layers == "last" and not model.depth):
        return None
    numbers = {"all": list(range(model.depth)), "last": [model.depth - 1]}.get(layers)
    if numbers is None:
        parts = layers.split(",")
        if not all(part.strip().lstrip("-").isdecimal() for part in parts):
            raise BadInput(f"--layers {layers} names no layers; give all, last, or numbers as in 1 or 0,2")
        numbers = [int(part) for part in parts]
    return [model.check_layer(number) for number in numbers or [0]]


class Mix(nn.Module):
    """gamma * sum softmax(s)_j h_j of (B, T, D) each."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.s = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: list[Tensor]) -> Tensor:
        weights = self.s.softmax(0)
        return self.gamma * sum((weight * layer for weight, layer in zip(weights[1:], layers[1:], strict=True)), weights[0] * layers[0])


class Reading(nn.Module):
    """From a batch to what a head sees of each token, (B, T, `width`). `words` are those a reader has vectors for; `spelled` names an id's word."""

    def __init__(self, model: Model, transfer: Transfer, words: Sequence[str], spelled: Callable[[int], str]) -> None:
        super().__init__()
        self.layers, self.place = chosen_layers(transfer.layers, model), transfer.place
        self.rows = {word: number for number, word in enumerate(words, 1)}  # 0 is a word without a vector
        self.spelled = spelled
        mixes = 0 if transfer.place == "none" else 2 if transfer.place == "both" else 1
        self.mixes = nn.ModuleList(Mix(len(self.layers)) for _ in range(mixes) if self.layers is not None and len(self.layers) > 1)
        read = 0 if transfer.place in ("none", "output") else width_of(model, self.layers)
        beside = width_of(model, self.layers) if transfer.place in ("output", "both") else 0
        self.dropout = Dropout(transfer.head_dropout)
        self.width = read
        if self.reads_words:
            self.words = nn.Embedding(len(words) + 1, transfer.word_width or WORD_WIDTH)
            self.reader = BothWays("lstm", self.words.embedding_dim + read, transfer.reader)
            self.width = transfer.reader + beside

    @property
    def reads_words(self) -> bool:
        return self.place != "head"

    @property
    def plain(self) -> bool:
        """Whether it gives what the encoder gives."""
        return self.layers is None and not self.reads_words

    def forward(self, batch: Batch, model: Model) -> Tensor:
        given = [] if self.place == "none" else self.given(batch, model)
        if not self.reads_words:
            return given[0]
        x = self.words(self.numbers(batch))
        if self.place in ("input", "both"):
            x = torch.cat([x, self.dropout(given[0])], -1)
        read = self.reader(self.dropout(x), batch.real)
        return torch.cat([read, self.dropout(given[-1])], -1) if self.place in ("output", "both") else read

    def given(self, batch: Batch, model: Model) -> list[Tensor]:
        """What each mix makes of the layers."""
        if self.layers is None:
            return [model.encode(batch)]
        layers = model.layers_of(batch)
        chosen = [layers[number] for number in self.layers]
        return [mix(chosen) for mix in self.mixes] if self.mixes else chosen

    def numbers(self, batch: Batch) -> Tensor:
        """The rows of the words' vectors."""
        ids, places = torch.unique(batch.ids, return_inverse=True)
        rows = [self.rows.get(self.spelled(number), 0) for number in ids.tolist()]
        return torch.tensor(rows, device=places.device)[places]

    def pull(self) -> Tensor:
        """|s|^2 of all mixes."""
        return sum((mix.s.square().sum() for mix in self.mixes), torch.zeros(()))  # type: ignore[operator]

    @torch.no_grad()
    def begin(self, vectors: np.ndarray | None) -> None:
        """Equal weights, and vectors of words that are known already."""
        for mix in self.mixes:
            nn.init.zeros_(mix.s)  # type: ignore[arg-type]
            nn.init.ones_(mix.gamma)  # type: ignore[arg-type]
        if vectors is not None:
            self.words.weight.copy_(torch.from_numpy(vectors))

    @torch.no_grad()
    def weights(self) -> list[dict[str, Any]]:
        """What was learnt of the layers, for people."""
        shares = [(mix.gamma.item(), mix.s.softmax(0).tolist()) for mix in self.mixes]  # type: ignore[operator]
        return [{"gamma": gamma, "layers": dict(zip(self.layers or [], own, strict=True))} for gamma, own in shares]


@torch.no_grad()
def width_of(model: Model, layers: list[int] | None = None) -> int:
    """Of a token vector."""
    ids = torch.zeros(1, 2, dtype=torch.int64)
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    return (model.encode(batch) if layers is None else model.layers_of(batch)[layers[0]]).shape[-1]
