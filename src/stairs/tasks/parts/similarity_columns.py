"""Files of word similarities: which columns have the two words and which the score.

The columns that the user names come first, then the header, then the cells: words are not numbers, and a column of few distinct words (a part of
speech) is a category; consecutive integers are an index, neither words nor a score. What remains ambiguous is refused.
"""

import csv
from collections.abc import Sequence
from typing import NamedTuple

from stairs.errors import BadInput, preview
from stairs.progress import say
from stairs.text.labelled.column_names import Columns, likely_columns, list_columns, match_pair, pair_list, parse_columns, word_list
from stairs.text.labelled.column_profile import parse_number

WORD_PAIRS = pair_list("""
    word1+word2 word_1+word_2 w1+w2 w_1+w_2 first+second word_a+word_b first_word+second_word word_one+word_two a+b word+word.1
    词1+词2 词语1+词语2 单词1+单词2 词汇1+词汇2 词_1+词_2 词语_1+词语_2 词a+词b""")
SCORES = word_list("""
    score similarity simlex999 human_(mean) human_mean mean_score mean rating human average avg gold relatedness sim
    评分 分数 得分 相似度 平均分 人工评分""")
DELIMITERS = "\t,;"
MAX_CATEGORIES, MIN_PER_CATEGORY = 12, 5  # a column of at most so many values, each so often on average, is a category
NumberedLine = tuple[int, str]


class Similarities(NamedTuple):
    pairs: list[tuple[str, str, float]]


def read_similarities(lines: Sequence[NumberedLine], name: str, columns: Columns = None) -> Similarities | None:
    """The pairs of a file; None if it has something else and no columns are named."""
    numbers, rows = [number for number, _ in lines], cells_of(lines)
    if len(rows) < 2 and columns is None:
        return None
    header = None if not rows or any(map(is_number, rows[0])) else rows[0]
    body = rows if header is None else rows[1:]
    width = len(body[0]) if body else 0
    if header and len(header) == width - 1:  # the index of a data frame has no name in R
        header = ["", *header]
    header = header if header and len(header) == width else None
    has_known_header = bool(header and match_pair(header, WORD_PAIRS))
    is_regular = all(len(row) == width and has_score_and_words(row) for row in body)
    if columns is None and (has_sentences(body) or not (is_regular or has_known_header)):
        return None
    numbers = numbers[len(rows) - len(body) :]
    for number, row in zip(numbers, body, strict=True):
        if len(row) != width or width < 3:
            raise BadInput(f"{name}:{number}: the line has {len(row)} columns and not {max(width, 3)}; correct it")
    first, second, score = Table(name, numbers[0] if numbers else 1, header, body).choose(columns)
    pairs = []
    for number, row in zip(numbers, body, strict=True):
        value = parse_number(row[score])
        if value is None:
            line = preview("\t".join(row))
            raise BadInput(f"{name}:{number}: {line} has no number that says how similar the words are; correct the line")
        pairs.append((row[first], row[second], value))
    labels = [repr(header[column]) if header else str(column + 1) for column in (first, second, score)]
    say(f"{name}: {len(pairs):,} pairs; words from {labels[0]} and {labels[1]}, score from {labels[2]}" + ("" if columns else " (guessed)"))
    return Similarities(pairs)


def cells_of(lines: Sequence[NumberedLine]) -> list[list[str]]:
    """Of lines with tabs, else commas, else semicolons, else spaces between their cells."""
    texts = [line for _, line in lines]
    delimiter = next((sign for sign in DELIMITERS if 2 * sum(line.count(sign) >= 2 for line in texts) > len(texts)), None)
    rows = [line.split() for line in texts] if delimiter is None else csv.reader(texts, delimiter=delimiter)
    return [[cell.strip() for cell in row] for row in rows]


def is_number(cell: str) -> bool:
    return parse_number(cell) is not None or cell.casefold() == "nan"


def has_score_and_words(row: list[str]) -> bool:
    return len(row) >= 3 and any(map(is_number, row)) and sum(not is_number(cell) for cell in row) >= 2


def has_sentences(body: list[list[str]]) -> bool:
    """Whether they are pairs of texts, whose cells have spaces, rather than pairs of words."""
    return 2 * sum(any(" " in cell for cell in row) for row in body) > len(body)


class Table:
    """Rows of equal width, and the profile of their columns."""

    def __init__(self, name: str, line: int, header: list[str] | None, body: list[list[str]]) -> None:
        self.name, self.line, self.header = name, line, header
        self.columns = list(zip(*body, strict=True))
        self.labels = header or [str(number) for number in range(1, len(self.columns) + 1)]
        half = len(body) / 2
        self.numeric = [place for place, cells in enumerate(self.columns) if sum(map(is_number, cells)) > half]
        self.index = [place for place in self.numeric if is_consecutive(self.columns[place])]

    def choose(self, columns: Columns) -> tuple[int, int, int]:
        """The numbers of the columns of the first word, the second and the score."""
        requested = self.requested_columns(columns)
        pair = match_pair([*self.header, ""], WORD_PAIRS) if self.header else None
        by_name = dict(zip(("first", "second"), map(self.labels.index, pair), strict=True)) if pair else {}
        for role, place in by_name.items():
            if place in self.index and role not in requested:
                raise self.ambiguous(f"{self.labels[place]!r} has consecutive numbers, not words")
        chosen = {**by_name, **requested}
        spare = [place for place in range(len(self.columns)) if place not in chosen.values() and place not in self.numeric]
        spare = [place for place in spare if not is_category(self.columns[place])]
        missing = [role for role in ("first", "second") if role not in chosen]
        if len(spare) != len(missing) and missing:
            raise self.ambiguous("it is not clear which columns have the two words")
        chosen |= zip(missing, spare, strict=False)
        if "score" not in chosen:
            chosen["score"] = self.score([place for place in self.numeric if place not in chosen.values()])
        return chosen["first"], chosen["second"], chosen["score"]

    def score(self, columns: list[int]) -> int:
        by_name = likely_columns([self.labels[place] for place in columns], [SCORES[:4], SCORES[4:]]) if self.header else []
        if len(by_name) == 1:
            return self.labels.index(by_name[0])
        candidates = [place for place in columns if place not in self.index]
        if len(candidates) != 1:
            raise self.ambiguous("no column of numbers can be the score" if not candidates else "several columns of numbers can be the score")
        return candidates[0]

    def requested_columns(self, columns: Columns) -> dict[str, int]:
        """The columns that the user names, by the header or by numbers from 1."""
        try:
            roles = parse_columns(columns, "compare")
        except ValueError as error:
            raise BadInput(f"columns {preview(columns)} do not fit; {error}") from None
        requested = {}
        for role, column in roles.items():
            if self.header and column in self.header:
                place = self.header.index(column)
            elif column.isdecimal() and 1 <= int(column[:6]) <= len(self.columns):
                place = int(column[:6]) - 1
            else:
                raise BadInput(f"{self.name}:{self.line}: no column {preview(column)} for the {role}; it has {self.describe_columns()}")
            requested["score" if role == "label" else role] = place
        return requested

    def describe_columns(self) -> str:
        """The columns by name, or with their first cell."""
        if self.header:
            return list_columns(self.header)
        return list_columns([f"{label}: {cells[0]}" for label, cells in zip(self.labels, self.columns, strict=True)])

    def ambiguous(self, reason: str) -> BadInput:
        cure = "name them with --text=NAME --second-column=NAME --label=NAME (or numbers)"
        return BadInput(f"{self.name}:{self.line}: {reason} among {self.describe_columns()}; {cure}")


def is_consecutive(cells: Sequence[str]) -> bool:
    """0, 1, 2 ... from any number on."""
    numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 16]
    return len(numbers) == len(cells) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def is_category(cells: Sequence[str]) -> bool:
    distinct = len(set(cells))
    return distinct <= MAX_CATEGORIES and len(cells) >= MIN_PER_CATEGORY * distinct
