"""The n-gram model: the probability of the next word from how often it followed the last n-1 words.

Shannon 1948; smoothing as in `kneser_ney.py`. A word that was never seen after the last n-1 words backs off to the last n-2:

    P(w | h) = p(hw)                    if hw was seen
             = backoff(h) P(w | h')     if not; h' is h without its first word

The n-grams form a trie (`stairs.kernels.trie`); a context is a node of it, and its suffix link is h'.

Departures: none.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.fast.decode_state import ContextState, DecodeState
from stairs.fast.kneser_ney_trie import Trie, estimate
from stairs.kernels import trie
from stairs.models.base import Model, as_array
from stairs.models.settings import NGramConfig
from stairs.text.batch import IGNORE_INDEX, Batch

LOG10 = math.log(10)
ARRAYS = {
    "words": torch.int32,
    "log10s": torch.float32,
    "suffixes": torch.int32,
    "backoffs": torch.float32,
    "first": torch.int32,
    "sizes": torch.int64,
}


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
        for name, dtype in ARRAYS.items():
            self.register_buffer(name, torch.zeros(0, dtype=dtype))

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
        for name, dtype in ARRAYS.items():
            setattr(self, name, torch.as_tensor(np.asarray(getattr(arrays, name))).to(dtype))

    @property
    def trie(self) -> tuple[np.ndarray, ...]:
        return tuple(as_array(tensor) for tensor in (self.words, self.log10s, self.suffixes, self.backoffs, self.first))

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
        ids, targets = as_array(batch.ids), as_array(batch.targets)
        scores = np.zeros(ids.shape, np.float64)
        nodes = np.zeros(ids.shape, np.int32)
        trie.score(*self.trie, ids, targets, IGNORE_INDEX, scores, nodes)
        orders = np.where(targets == IGNORE_INDEX, 0, self.order_of(nodes))
        return torch.from_numpy(scores * LOG10), torch.from_numpy(orders)

    def order_of(self, nodes: np.ndarray) -> np.ndarray:
        """How many words an n-gram has."""
        return np.searchsorted(np.cumsum(as_array(self.sizes)), nodes, side="right") + 1

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
        return trie.step(*self.trie, context, word)[2]

    def continuations(self, context: int) -> tuple[Tensor, np.ndarray]:
        """Log-probability of every word after a context (V,), and the order that supplied each."""
        probabilities = np.empty(self.config.vocab_size, np.float64)
        nodes = np.empty(self.config.vocab_size, np.int64)
        trie.distribution(*self.trie, self.config.vocab_size, context, probabilities, nodes)
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(probabilities)), self.order_of(nodes)

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        contexts = state.contexts if isinstance(state, ContextState) else [-1] * len(ids)
        contexts = [self.next_context(context, int(word)) for context, word in zip(contexts, ids, strict=True)]
        return torch.stack([self.continuations(context)[0] for context in contexts]), ContextState(contexts)

    def matched_order(self, state: DecodeState) -> np.ndarray:
        assert isinstance(state, ContextState)
        return self.continuations(state.contexts[0])[1]

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """A trie from a file is checked, since the kernels follow its indices unchecked."""
        if set(tensors) != set(ARRAYS) or any(tensors[name].dtype != kind or tensors[name].dim() != 1 for name, kind in ARRAYS.items()):
            raise BadInput(
                f"the saved tensors are not those of an n-gram model: {', '.join(sorted(tensors)[:6])}; expected {', '.join(ARRAYS)}"
            )
        words, suffixes, first, sizes = (as_array(tensors[name]) for name in ("words", "suffixes", "first", "sizes"))
        inner = int(sizes[:-1].sum()) if len(sizes) else -1
        is_consistent = (
            len(sizes) == self.config.order
            and sizes[0] == self.config.vocab_size
            and len(words) == len(suffixes) == len(tensors["log10s"]) == sizes.sum()
            and len(tensors["backoffs"]) == inner == len(first) - 1
            and words.min() >= 0
            and words.max() < self.config.vocab_size
            and (suffixes < np.arange(len(suffixes))).all()
            and suffixes.min() >= -1
            and (np.diff(first) >= 0).all()
            and first[-1] == len(words)
            and (inner == 0 or (first[:-1] > np.arange(inner)).all())
            and bool(torch.isfinite(tensors["log10s"]).all() and torch.isfinite(tensors["backoffs"]).all())
        )
        if not is_consistent:
            raise BadInput("the saved n-gram model is inconsistent; train or adopt it again")
        for name in ARRAYS:
            setattr(self, name, tensors[name])
