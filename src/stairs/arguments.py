"""Arguments of Python, checked by the annotations that they have: a wrong one is refused in a sentence before anything is computed.

Whole numbers, numbers, strings, switches, paths, choices and lists of names are checked; anything else in an annotation, such as `Data`, is left to
whom it is for. Numbers of numpy become Python's own, since settings are written as JSON, and 1e4 becomes 10000 where a whole number is needed.
"""

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from stairs.errors import BadInput, preview

HINTS = {"budget": "a time such as '90s', '10m' or '2h'"}
WANTED: dict[object, str] = {int: "a whole number", float: "a number", str: "a string", bool: "True or False", Path: "a path"}
UNFIT = object()


def convert_fields(kind: type, values: Mapping[str, object]) -> dict[str, object]:
    """The values of some fields of a dataclass, converted."""
    annotations = {own.name: own.type for own in fields(kind)}
    return {name: convert(name, value, annotations.get(name)) for name, value in values.items()}


def convert(name: str, value: object, annotation: object) -> object:
    """The value as the annotation has it; BadInput if it does not fit."""
    kinds = kinds_of(annotation)
    if not kinds:
        return value
    for own in kinds:
        if (found := fit(name, value, own)) is not UNFIT:
            return found
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        near = get_close_matches(value, choices, 1) if isinstance(value, str) else []
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(map(str, choices))}"
        raise BadInput(f"there is no {name} {preview(value)}; {hint}")
    wanted = HINTS.get(name) or " or ".join(WANTED.get(kind, "a list of names") for kind in kinds if kind is not NoneType)
    kind = "" if value is None else f", which is of type {type(value).__name__}"
    raise BadInput(f"{name} is {preview(value)}{kind}; give {wanted}")


@cache
def kinds_of(annotation: object) -> tuple[object, ...]:
    """The kinds of a union; none if there is one that is not checked here."""
    if get_origin(annotation) is Annotated:  # as tyro leaves the fields of what it has parsed
        annotation = get_args(annotation)[0]
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return kinds if all(kind in WANTED or kind is NoneType or get_origin(kind) is Literal or is_name_list(kind) for kind in kinds) else ()


def is_name_list(kind: object) -> bool:
    items = [item for item in get_args(kind) if item is not Ellipsis]
    return get_origin(kind) in (Sequence, tuple) and all(set(kinds_of(item)) & {str, Path} for item in items)


def fit(name: str, value: object, kind: object) -> object:
    """The value as one kind; UNFIT if it is none."""
    if get_origin(kind) is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else UNFIT
    if is_name_list(kind):
        if isinstance(value, str | os.PathLike):
            return (value,)
        if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
            return UNFIT
        return tuple(convert(name, item, get_args(kind)[0]) for item in value)
    if kind is NoneType:
        return value if value is None else UNFIT
    return FITS[kind](value)


def fit_whole(value: object) -> object:
    number = fit_number(value)
    return int(number) if isinstance(number, int) or (isinstance(number, float) and number.is_integer()) else UNFIT


def fit_number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        return UNFIT
    return operator.index(value) if isinstance(value, Integral) else float(value)


def fit_switch(value: object) -> object:
    return bool(value) if type(value).__name__ in ("bool", "bool_") else UNFIT  # bool_ is numpy's


FITS: dict[object, Callable[[object], object]] = {
    int: fit_whole,
    float: fit_number,
    bool: fit_switch,
    str: lambda value: str(value) if isinstance(value, str) else UNFIT,
    Path: lambda value: value if isinstance(value, os.PathLike) else UNFIT,
}
