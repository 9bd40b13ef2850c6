"""What the columns of a table hold, from one pass over all its rows that keeps little: a text, a label, a number, an index."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from stairs.text.chinese import HAN

MAX_VALUES = 1000  # a column with more is no column of labels
MAX_LABEL_LENGTH = 80  # characters
MIN_ROWS = 4  # fewer say nothing of a column
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SENTENCE_LIKE = re.compile(rf"\S\s+\S|[{HAN}]{{4}}|\S[.!?。！？]$")
SERIALIZED_LIST = re.compile(r"\[(?:.*[,'\" ].*)?\]|\{.*[:,].*\}", re.DOTALL)  # a list or an object that a tool has written into a cell


def parse_number(value: Any) -> float | None:
    """3.8, '3.8' and the '3,8' of other countries; None for what is no finite number."""
    if isinstance(value, str):
        value = value.strip()
        value = value.replace(",", ".") if value.count(",") == 1 and "." not in value else value
        return float(value) if NUMBER.fullmatch(value) and math.isfinite(float(value)) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


class ColumnProfile:
    """A column: how many of its cells are of which kind, and its values while they are few."""

    def __init__(self) -> None:
        self.rows = self.empty = self.numbers = self.sentence_like = self.lists = self.max_length = 0
        self.is_consecutive, self.previous = True, math.nan
        self.values: set[str] | None = set()

    def add(self, value: Any) -> None:
        cell = "" if value is None else value if isinstance(value, str) else str(value)
        self.rows += 1
        self.empty += not cell.strip()
        self.lists += isinstance(value, list | dict) or SERIALIZED_LIST.fullmatch(cell) is not None
        self.max_length = max(self.max_length, len(cell))
        found = parse_number(value)
        self.numbers += found is not None
        self.sentence_like += found is None and SENTENCE_LIKE.search(cell) is not None
        self.is_consecutive = self.is_consecutive and found is not None and (self.rows == 1 or found == self.previous + 1)
        self.previous = math.nan if found is None else found
        if self.values is not None:
            self.values.add(cell.strip() if len(cell) <= MAX_LABEL_LENGTH else f"{hash(cell)}")  # long ones are told apart, not kept
            self.values = None if len(self.values) > MAX_VALUES else self.values

    @property
    def is_index(self) -> bool:
        return self.is_consecutive and self.rows >= MIN_ROWS

    @property
    def is_number(self) -> bool:
        return self.numbers == self.rows > 0

    @property
    def fits_text(self) -> bool:
        """Neither numbers nor ids nor a few names again and again."""
        return self.sentence_like > self.rows / 4 and not self.lists and (self.values is None or 3 * len(self.values) > self.rows)

    @property
    def fits_label(self) -> bool:
        """A few short values, each of them often, in every row."""
        few = self.values is not None and 2 <= len(self.values) <= max(2, self.rows / 3)
        return few and not self.empty and not self.lists and self.max_length <= MAX_LABEL_LENGTH and not self.is_index

    @property
    def fits_target(self) -> bool:
        """A label, or a score."""
        return self.fits_label or (self.is_number and not self.is_index)


def profile_columns(columns: Sequence[str], rows: Iterable[tuple[int, Sequence[Any]]]) -> dict[str, ColumnProfile]:
    """By column."""
    found = [ColumnProfile() for _ in columns]
    for _, values in rows:
        for profile, value in zip(found, values, strict=True):
            profile.add(value)
    return dict(zip(columns, found, strict=True))


def partition_rows_alike(rows: Iterable[tuple[int, Sequence[Any]]]) -> bool:
    """Whether all columns part the rows alike, as 0 and 1 beside 'neg' and 'pos' do: then they say the same."""
    seen: dict[tuple[int, str], tuple[str, ...]] = {}
    for _, values in rows:
        cells = tuple(str(value).strip() for value in values)
        if any(seen.setdefault((place, cell), cells) != cells for place, cell in enumerate(cells)) or len(seen) > 4 * MAX_VALUES:
            return False
    return True
