"""What the columns of a table hold, from one pass over all rows in little memory: a text, a label, a number, an index."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from stairs.text.chinese import HAN

MAX_VALUES = 1000  # a column with more is not a column of labels
MAX_LABEL_LENGTH = 80  # characters
MIN_ROWS = 4  # fewer prove nothing
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SENTENCE_LIKE = re.compile(rf"\S\s+\S|[{HAN}]{{4}}|\S[.!?。！？]$")
SERIALIZED_LIST = re.compile(r"\[(?:.*[,'\" ].*)?\]|\{.*[:,].*\}", re.DOTALL)  # a list or an object that a tool wrote into a cell


def parse_number(value: object) -> float | None:
    """3.8, '3.8' and the '3,8' of other countries; None for anything else."""
    if isinstance(value, str):
        value = value.strip()
        value = value.replace(",", ".") if value.count(",") == 1 and "." not in value else value
        return float(value) if NUMBER.fullmatch(value) and math.isfinite(float(value)) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def is_missing(value: object) -> bool:
    """An empty cell, null, or the NaN that pandas has for one. The words NA and None are not: they may be labels."""
    return value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and math.isnan(value))


class ColumnProfile:
    """A column: how many of its cells are of each kind, and its values while they are few."""

    def __init__(self) -> None:
        self.row_count = self.empty = self.numbers = self.sentence_like = self.lists = self.max_length = 0
        self.is_consecutive, self.previous = True, math.nan
        self.values: set[str] | None = set()

    def add(self, value: object) -> None:
        cell = value if isinstance(value, str) else "" if is_missing(value) else str(value)
        self.row_count += 1
        self.empty += not cell.strip()
        self.lists += isinstance(value, list | dict) or SERIALIZED_LIST.fullmatch(cell) is not None
        self.max_length = max(self.max_length, len(cell))
        number = parse_number(value)
        self.numbers += number is not None
        self.sentence_like += number is None and SENTENCE_LIKE.search(cell) is not None
        self.is_consecutive = self.is_consecutive and number is not None and (self.row_count == 1 or number == self.previous + 1)
        self.previous = math.nan if number is None else number
        if self.values is not None and cell.strip():
            self.values.add(cell.strip() if len(cell) <= MAX_LABEL_LENGTH else f"{hash(cell)}")  # long values are compared, not kept
            self.values = None if len(self.values) > MAX_VALUES else self.values

    @property
    def is_index(self) -> bool:
        return self.is_consecutive and self.row_count >= MIN_ROWS

    @property
    def is_number(self) -> bool:
        return self.numbers == self.row_count > 0

    @property
    def fits_text(self) -> bool:
        """Neither numbers nor ids nor a few values again and again."""
        return self.sentence_like > self.row_count / 4 and not self.lists and (self.values is None or 3 * len(self.values) > self.row_count)

    @property
    def fits_label(self) -> bool:
        """A few short values, each of them often, in the rows that have one."""
        are_few = self.values is not None and 2 <= len(self.values) <= max(2, (self.row_count - self.empty) / 3)
        return are_few and not self.lists and self.max_length <= MAX_LABEL_LENGTH and not self.is_index

    @property
    def fits_number(self) -> bool:
        """A number in every row that has something, and no index."""
        return 0 < self.numbers == self.row_count - self.empty and not self.is_index

    @property
    def fits_label_sets(self) -> bool:
        """Lists, or short cells that are no numbers."""
        return self.lists > 0 or (self.max_length <= MAX_LABEL_LENGTH and self.numbers < self.row_count and not self.is_index)

    @property
    def fits_target(self) -> bool:
        """A label, or a score."""
        return self.fits_label or (self.is_number and not self.is_index)


def profile_columns(columns: Sequence[str], rows: Iterable[tuple[int, Sequence[Any]]]) -> dict[str, ColumnProfile]:
    """The profile of each column."""
    profiles = [ColumnProfile() for _ in columns]
    for _, values in rows:
        for profile, value in zip(profiles, values, strict=True):
            profile.add(value)
    return dict(zip(columns, profiles, strict=True))


def partition_rows_alike(rows: Iterable[tuple[int, Sequence[Any]]]) -> bool:
    """Whether all columns partition the rows in the same way, as 0 and 1 beside 'neg' and 'pos' do."""
    seen: dict[tuple[int, str], tuple[str, ...]] = {}
    for _, values in rows:
        cells = tuple(str(value).strip() for value in values)
        if any(seen.setdefault((column, cell), cells) != cells for column, cell in enumerate(cells)) or len(seen) > 4 * MAX_VALUES:
            return False
    return True
