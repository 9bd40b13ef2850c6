"""The trie of an n-gram model as arrays: the probabilities of texts, and of every next word, by compiled lookups (`kernels/trie.py`).

It gives what `models/ngram.py` says of P(w | h), without torch: tests/models/test_kneser_ney.py. A few words are looked up by a plain loop, which
gives the same bits, because the compiler alone takes half a second to import: tests/fast/test_ngram_trie.py.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from stairs.errors import BadInput

LOG10 = math.log(10)
PLAIN_LOOKUPS = 512  # words that are looked up without the compiler, unless it is imported already: some milliseconds
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
        if targets.size <= PLAIN_LOOKUPS and "numba" not in sys.modules:
            self.score_plainly(ids, targets, ignore, scores, nodes)
        else:
            from stairs.kernels import trie

            trie.score(*self.lookup_arrays, ids, targets, ignore, scores, nodes)
        return scores * LOG10, np.where(targets == ignore, 0, self.order_of(nodes))

    def score_plainly(self, ids: np.ndarray, targets: np.ndarray, ignore: int, scores: np.ndarray, nodes: np.ndarray) -> None:
        """What `kernels/trie.py: score` does."""
        for row in range(len(ids)):
            context = -1
            for i, (word, target) in enumerate(zip(ids[row].tolist(), targets[row].tolist(), strict=True)):
                context = self.look_up(context, word)[2]
                if target != ignore:
                    scores[row, i], nodes[row, i], _ = self.look_up(context, target)

    def look_up(self, context: int, word: int) -> tuple[float, int, int]:
        """log10 P(word | context), the node that supplied it, and the context of the next word: what `kernels/trie.py: step` does."""
        backoff, node = 0.0, context
        while node >= 0:
            low, high = int(self.first[node]), int(self.first[node + 1])
            child = low + int(np.searchsorted(self.words[low:high], word))
            if child < high and self.words[child] == word:
                return backoff + float(self.log10s[child]), child, child if child < len(self.backoffs) else int(self.suffixes[child])
            backoff += float(self.backoffs[node])
            node = int(self.suffixes[node])
        return backoff + float(self.log10s[word]), word, word if word < len(self.backoffs) else -1

    def order_of(self, nodes: np.ndarray) -> np.ndarray:
        """How many words an n-gram has."""
        return np.searchsorted(np.cumsum(self.sizes), nodes, side="right") + 1

    def next_context(self, context: int, word: int) -> int:
        """The context after `word`."""
        from stairs.kernels import trie

        return int(trie.step(*self.lookup_arrays, context, word)[2])

    def continuations(self, context: int) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of every word after a context (V,), and the order that supplied each."""
        vocab_size = int(self.sizes[0])
        probabilities = np.empty(vocab_size, np.float64)
        nodes = np.empty(vocab_size, np.int64)
        from stairs.kernels import trie

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
