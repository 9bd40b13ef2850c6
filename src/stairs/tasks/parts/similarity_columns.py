"""Files of word similarities: which columns hold the two words and which the score.

The user's `--columns` wins, then the header, then what the columns hold: words are not numbers, and of the columns that are not, one with few
values (a part of speech) is no list of words; running integers are an index, neither words nor a score. What leaves a choice is refused.
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
FEW, EACH = 12, 5  # a column of at most so many values, each of them so often, is a category
Lines = Sequence[tuple[int, str]]  # the line's number, and the line


class Similarities(NamedTuple):
    pairs: list[tuple[str, str, float]]


def read_similarities(lines: Lines, name: str, columns: Columns = None) -> Similarities | None:
    """The pairs of a file; None if it holds something else and nobody has named its columns."""
    numbers, rows = [line for line, _ in lines], cells_of(lines)
    if len(rows) < 2 and columns is None:
        return None
    header = None if not rows or any(map(is_number, rows[0])) else rows[0]
    body = rows if header is None else rows[1:]
    width = len(body[0]) if body else 0
    if header and len(header) == width - 1:  # the index of a data frame has no name in R
        header = ["", *header]
    header = header if header and len(header) == width else None
    by_header = bool(header and match_pair(header, WORD_PAIRS))
    is_even = all(len(row) == width and is_scored(row) for row in body)
    if columns is None and (has_sentences(body) or not (is_even or by_header)):
        return None
    numbers = numbers[len(rows) - len(body) :]
    for line, row in zip(numbers, body, strict=True):
        if len(row) != width or width < 3:
            raise BadInput(f"{name}:{line}: {len(row)} columns came where {max(width, 3)} were expected; correct the line")
    first, second, score = Table(name, numbers[0] if numbers else 1, header, body).choose(columns)
    found = []
    for line, row in zip(numbers, body, strict=True):
        value = parse_number(row[score])
        if value is None:
            came = preview("\t".join(row))
            raise BadInput(f"{name}:{line}: {came} has no number that says how alike the words are; correct the line")
        found.append((row[first], row[second], value))
    told = [repr(header[column]) if header else str(column + 1) for column in (first, second, score)]
    say(f"{name}: {len(found):,} pairs; words from {told[0]} and {told[1]}, score from {told[2]}" + ("" if columns else " (guessed)"))
    return Similarities(found)


def cells_of(lines: Lines) -> list[list[str]]:
    """Of lines with tabs, else commas, else semicolons, else spaces between their cells."""
    sign = next((sign for sign in DELIMITERS if 2 * sum(line.count(sign) >= 2 for _, line in lines) > len(lines)), None)
    rows = [line.split() for _, line in lines] if sign is None else csv.reader([line for _, line in lines], delimiter=sign)
    return [[cell.strip() for cell in row] for row in rows]


def is_number(cell: str) -> bool:
    return parse_number(cell) is not None or cell.casefold() == "nan"


def is_scored(row: list[str]) -> bool:
    return len(row) >= 3 and any(map(is_number, row)) and sum(not is_number(cell) for cell in row) >= 2


def has_sentences(body: list[list[str]]) -> bool:
    """Pairs of texts are not pairs of words, though they look alike but for the spaces."""
    return 2 * sum(any(" " in cell for cell in row) for row in body) > len(body)


class Table:
    """Rows of equal width, and what is known of their columns."""

    def __init__(self, name: str, line: int, header: list[str] | None, body: list[list[str]]) -> None:
        self.name, self.line, self.header = name, line, header
        self.columns = list(zip(*body, strict=True))
        self.labels = header or [str(number) for number in range(1, len(self.columns) + 1)]
        half = len(body) / 2
        self.numeric = [place for place, cells in enumerate(self.columns) if sum(map(is_number, cells)) > half]
        self.index = [place for place in self.numeric if is_running(self.columns[place])]

    def choose(self, columns: Columns) -> tuple[int, int, int]:
        """The places of the first word, the second and the score."""
        asked = self.requested_columns(columns)
        pair = match_pair([*self.header, ""], WORD_PAIRS) if self.header else None
        by_name = dict(zip(("first", "second"), map(self.labels.index, pair), strict=True)) if pair else {}
        for role, place in by_name.items():
            if place in self.index and role not in asked:
                raise self.unclear(f"{self.labels[place]!r} holds running numbers, not words")
        chosen = {**by_name, **asked}
        spare = [place for place in range(len(self.columns)) if place not in chosen.values() and place not in self.numeric]
        spare = [place for place in spare if not is_category(self.columns[place])]
        missing = [role for role in ("first", "second") if role not in chosen]
        if len(spare) != len(missing) and missing:
            raise self.unclear("it is not clear which columns hold the two words")
        chosen |= zip(missing, spare, strict=False)
        if "score" not in chosen:
            chosen["score"] = self.score([place for place in self.numeric if place not in chosen.values()])
        return chosen["first"], chosen["second"], chosen["score"]

    def score(self, places: list[int]) -> int:
        by_name = likely_columns([self.labels[place] for place in places], [SCORES[:4], SCORES[4:]]) if self.header else []
        if len(by_name) == 1:
            return self.labels.index(by_name[0])
        left = [place for place in places if place not in self.index]
        if len(left) != 1:
            raise self.unclear("no column of numbers can be the score" if not left else "several columns of numbers can be the score")
        return left[0]

    def requested_columns(self, columns: Columns) -> dict[str, int]:
        """What the user named, by the header's names or by numbers from 1."""
        try:
            roles = parse_columns(columns, "compare")
        except ValueError as error:
            raise BadInput(f"columns {preview(columns)} do not fit; {error}") from None
        found = {}
        for role, column in roles.items():
            if self.header and column in self.header:
                place = self.header.index(column)
            elif column.isdecimal() and 1 <= int(column[:6]) <= len(self.columns):
                place = int(column[:6]) - 1
            else:
                raise BadInput(f"{self.name}:{self.line}: no column {preview(column)} for the {role}; it has {self.seen()}")
            found["score" if role == "label" else role] = place
        return found

    def seen(self) -> str:
        """The columns by name, or with what stands in the first row."""
        if self.header:
            return list_columns(self.header)
        return list_columns([f"{label}: {cells[0]}" for label, cells in zip(self.labels, self.columns, strict=True)])

    def unclear(self, why: str) -> BadInput:
        return BadInput(f"{self.name}:{self.line}: {why} among {self.seen()}; say so with --columns first=NAME,second=NAME,score=NAME (or numbers)")


def is_running(cells: Sequence[str]) -> bool:
    """0, 1, 2 ... from any number on."""
    found = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 16]
    return len(found) == len(cells) > 2 and found == list(range(found[0], found[0] + len(found)))


def is_category(cells: Sequence[str]) -> bool:
    kinds = len(set(cells))
    return kinds <= FEW and len(cells) >= EACH * kinds
