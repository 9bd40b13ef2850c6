"""Texts that are nearly the same: most of the character 5-grams of one are in the other.

    J(a, b) = |a and b| / |a or b|  >= 0.8            a, b the sets of 5-grams, without case and white space (Jaccard 1901)

Two texts are compared only if the smallest hashes of their 5-grams have one in common, as in the bottom-k sketches of Broder 1997: two texts with
J = 0.8 miss one another about once in a thousand times. What they cost grows with the number of texts, not with its square.
"""

from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

from stairs.text.examples import normalize_text

GRAM = 5  # characters
SKETCH = 4  # hashes of a text
MIN_SIMILARITY = 0.8
MAX_CHARACTERS = 2000  # of a text that are looked at
MAX_BUCKET = 50  # texts with a hash in common that are compared; a hash that more have is that of a common phrase
MIN_GRAMS = 5  # shorter texts are only the same, or not


def grams(text: str) -> set[bytes]:
    own = normalize_text(text[:MAX_CHARACTERS])
    return {own[i : i + GRAM].encode(errors="surrogatepass") for i in range(max(len(own) - GRAM + 1, 1))}


def sketch(found: set[bytes]) -> list[int]:
    return sorted(map(crc32, found))[:SKETCH]


def nearest_duplicates(texts: Sequence[str], others: Sequence[str]) -> dict[int, tuple[int, float]]:
    """For each text that is nearly one of the others: the number of that, and how similar they are."""
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    for number, other in enumerate(others):
        for own in sketch(grams(other)):
            if len(buckets[own]) < MAX_BUCKET:
                buckets[own].append(number)
    near: dict[int, tuple[int, float]] = {}
    for number, text in enumerate(texts):
        found = grams(text)
        candidates = {candidate for own in sketch(found) for candidate in buckets.get(own, ())}
        scores = [(similarity(found, grams(others[candidate])), -candidate) for candidate in candidates]
        best = max(scores, default=(0.0, 0))
        if best[0] >= (MIN_SIMILARITY if len(found) >= MIN_GRAMS else 1.0):
            near[number] = -best[1], best[0]
    return near


def similarity(first: set[bytes], second: set[bytes]) -> float:
    both = len(first & second)
    return both / (len(first) + len(second) - both)
