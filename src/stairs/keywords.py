"""The keywords of a verb as the fields of a job and of the options it holds."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from stairs.arguments import convert_fields
from stairs.errors import BadInput

Built = TypeVar("Built")


def refuse_unknown(verb: str, name: str, known: Sequence[str]) -> None:
    near = get_close_matches(name, known, 1)
    raise BadInput(f"{verb} has no option {name!r}" + (f"; did you mean {near[0]}?" if near else ""))


def take(given: dict[str, object], names: Sequence[str]) -> dict[str, object]:
    """Those of the given values that have one of these names, taken out."""
    return {name: given.pop(name) for name in names if name in given}


def make(kind: Callable[..., Built], values: Mapping[str, object]) -> Built:
    return kind(**values)


def build(kind: type[Built], values: Mapping[str, object]) -> Built:
    """A dataclass with these values, which are converted by its annotations."""
    return kind(**convert_fields(kind, values))


def names_of(kind: type) -> list[str]:
    return [own.name for own in fields(kind)]


def as_paths(given: object) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, str | Path) else tuple(map(str, given))  # type: ignore[call-overload]


def name_from(path: str) -> str:
    """The part of a run's name that tells of a file."""
    return re.sub(r"[^\w.-]+", "-", Path(path).name.split(".")[0])
