"""Pairs of sentences that translate one another, read and split: from files, or number names made by rule."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stairs.text.embedded.number_names import SET_SIZES, number_pairs
from stairs.text.examples import TranslationPair
from stairs.text.input_files import printable
from stairs.text.labelled.column_names import Columns
from stairs.text.labelled.split import split

HELD_OUT_SHARE, MAX_HELD_OUT = 0.05, 1000  # of the pairs, for validation and as many for the test, unless --dev is given


class PairSplits(NamedTuple):
    train: list[TranslationPair]
    validation: list[TranslationPair]
    test: list[TranslationPair]


def are_number_names(paths: Sequence[str]) -> bool:
    """Whether number names are meant, and not a file of that name."""
    return len(paths) == 1 and paths[0] in SET_SIZES and not Path(paths[0]).exists()


def read_translations(paths: Sequence[str], columns: Columns = None, encoding: str | None = None) -> list[TranslationPair]:
    if are_number_names(paths):
        return number_pairs(paths[0])
    from stairs.text.labelled import read_examples

    return list(read_examples(paths, "translate", columns=columns, encoding=encoding).examples)  # type: ignore[arg-type]


def split_translations(paths: Sequence[str], dev: Sequence[str] = (), *, seed: int = 0, encoding: str | None = None) -> PairSplits:
    """The same splits for the same files and seed. Half of the `dev` pairs validate, the other half tests; without them, some of the pairs do."""
    pairs = read_translations(paths, encoding=encoding)
    if dev:
        given = read_translations(dev, encoding=encoding)
        halves = split(given, {"validation": len(given) / 2, "test": len(given) / 2}, seed, source=" ".join(map(printable, dev)))
        return PairSplits(pairs, halves["validation"], halves["test"])
    held_out = max(min(int(len(pairs) * HELD_OUT_SHARE), MAX_HELD_OUT), 1)
    sizes = {"train": len(pairs) - 2 * held_out, "validation": held_out, "test": held_out}
    splits = split(pairs, sizes, seed, source=" ".join(map(printable, paths)), advice="give more, or --dev FILE")
    return PairSplits(splits["train"], splits["validation"], splits["test"])
