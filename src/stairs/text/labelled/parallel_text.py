"""Two files whose lines translate one another."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from stairs.errors import BadInput
from stairs.text.examples import TranslationPair
from stairs.text.input_files import COMPRESSIONS, printable
from stairs.text.labelled.column_names import is_language
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables.lines import numbered_lines


def language_suffix(path: str | Path) -> str:
    """'train.en.gz' -> 'en'; '' where the suffix is not a language."""
    path = Path(path)
    last = Path(path.stem if path.suffix.lower() in COMPRESSIONS else path.name).suffix[1:]
    return last if is_language(last) else ""


def translation_sibling(path: str | Path) -> Path | None:
    """The file beside 'train.en' of the same name in another language, if there is exactly one."""
    path = Path(path)
    here = language_suffix(path)
    if not here or not path.parent.is_dir():
        return None
    stem = path.name.split(f".{here}")[0]
    others = [other for other in path.parent.iterdir() if other.name.startswith(stem + ".") and language_suffix(other) not in ("", here)]
    others = [other for other in others if other.name.split(f".{language_suffix(other)}")[0] == stem]
    return others[0] if len(others) == 1 else None


def read_parallel(source: str | Path, target: str | Path, encoding: str | None, notes: DataNotes) -> Iterator[TranslationPair]:
    """Line by line; if the numbers of lines differ, the error says where the files probably diverge."""
    lengths = (array("I"), array("I"))
    name, other = printable(source), printable(target)
    for one, two in zip_longest(numbered_lines(source, encoding), numbered_lines(target, encoding)):
        for own, numbered in zip(lengths, (one, two), strict=True):
            if numbered:
                own.append(len(numbered[1].strip()))
        if one and two and len(lengths[0]) == len(lengths[1]) and not notes.is_blank(name, one[0], one[1], two[1]):
            yield TranslationPair(one[1].strip(), two[1].strip(), f"{name}:{one[0]}")
    counts = [len(own) for own in lengths]
    if counts[0] != counts[1]:
        line = likely_misalignment(*(np.frombuffer(own, dtype=np.uint32) for own in lengths))
        sentence = f"{name}:{line}: {name} has {counts[0]} lines and {other} has {counts[1]}"
        raise BadInput(f"{sentence}; they probably diverge near line {line}: add or remove lines there so that each translates the other")


def likely_misalignment(first: Sequence[int] | np.ndarray, second: Sequence[int] | np.ndarray) -> int:
    """The line from which shifting the longer file by the difference makes the lengths agree best (after Gale and Church, 1993)."""
    short, long = sorted((np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)), key=len)
    if not len(short):
        return 1
    missing = len(long) - len(short)
    short, long = np.log1p(short), np.log1p(long)
    difference = np.median(long[: len(short)] - short)
    straight = np.abs(long[: len(short)] - short - difference)
    shifted = np.abs(long[missing:] - short - difference)
    costs = np.concatenate(([0.0], np.cumsum(straight))) + np.concatenate((np.cumsum(shifted[::-1])[::-1], [0.0]))
    return int(np.argmin(costs)) + 1
