"""Numbers for the words of many texts, fast: what stands between two spaces is cut into words once, and looked up wherever it occurs again.

It equals cutting every text by itself, for a tokenizer whose words never span a space: tests/text/tokenizers/test_spaced_chunks.py.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stairs.text.tokenizers.tokenizer import Tokenizer

MAX_LENGTH = 40  # characters of a chunk that is remembered: a longer one is hardly seen twice
MAX_CHUNKS = 500_000  # that are remembered
FEW_TEXTS = 16  # for which it is not worth it


class SpacedChunks(dict[str, Sequence[int]]):
    """`number` gives the numbers of the words of a chunk."""

    def __init__(self, number: Callable[[str], Sequence[int]]) -> None:
        super().__init__()
        self.number = number

    def __missing__(self, chunk: str) -> Sequence[int]:
        numbers = self.number(chunk) if chunk else ()
        if len(chunk) <= MAX_LENGTH:
            if len(self) >= MAX_CHUNKS:
                self.clear()
            self[chunk] = numbers
        return numbers

    def number_texts(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the words of all texts, one after another, and how many each text has."""
        numbers, ends = array("q"), [0]
        for text in texts:
            numbers.extend(chain.from_iterable(map(self.__getitem__, text.split(" "))))
            ends.append(len(numbers))
        return np.array(numbers, np.int64), np.diff(ends)


def has_spaced_chunks(tokenizer: "Tokenizer", texts: Sequence[str]) -> bool:
    """Whether the words of these texts can be looked up so, and are enough to be worth it."""
    return len(texts) > FEW_TEXTS and tokenizer.spec.kind == "words" and not tokenizer.encodes_sentences
