"""Texts and labels as scikit-learn hands them over: X and y, as lists, arrays, columns, or frames of one column."""

from collections.abc import Hashable, Iterable, Sequence
from typing import cast

import numpy as np

from stairs.errors import BadInput, preview
from stairs.text.python_rows import list_texts, values_of


def column_texts(texts: object, name: str = "X") -> list[str]:
    """The texts of a list, an array, a column, or a frame of one column."""
    if isinstance(texts, str):
        raise BadInput(f"{name} is a single text; give a list of texts: [{preview(texts, 20)}]")
    return list_texts(cast("Iterable[str]", single_column(texts, name)))


def single_column(values: object, name: str) -> Iterable[object]:
    """A frame or a matrix of one column as that column, and anything else as it is."""
    shape: tuple[int, ...] = getattr(values, "shape", (0,))
    if len(shape) == 1:
        return cast("Iterable[object]", values)
    if len(shape) != 2 or shape[1] != 1:
        columns = ", ".join(map(str, getattr(values, "columns", ()))) or f"the shape {shape}"
        raise BadInput(f"{name} is a table with {columns}; choose one of its columns")
    matrix = cast(np.ndarray, getattr(values, "to_numpy", lambda: values)())
    return matrix[:, 0]


def label_list(labels: object) -> list[Hashable]:
    """The labels as they were given: whole numbers stay whole numbers."""
    if isinstance(labels, str | bytes):
        raise BadInput("y is a single label; give a list with a label for each text")
    found = list(values_of(single_column(labels, "y"), "labels"))
    for number, label in enumerate(found):
        if isinstance(label, list | set):
            raise BadInput(f"y[{number}] is {preview(label)}, and a TextClassifier gives one label; use stairs.tune with task='multilabel'")
        if label is None or label != label or not isinstance(label, Hashable):
            raise BadInput(f"y[{number}] is {preview(label)} and not a label; drop the row, or give it one")
    if any(isinstance(label, float) and not label.is_integer() for label in found):
        raise BadInput('y holds numbers with fractions, which are no labels; predict them with stairs.tune(model, X, y, task="regress")')
    return found


def class_array(labels: Sequence[Hashable], dtype: object) -> np.ndarray:
    """Each label once, sorted if they can be."""
    try:
        classes = sorted(set(labels))  # type: ignore[type-var]
    except TypeError:
        classes = sorted(set(labels), key=lambda label: (type(label).__name__, repr(label)))
    kinds = {type(label) for label in classes}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(classes, dtype if isinstance(dtype, np.dtype) else None)
    array = np.empty(len(classes), object)  # an array of tuples would be a table
    array[:] = classes
    return array
