"""What the trainer of a unigram tokenizer is given, and what its scores become.

Departures: it stops reading after UNIGRAM_CHARACTERS characters of distinct words, since its time grows with them.
"""

from collections.abc import Iterable, Iterator

UNIGRAM_CHARACTERS = 1_500_000
FILLER_STEP = 0.0001  # between the scores that the trainer makes up


def until_distinct(documents: Iterable[list[str]], characters: int = UNIGRAM_CHARACTERS) -> Iterator[list[str]]:
    """The documents until their distinct words have so many characters."""
    seen: set[str] = set()
    length = 0
    for document in documents:
        yield document
        new = {word for sentence in document for word in sentence.split(" ")} - seen
        seen |= new
        length += sum(map(len, new))
        if length >= characters:
            return


def stable_scores(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Pieces whose scores and order are the same in every run.

    The trainer sums in the order of a randomly seeded hash map, so that the last digits vary. To characters without a score it gives the lowest score
    plus one FILLER_STEP, two, three and so on, in that order: here they all get the lowest.
    """
    lowest = min(score for _, score in pieces)
    scores = []
    for piece, score in pieces:
        steps = (score - lowest) / FILLER_STEP
        is_filler = len(piece) == 1 and steps < len(pieces) and abs(steps - round(steps)) < 1e-6
        scores.append((piece, round(lowest if is_filler else score, 6)))
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))
