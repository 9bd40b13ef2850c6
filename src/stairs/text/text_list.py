"""Texts as Python's libraries hand them over, as a list of str: a list, an array, a column of a data frame, or a frame of one column."""

from collections.abc import Iterable
from itertools import chain
from typing import cast

from stairs.errors import BadInput, preview


def text_list(texts: object, name: str = "X") -> list[str]:
    """The texts; what is none is refused with its position. `name` is what the caller calls them."""
    if isinstance(texts, str | bytes):
        raise BadInput(f"{name} is a single text; give a list of texts: [{preview(texts, 20)}]")
    rows = list(column_values(texts, name))
    if not rows:
        raise BadInput(f"{name} has no texts; give at least one")
    for number, text in enumerate(rows):
        if not isinstance(text, str):
            raise BadInput(f"{name}[{number}] is {preview(text)} and not a text; {advice_for(text)}")
    return [str(text) for text in rows]  # an array's str is a class of its own


def column_values(values: object, name: str) -> Iterable[object]:
    """The values of a column, whether it comes as a column or as a frame or matrix that has no other."""
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            columns = ", ".join(map(str, getattr(values, "columns", ()))) or f"{shape[1]} columns"
            raise BadInput(f"{name} is a table of {columns}; give the column of the texts alone")
        rows = cast("Iterable[Iterable[object]]", getattr(values, "to_numpy", lambda: values)())
        return chain.from_iterable(rows)
    if shape is not None and len(shape) != 1:
        raise BadInput(f"{name} has {len(shape)} dimensions; give one column of texts")
    if not isinstance(values, Iterable):
        raise BadInput(f"{name} is {preview(values)} and not a list of texts; give a list")
    return cast("Iterable[object]", getattr(values, "tolist", lambda: values)())


def advice_for(value: object) -> str:
    if isinstance(value, bytes):
        return "decode it first: text.decode('utf-8')"
    is_missing = value is None or value != value or str(value) == "<NA>"
    return "drop the row, or fill it with a text" if is_missing else "turn it into one with str()"
