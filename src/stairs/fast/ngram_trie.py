"""The trie of an n-gram model as arrays: the probabilities of texts, and of every next word, by compiled lookups (`kernels/trie.py`).

It gives what `models/ngram.py` says of P(w | h), without torch: tests/models/test_kneser_ney.py.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from stairs.errors import BadInput
from stairs.kernels import trie

LOG10 = math.log(10)
DTYPES = {"words": "int32", "log10s": "float32", "suffixes": "int32", "backoffs": "float32", "first": "int32", "sizes": "int64"}


class HasShape(Protocol):
    """An array or a tensor."""

    @property
    def dtype(self) -> object: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass
class Trie:
    """The arrays of `kernels/trie.py`; `sizes` are the numbers of n-grams of each order, the words first."""

    words: np.ndarray  # (N,) last word of each n-gram
    log10s: np.ndarray  # (N,)
    suffixes: np.ndarray  # (N,) the n-gram without its first word
    backoffs: np.ndarray  # of all but the longest n-grams
    first: np.ndarray  # where the continuations of each n-gram start
    sizes: np.ndarray  # (order,) how many n-grams of each length
    default_discounts: list[int] = field(default_factory=list)  # orders with too few different counts to estimate discounts from

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Trie":
        return cls(arrays["words"], arrays["log10s"], arrays["suffixes"], arrays["backoffs"], arrays["first"], arrays["sizes"])

    def arrays(self) -> dict[str, np.ndarray]:
        """What is saved."""
        return {name: np.asarray(getattr(self, name)).astype(dtype, copy=False) for name, dtype in DTYPES.items()}

    @property
    def lookup_arrays(self) -> tuple[np.ndarray, ...]:
        return self.words, self.log10s, self.suffixes, self.backoffs, self.first

    def log_likelihood(self, ids: np.ndarray, targets: np.ndarray, ignore: int) -> tuple[np.ndarray, np.ndarray]:
        """Natural-log probability of each target (B, T), 0 where it is `ignore`, and the order of the n-gram that supplied it."""
        scores = np.zeros(ids.shape, np.float64)
        nodes = np.zeros(ids.shape, np.int32)
        trie.score(*self.lookup_arrays, ids, targets, ignore, scores, nodes)
        return scores * LOG10, np.where(targets == ignore, 0, self.order_of(nodes))

    def order_of(self, nodes: np.ndarray) -> np.ndarray:
        """How many words an n-gram has."""
        return np.searchsorted(np.cumsum(self.sizes), nodes, side="right") + 1

    def next_context(self, context: int, word: int) -> int:
        """The context after `word`."""
        return int(trie.step(*self.lookup_arrays, context, word)[2])

    def continuations(self, context: int) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of every word after a context (V,), and the order that supplied each."""
        vocab_size = int(self.sizes[0])
        probabilities = np.empty(vocab_size, np.float64)
        nodes = np.empty(vocab_size, np.int64)
        trie.distribution(*self.lookup_arrays, vocab_size, context, probabilities, nodes)
        with np.errstate(divide="ignore"):
            return np.log(probabilities), self.order_of(nodes)

    @classmethod
    def from_saved(cls, arrays: Mapping[str, np.ndarray], order: int, vocab_size: int) -> "Trie":
        """A trie from a file, which is checked, since the kernels follow its indices unchecked."""
        check_dtypes(arrays)
        loaded = cls.from_arrays(arrays)
        if not loaded.is_consistent(order, vocab_size):
            raise BadInput("the saved n-gram model is inconsistent; train or adopt it again")
        return loaded

    def is_consistent(self, order: int, vocab_size: int) -> bool:
        words, suffixes, first, sizes = self.words, self.suffixes, self.first, self.sizes
        inner = int(sizes[:-1].sum()) if len(sizes) else -1
        return bool(
            len(sizes) == order
            and sizes[0] == vocab_size
            and len(words) == len(suffixes) == len(self.log10s) == sizes.sum()
            and len(self.backoffs) == inner == len(first) - 1
            and words.min() >= 0
            and words.max() < vocab_size
            and (suffixes < np.arange(len(suffixes))).all()
            and suffixes.min() >= -1
            and (np.diff(first) >= 0).all()
            and first[-1] == len(words)
            and (inner == 0 or (first[:-1] > np.arange(inner)).all())
            and np.isfinite(self.log10s).all()
            and np.isfinite(self.backoffs).all()
        )


def check_dtypes(arrays: Mapping[str, HasShape]) -> None:
    """BadInput unless these arrays or tensors are those of a trie."""
    kinds = {name: (str(array.dtype).removeprefix("torch."), len(array.shape)) for name, array in arrays.items()}
    if kinds != {name: (dtype, 1) for name, dtype in DTYPES.items()}:
        raise BadInput(f"the saved tensors are not those of an n-gram model: {', '.join(sorted(arrays)[:6])}; expected {', '.join(DTYPES)}")
