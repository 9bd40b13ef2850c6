"""Token embeddings that start as word vectors: skip-gram (Mikolov et al. 2013) learns them from the same tokens before the first update.

A compiled sweep of skip-gram reads over a hundred times as many tokens a second as a Transformer trains on, so in a few seconds of a training of
minutes every token has met more neighbours than in all of the updates. Qi et al. 2018 ("When and Why are Pre-trained Word Embeddings Useful for
Neural Machine Translation?") start a model so where data are scarce; here it is the time.

The vectors become as long as the embeddings that they replace. The mean of each row stays as it is: it holds what GPT has instead of an output bias
(`fold_in_bias` in layers/initial.py).
"""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from stairs.fast.corpus_slice import FINAL_LR_FACTOR, CorpusSlice, SweepingModel
from stairs.kernels.cooccurrence import SPECIAL
from stairs.models.registry import MODELS
from stairs.models.settings import CONFIGS
from stairs.progress import track

SLICE_TOKENS = 1 << 18


@torch.no_grad()
def start_from_skipgram(table: Tensor, ids: np.ndarray, tokens: int, seed: int) -> None:
    """Replace the rows of a new embedding, (V, D), by vectors that were learnt from about so many `tokens` of a text, spread over all of it. The same
    bits with any number of threads."""
    vectors = skipgram_vectors(ids, tuple(table.shape), tokens, seed).to(table)[SPECIAL:]
    rows = table[SPECIAL:]
    means = rows.mean(1, keepdim=True)
    vectors = vectors - vectors.mean(0)
    vectors = vectors - vectors.mean(1, keepdim=True)
    rows.copy_(means + vectors * ((rows - means).std() / vectors.std().clamp(min=1e-12)))


def skipgram_vectors(ids: np.ndarray, shape: tuple[int, ...], tokens: int, seed: int) -> Tensor:
    """One sweep."""
    size, width = shape
    new = MODELS["skipgram"](CONFIGS["skipgram"](vocab_size=size, width=width))  # type: ignore[call-arg]  # a width is a setting of its own
    new.initialize(seed)
    model = cast(SweepingModel, new)
    model.prepare(ids, [], seed)
    slices = -(-len(ids) // SLICE_TOKENS)
    swept = np.unique(np.linspace(0, slices - 1, max(min(tokens, len(ids)) // SLICE_TOKENS, 1)).astype(np.int64))
    rates = model.learning_rate * np.linspace(1, FINAL_LR_FACTOR, len(swept) + 1)
    with track("starting the token embeddings as word vectors", total=len(swept) * SLICE_TOKENS, unit="tokens") as advance:
        for number, index in enumerate(swept.tolist()):
            model.sweep(CorpusSlice(index, slices, 0, rates[number], rates[number + 1], seed=seed, threads=1, deterministic=True))
            advance(SLICE_TOKENS)
    return new.get_parameter("vectors").detach()
