"""Texts and rows as Python's libraries hand them over: lists, generators, columns, data frames, datasets, as plain strings and dicts.

Nothing is imported: pandas, polars, datasets and numpy are known by the methods that their objects have. What is no text is refused with its number.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from stairs.errors import BadInput, preview

Texts = str | Iterable[str]  # one text, or several
ROW_COLUMNS = {2: ("text", "label"), 3: ("first", "second", "label")}  # of tuples, by their length


def list_texts(texts: Texts, what: str = "texts") -> list[str]:
    """Some texts as a list of strings; anything else is refused with its number."""
    if isinstance(texts, str):
        return [texts]
    items = list(checked_texts(values_of(texts, what), kind_of(texts)))
    if not items:
        used = "; a generator that was used before gives nothing: make a list of it" if isinstance(texts, Iterator) else "; give at least one"
        raise BadInput(f"no {what} given{used}")
    return items


def checked_texts(texts: Iterable[object], kind: str) -> Iterator[str]:
    for number, item in enumerate(texts, 1):
        if not isinstance(item, str):
            raise BadInput(f"{kind}:{number}: {describe(item)} among the texts; {advice_for(item)}")
        yield item


def values_of(values: Iterable[object], what: str) -> Iterable[object]:
    """A column as plain values: a list, a generator, a Series, an array, a column of a dataset."""
    if isinstance(values, bytes | bytearray | Mapping) or hasattr(values, "columns") or hasattr(values, "column_names"):
        advice = "decode them first" if isinstance(values, bytes | bytearray) else "choose one of its columns"
        raise BadInput(f"{what} are given as {kind_of(values)}; {advice}")
    for method in ("to_list", "tolist"):
        if callable(convert := getattr(values, method, None)):
            values = convert()
            break
    if not isinstance(values, Iterable):
        wanted = "a list of strings" if what == "texts" else "a list"
        raise BadInput(f"{what} are given as {'None' if values is None else kind_of(values)}; give {wanted}")
    return values


# Rows


def is_table(data: object) -> bool:
    """A data frame, a dataset, a table of Arrow, or a dict of columns. A LazyFrame is asked for its schema first: it warns who asks for columns."""
    return isinstance(data, Mapping) or any(hasattr(data, own) for own in ("collect_schema", "columns", "column_names"))


def rows_of(data: object, row_columns: Mapping[int, tuple[str, ...]] | None = None) -> Iterator[dict[str, object]]:
    """Each row with named columns; tuples have the names that fit their length."""
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # a LazyFrame of polars
        data = data.collect()
    if isinstance(data, Mapping):
        yield from mapping_rows(data)
    elif callable(iter_rows := getattr(data, "iter_rows", None)):  # polars
        yield from ({str(name): plain(value) for name, value in row.items()} for row in iter_rows(named=True))
    elif hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        yield from frame_rows(data)
    elif callable(to_rows := getattr(data, "to_pylist", None)):  # Arrow
        yield from ({name: plain(value) for name, value in row.items()} for row in to_rows())
    elif hasattr(data, "column_names") and isinstance(data, Iterable):  # a dataset
        names_by_column = label_names(getattr(data, "features", None) or {})
        for row in data:
            yield {name: names_by_column[name](value) if name in names_by_column else plain(value) for name, value in row.items()}
    else:
        yield from item_rows(values_of(data, "rows"), kind_of(data), row_columns or ROW_COLUMNS)  # type: ignore[arg-type]


def mapping_rows(columns: Mapping[Any, Any]) -> Iterator[dict[str, object]]:
    """Of a dict of columns. A dict of datasets is refused, since one of them must be chosen."""
    if any(hasattr(column, "column_names") for column in columns.values()):
        raise BadInput(f"there are several splits, {', '.join(map(str, columns))}; choose one, as in data[{next(iter(columns))!r}]")
    lists = {str(name): whole_numbers([plain(value) for value in values_of(column, f"the values of {name}")]) for name, column in columns.items()}
    lengths = {len(column) for column in lists.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in lists.items())
        raise BadInput(f"the columns have different lengths ({sizes}); give one value for each row")
    for row in zip(*lists.values(), strict=True):
        yield dict(zip(lists, row, strict=True))


def frame_rows(frame: Any) -> Iterator[dict[str, object]]:
    """Of a DataFrame of pandas."""
    names = list(map(str, frame.columns))
    columns = [whole_numbers([plain(value) for value in frame.iloc[:, number].tolist()]) for number in range(len(names))]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{kind_of(frame)}: two columns are called {preview(repeated)}; rename one of them")
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def whole_numbers(column: list[object]) -> list[object]:
    """The column, with whole numbers where all are whole: pandas and numpy hold them as floats if some are missing."""
    numbers = [value for value in column if value is not None]
    if not numbers or not all(isinstance(value, float) and value.is_integer() for value in numbers):
        return column
    return [int(value) if isinstance(value, float) else value for value in column]


def label_names(features: Mapping[str, Any]) -> dict[str, Callable[[object], object]]:
    """For the columns of a dataset that hold the numbers of named classes: the name of a number, or of each number of a list."""
    found: dict[str, Callable[[object], object]] = {}
    for column, feature in features.items():
        names = getattr(feature, "names", None) or getattr(getattr(feature, "feature", None), "names", None)
        if names:
            found[column] = partial(name_classes, names)
    return found


def name_classes(names: Sequence[str], value: object) -> object:
    if isinstance(value, list):
        return [name_classes(names, one) for one in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else None


def item_rows(items: Iterable[object], kind: str, row_columns: Mapping[int, tuple[str, ...]]) -> Iterator[dict[str, object]]:
    columns: tuple[str, ...] = ()
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            yield {str(name): plain(value) for name, value in item.items()}
            continue
        if not isinstance(item, tuple | list):
            wanted = "give (text, label) tuples, dicts or a data frame" if isinstance(item, str) else advice_for(item)
            raise BadInput(f"{kind}:{number}: {describe(item)} where a row should be; {wanted}")
        columns = columns or row_columns.get(len(item), ())
        if len(item) != len(columns) or not columns:
            lengths = " or ".join(f"({', '.join(names)})" for names in row_columns.values())
            raise BadInput(f"{kind}:{number}: a row of {len(item)} values; give {lengths}")
        yield {name: plain(value) for name, value in zip(columns, item, strict=True)}


def plain(value: object) -> object:
    """As JSON holds it: None for what is missing, numbers of numpy as Python's own."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, bytes | bytearray):
        raise BadInput(f"{preview(bytes(value))} is bytes and no text; decode it first, as in value.decode()")
    if callable(item := getattr(value, "item", None)) and getattr(value, "ndim", 0) == 0:
        return plain(item())
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    if callable(convert := getattr(value, "tolist", None)):
        return plain(convert())
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


def describe(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "None" if value is None else "a missing value"
    return f"{preview(value, 30)} ({'bytes' if isinstance(value, bytes | bytearray) else f'of type {type(value).__name__}'})"


def advice_for(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return "decode it first, as in value.decode()"
    return "leave it out, or give an empty string" if value is None or (isinstance(value, float) and math.isnan(value)) else "give a string"


def kind_of(data: object) -> str:
    return type(data).__name__
