"""The n-gram model: the probability of the next word from how often it followed the last n-1 words.

Shannon 1948; smoothing as in `kneser_ney.py`. A word that was never seen after the last n-1 words backs off to the last n-2:

    P(w | h) = p(hw)                    if hw was seen
             = backoff(h) P(w | h')     if not; h' is h without its first word

The n-grams form a trie (`fast/ngram_trie.py`); a context is a node of it, and its suffix link is h'.

Departures: none.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.fast.decode_state import ContextState, DecodeState
from stairs.fast.kneser_ney_trie import estimate
from stairs.fast.ngram_trie import DTYPES, Trie, check_dtypes
from stairs.models.base import Model, as_array
from stairs.models.settings import NGramConfig
from stairs.text.batch import IGNORE_INDEX, Batch


class NGram(Model):
    """A trie of log10 probabilities and back-off weights."""

    name = "ngram"
    predicts = True
    generates = True
    has_ngrams = True
    learns_by = "counting"
    config: NGramConfig
    words: Tensor  # (N,) last word of each n-gram
    log10s: Tensor  # (N,)
    suffixes: Tensor  # (N,) the n-gram without its first word
    backoffs: Tensor  # of all but the longest n-grams
    first: Tensor  # where the continuations of each n-gram start
    sizes: Tensor  # (order,) how many n-grams of each length

    def __init__(self, config: NGramConfig) -> None:
        super().__init__(config)
        for name, dtype in DTYPES.items():
            self.register_buffer(name, torch.from_numpy(np.zeros(0, dtype)))

    def count(self, ids: np.ndarray, *, closed: bool = False, advance: Callable[[float], None] = lambda amount: None) -> list[int]:
        """Count a stream of ids in which `end` follows each sentence. Returns the orders that have default discounts."""
        config = self.config
        if len(ids) >= 1 << 32:
            raise BadInput(f"{len(ids)} tokens are more than an n-gram model can count ({(1 << 32) - 1}); give it a part of the corpus")
        trie_arrays = estimate(
            ids, order=config.order, vocab_size=config.vocab_size, begin=config.begin, end=config.end, unknown=config.unknown,
            impossible_ids=config.impossible_ids, closed=closed, prune=config.prune, advance=advance,
        )  # fmt: skip
        self.set_trie(trie_arrays)
        return trie_arrays.default_discounts

    def set_trie(self, arrays: Trie) -> None:
        for name, array in arrays.arrays().items():
            setattr(self, name, torch.from_numpy(array))

    @property
    def trie(self) -> Trie:
        return Trie.from_arrays({name: as_array(getattr(self, name)) for name in DTYPES})

    def predict(self, batch: Batch) -> Tensor:
        """Natural-log probabilities (B, T, V)."""
        contexts = self.contexts(as_array(batch.ids), as_array(batch.real))
        return torch.stack([torch.stack([self.continuations(context)[0] for context in row]) for row in contexts.tolist()])

    def log_likelihood(self, batch: Batch) -> Tensor:
        """Natural-log probability of each target (B, T), 0 where there is none."""
        scores, _ = self.target_scores(batch)
        return scores

    def loss(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        return -self.log_likelihood(batch).sum() / (batch.targets != IGNORE_INDEX).sum()

    def target_scores(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The log-likelihood of each target, and the order of the n-gram that supplied it."""
        assert batch.targets is not None
        scores, orders = self.trie.log_likelihood(as_array(batch.ids), as_array(batch.targets), IGNORE_INDEX)
        return torch.from_numpy(scores), torch.from_numpy(orders)

    def contexts(self, ids: np.ndarray, real: np.ndarray) -> np.ndarray:
        """The longest known context that ends at each position (B, T)."""
        contexts = np.full(ids.shape, -1, np.int64)
        for row in range(len(ids)):
            context = -1
            for i in np.flatnonzero(real[row]):
                context = contexts[row, i] = self.next_context(context, int(ids[row, i]))
        return contexts

    def next_context(self, context: int, word: int) -> int:
        """The context after `word`."""
        return self.trie.next_context(context, word)

    def continuations(self, context: int) -> tuple[Tensor, np.ndarray]:
        """Log-probability of every word after a context (V,), and the order that supplied each."""
        log_probabilities, orders = self.trie.continuations(context)
        return torch.from_numpy(log_probabilities), orders

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        contexts = state.contexts if isinstance(state, ContextState) else [-1] * len(ids)
        contexts = [self.next_context(context, int(word)) for context, word in zip(contexts, ids, strict=True)]
        return torch.stack([self.continuations(context)[0] for context in contexts]), ContextState(contexts)

    def matched_order(self, state: DecodeState) -> np.ndarray:
        assert isinstance(state, ContextState)
        return self.continuations(state.contexts[0])[1]

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """A trie from a file is checked, since the kernels follow its indices unchecked."""
        check_dtypes(tensors)
        self.set_trie(Trie.from_saved({name: as_array(tensor) for name, tensor in tensors.items()}, self.config.order, self.config.vocab_size))
