"""Subwords: the character n-grams of a word stand for it, too, so that an unseen word is not unknown.

Bojanowski, Grave, Joulin & Mikolov 2017, "Enriching Word Vectors with Subword Information". With lengths 3 to 4, `where` is

    <wh whe her ere re> <whe wher here ere>

and each n-gram is the number of a bucket, its FNV-1a hash modulo their number, the same as in fastText.

Departures: a Chinese character carries as much as several letters, so n-grams of Han characters alone begin at length one: 中国 is also 中, 国 and
中国.
"""

from collections.abc import Sequence

import numpy as np

from stairs.kernels.subwords import bucket_ids
from stairs.text.chinese import HAN_RANGES


def subword_buckets(words: Sequence[str], lengths: tuple[int, int], buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """The buckets of all words' n-grams, and where those of each word begin, (words + 1,)."""
    spellings = [f"<{word}>".encode(errors="replace") for word in words]
    starts = np.cumsum([0, *map(len, spellings)])
    return bucket_ids(np.frombuffer(b"".join(spellings), np.uint8), starts, *lengths, buckets, np.array(HAN_RANGES))
