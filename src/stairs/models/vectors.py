"""Word vectors that another tool has trained: a table to look up. There is no context matrix, so they cannot be trained further.

encode(w) = vectors[w]

How often each word occurred is not in such files; they list words by falling frequency, so the counts follow Zipf's law: the word of rank r occurs
in proportion to 1 / r (Zipf 1949).

Departures: none in the vectors; real counts follow Zipf's law only roughly, and what a tool knows of words it does not list, as fastText does,
is lost.
"""

import functools
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.models.base import Model, as_array
from stairs.models.settings import VectorsConfig
from stairs.text.batch import Batch

SPECIAL = 5  # ids without a word
FIRST_COUNT = 1 << 30  # occurrences of the first word


class Vectors(Model):
    """One vector per word, from another tool's file. Rows stay in the mapped file until they are read."""

    name = "vectors"
    encodes = True
    learns_by = "adoption"
    pretrains_with = "word-vectors"

    def __init__(self, config: VectorsConfig) -> None:
        super().__init__(config)
        zero = torch.zeros(1)  # millions of rows take no memory before they are restored
        self.vectors = nn.Parameter(zero.expand(config.vocab_size, config.width), requires_grad=False)
        self.register_buffer("lengths", zero.expand(config.vocab_size))

    def encode(self, batch: Batch) -> Tensor:
        return self.vectors[batch.ids]  # (B, T, D)

    def all_vectors(self) -> np.ndarray:
        """All vectors (V, D), not copied."""
        return as_array(self.vectors)

    @functools.cached_property
    def counts(self) -> Tensor:
        """How often each word occurs, by Zipf's law; special ids never do."""
        ranks = torch.arange(1 - SPECIAL, self.config.vocab_size - SPECIAL + 1)
        return torch.where(ranks > 0, FIRST_COUNT // ranks.clamp(min=1), 0)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.check_tensors(tensors)
        wrong = [f"{name} is {tensor.dtype}" for name, tensor in tensors.items() if tensor.dtype != torch.float32]
        if wrong:
            raise BadInput(f"the saved tensors do not fit this {self.name}: {wrong[0]}, not float32; adopt the vectors again")
        self.load_state_dict(tensors, assign=True)  # the mapped file itself

    def prepare(self, *_: object) -> None:
        raise Unsupported("adopted vectors have no context matrix, so they cannot be trained further; train cbow, skipgram or glove on your text")

    def held_out_loss(self, *_: object) -> tuple[np.ndarray, np.ndarray]:
        raise Unsupported("adopted vectors have no context matrix, so they have no loss on a text; score them on analogies or word similarities")
