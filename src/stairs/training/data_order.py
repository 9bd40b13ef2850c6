"""Which examples each step learns from: a pure function of the lengths, the seed and the epoch, so that resuming needs one integer.

Examples of about the same length stand together, so that little is padding; the borders between batches follow from the lengths alone, so
that every epoch has the same number of batches and step -> (epoch, index) is one division.
"""

from functools import lru_cache

import numpy as np

from stairs.randomness import numpy_generator

STEPS_PER_DOUBLING = 8  # how finely lengths are told apart


def bucketed_batches(lengths: np.ndarray, batch_tokens: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The numbers of the examples of each batch of an epoch; a batch has at most `batch_tokens` positions, or one example."""
    random = numpy_generator(seed, "order", epoch)
    rough = rounded_lengths(np.asarray(lengths))
    order = np.lexsort((random.permutation(len(rough)), rough))  # by length, equal ones in another order every epoch
    found = np.split(order, batch_boundaries(rough[order], batch_tokens))
    return [found[i] for i in random.permutation(len(found))]


def shuffled_batches(count: int, batch_examples: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Equally many examples for each batch, whatever their lengths: labelled examples are few, and short ones shall not stand together."""
    order = numpy_generator(seed, "order", epoch).permutation(count)
    return np.split(order, range(batch_examples, count, batch_examples))


def rounded_lengths(lengths: np.ndarray) -> np.ndarray:
    """Lengths rounded up to one of a few; the longest are not made longer."""
    lengths = np.maximum(lengths, 1)
    rounded = np.ceil(2.0 ** (np.ceil(np.log2(lengths) * STEPS_PER_DOUBLING) / STEPS_PER_DOUBLING)).astype(np.int64)
    return np.minimum(np.maximum(rounded, lengths), lengths.max(initial=1))


def batch_boundaries(ascending: np.ndarray, batch_tokens: int) -> list[int]:
    """Where to cut examples in order of length; a batch counts as wide as its longest."""
    found: list[int] = []
    start = 0
    while True:
        reach = ascending[start : start + batch_tokens]
        fits = int(np.searchsorted(reach * np.arange(1, len(reach) + 1), batch_tokens, side="right"))
        start += max(fits, 1)
        if start >= len(ascending):
            return found
        found.append(start)


class BatchOrder:
    """The batches of one training, by step."""

    def __init__(self, lengths: np.ndarray, batch_tokens: int, seed: int, batch_examples: int | None = None) -> None:
        """A step has `batch_tokens` positions, or `batch_examples` examples if that is said."""
        self.lengths, self.batch_tokens, self.seed = lengths, batch_tokens, seed
        if batch_examples is None:
            self.batches_per_epoch = len(batch_boundaries(np.sort(rounded_lengths(np.asarray(lengths))), batch_tokens)) + 1
            self.epoch = lru_cache(2)(lambda epoch: bucketed_batches(lengths, batch_tokens, seed, epoch))
        else:
            self.batches_per_epoch = -(-len(lengths) // batch_examples)
            self.epoch = lru_cache(2)(lambda epoch: shuffled_batches(len(lengths), batch_examples, seed, epoch))

    def position(self, step: int) -> tuple[int, int]:
        """The epoch a step falls in, and which of its batches it learns from."""
        return divmod(step, self.batches_per_epoch)

    def batch_at(self, step: int) -> tuple[int, np.ndarray]:
        """The epoch of a step and the numbers of its examples."""
        epoch, index = self.position(step)
        return epoch, self.epoch(epoch)[index]


def worker_parts(numbers: np.ndarray, rank: int, workers: int, parts: int) -> list[np.ndarray]:
    """One worker's share of a batch, in the parts it is computed in: as many for every worker, so that some may be empty."""
    return np.array_split(numbers[rank::workers], min(parts, -(-len(numbers) // workers)))
