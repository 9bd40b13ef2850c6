"""What a column of labels holds: one label a cell, several, or a number; from one pass over its cells.

    several labels      lists in JSON and parquet, also written into a cell as ['a', 'b']; or parts with one of SEPARATORS between them that come in
                        different company: 'red, large' and 'red, small', but not the one label 'Clothing, Shoes & Jewelry'
    a number            every cell is one, and they have fractions or are more than MAX_NUMBER_LABELS different ones; but not the whole numbers from
                        0 or 1 on in a column whose name says that it holds classes
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress

from stairs.text.labelled.column_names import normalize_name, word_list
from stairs.text.labelled.column_profile import MAX_LABEL_LENGTH, MIN_ROWS, SERIALIZED_LIST, parse_number

SEPARATORS = (";", "|", ",", "；", "、", "，")
MAX_NUMBER_LABELS = 20  # as many different whole numbers may be labels
MAX_CELLS = 20_000  # different ones that are remembered
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
CLASS_NAMES = word_list("label labels gold_label label_id class class_id class_index category category_id cat topic intent tag 标签 类别 分类 主题")


class LabelCells:
    """The cells of a column of labels, or of numbers."""

    def __init__(self, column: str, cells: Iterable[object]) -> None:
        self.column = column
        self.count = self.empty = self.lists = 0
        self.has_fractions, self.are_consecutive, previous = False, True, None
        self.numbers: set[float] | None = set()  # None as soon as a cell is none
        self.values: set[str] = set()
        for cell in cells:
            is_list = isinstance(cell, list)
            text = "" if cell is None or is_list else str(cell).strip()
            if not text and not is_list:
                self.empty += 1
                continue
            self.count += 1
            self.lists += is_list or is_serialized(text)
            if len(self.values) < MAX_CELLS and len(text) <= 10 * MAX_LABEL_LENGTH:
                self.values.add(text)
            number = parse_number(cell)
            if number is None or self.numbers is None:
                self.numbers = None
                continue
            self.has_fractions = self.has_fractions or not number.is_integer()
            self.are_consecutive = self.are_consecutive and (previous is None or number == previous + 1)
            previous = number
            if len(self.numbers) < MAX_CELLS:
                self.numbers.add(number)

    @property
    def number_rows(self) -> bool:
        """Whether the numbers count the rows, 1, 2, 3."""
        return bool(self.numbers) and self.are_consecutive and self.count >= MIN_ROWS

    @property
    def are_measured(self) -> bool:
        """Whether they are numbers to predict, and not labels."""
        if not self.numbers or len(self.numbers) <= 2:
            return False
        return self.has_fractions or (len(self.numbers) > MAX_NUMBER_LABELS and not self.are_class_numbers)

    @property
    def are_class_numbers(self) -> bool:
        """Whether whole numbers are those of classes, by the name of the column and because nearly all from 0 or 1 on occur, often."""
        if not self.numbers or self.has_fractions or normalize_name(self.column) not in CLASS_NAMES:
            return False
        low, high = min(self.numbers), max(self.numbers)
        return low in (0, 1) and high - low < 1.25 * len(self.numbers) and self.count >= 2 * len(self.numbers)

    @property
    def separator(self) -> str | None:
        """What stands between several labels of a cell, if that is certain; empty for lists."""
        if self.lists:
            return ""
        return next((separator for separator in SEPARATORS if self.is_separated_by(separator)), None)

    @property
    def likely_separator(self) -> str:
        """The same if it is known that there are several labels: then it is certain as soon as it occurs."""
        found = self.separator
        return found if found is not None else next((own for own in SEPARATORS if any(own in value for value in self.values)), "")

    def is_separated_by(self, separator: str) -> bool:
        """Whether most parts of such cells also occur alone or in other company."""
        label_sets = {frozenset(split_cell(value, separator)) for value in self.values}
        several = [own for own in label_sets if len(own) > 1]
        parts = set().union(*several)
        if not several or max(map(len, parts)) > MAX_LABEL_LENGTH:
            return False
        company: dict[str, int] = {}
        for own in label_sets:
            for part in own:
                company[part] = company.get(part, 0) + 1
        return 2 * sum(company[part] > 1 for part in parts) >= len(parts)


def is_serialized(cell: str) -> bool:
    """Whether a list was written into a cell."""
    return cell.startswith("[") and SERIALIZED_LIST.fullmatch(cell) is not None


def split_cell(cell: str, separator: str) -> list[str]:
    """The labels of a cell, each once."""
    if is_serialized(cell):
        with suppress(ValueError, RecursionError):
            found = json.loads(cell)
            if isinstance(found, list) and all(isinstance(part, str | int | float) for part in found):
                return unique(map(str, found))
        return unique(one or other for one, other in QUOTED.findall(cell))
    return unique(cell.split(separator) if separator else [cell])


def unique(parts: Iterable[str]) -> list[str]:
    """Each part once, without the empty ones."""
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))
