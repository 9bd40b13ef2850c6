"""A column for each role: named by the user, by the header, or by what the columns hold.

A guess is certain when one reading fits the header and every row. Where several do, `questions.choose_interpretation` asks; where none does, the file
is refused with the columns that there are.
"""

import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Any, Protocol

from stairs.errors import BadInput, preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.labelled.column_names import (
    LABEL,
    NEGATIVE,
    OPTIONAL_ROLES,
    PAIRS,
    ROLES,
    TEXT,
    find_column,
    guess_pair,
    guess_parallel,
    guess_text,
    likely_columns,
    list_columns,
    match_pair,
    normalize_name,
    spellings,
)
from stairs.text.labelled.column_profile import MIN_ROWS, SENTENCE_LIKE, ColumnProfile, parse_number, partition_rows_alike, profile_columns
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.lines import input_error

GUESSES = {"classify": guess_text, "compare": guess_pair, "translate": guess_parallel}
MAX_READINGS = 4  # in a question; more are refused as no guess at all
INDEX_NAMES = ("", "id", "index", "idx", "no", "序号", "编号")


class NamedRows(Protocol):
    name: str
    line: int
    columns: list[str]

    def select_columns(self, names: Sequence[str]) -> Iterator[tuple[int, list[Any]]]: ...


class ColumnChoice:
    """The columns of one file that a task may take."""

    def __init__(self, rows: NamedRows, task: str, asked: dict[str, str], columns: Sequence[str] | None = None) -> None:
        self.rows, self.task = rows, task
        self.columns = list(rows.columns if columns is None else columns)
        self.named_columns = {role: self.resolve(role, column) for role, column in asked.items()}
        self.roles = [role for role in ROLES[task] if role != "label" or "score" not in self.named_columns]

    def resolve(self, role: str, column: str) -> str:
        """A column by its name, or by its number from 1."""
        found = find_column(self.rows.columns, column)
        if found is None:
            raise self.fault(f"no column {preview(column)} for the {role}; it has {list_columns(self.columns)}")
        return found

    def fault(self, sentence: str) -> BadInput:
        return input_error(self.rows.name, self.rows.line, sentence)

    @cached_property
    def profiles(self) -> dict[str, ColumnProfile]:
        names = list(dict.fromkeys(self.columns))
        return profile_columns(names, self.rows.select_columns(names))

    @property
    def has_enough_rows(self) -> bool:
        """Whether there are rows enough to tell a column by."""
        return next(iter(self.profiles.values())).rows >= MIN_ROWS if self.columns else False

    def choose(self) -> dict[str, str]:
        """The only reading, or the one that was decided for."""
        readings = self.readings()
        for reading in readings:
            for column in reading.values():
                if self.columns.count(column) > 1:
                    raise self.fault(f"two columns are called {preview(column)}; rename one of them")
        headless = isinstance(self.rows, CsvTable) and not self.rows.header and not self.named_columns and self.task != "translate"
        if len(readings) == 1 and not headless:
            return readings[0]
        why = "the first line looks like the others, so there is no header" if headless else "several columns fit"
        differ = readings if headless else [differences(own, readings) for own in readings]
        ways = [Interpretation(describe_columns(own), columns_flag(own)) for own in differ]
        return readings[choose_interpretation(f"{self.rows.name}:{self.rows.line}", why, ways)]

    def readings(self) -> list[dict[str, str]]:
        """A column for each role, in each way that fits."""
        self.refuse_triplets()
        free = [column for column in self.columns if column not in self.named_columns.values()]
        options: dict[str, list[str]] = {role: [column] for role, column in self.named_columns.items()}
        for role, found in GUESSES[self.task](free).items():
            if role not in self.named_columns and not (role in ("label", "score") and {"label", "score"} & set(self.named_columns)):
                options[role] = self.fitting_columns(role, found)
        if self.task == "classify" and "text" not in self.named_columns and "text" in options:
            options["text"] = options["text"] + self.other_texts(options["text"], options.get("label", []))
        targets = [(role, column) for role in ("score", "label") for column in options.get(role, ())] if self.task == "compare" else []
        if targets:
            options = {role: found for role, found in options.items() if role not in ("label", "score")}
        missing = [role for role in self.roles if role not in options and not (role == "label" and targets)]
        if missing:
            options |= self.guess_by_content(missing, [column for column in free if all(column not in found for found in options.values())])
        ways = [dict(zip(options, way, strict=True)) for way in product(*options.values())]
        ways = [{**way, role: column} for way in ways for role, column in targets] if targets else ways
        ways = [way for way in ways if len(set(way.values())) == len(way)]
        if not ways or len(ways) > MAX_READINGS:
            raise self.unclear_error(missing or self.roles)
        order = (*ROLES[self.task], *OPTIONAL_ROLES.get(self.task, ()))
        return [{role: way[role] for role in order if role in way} for way in ways]

    def fitting_columns(self, role: str, found: list[str]) -> list[str]:
        """Of columns whose names fit alike those whose cells do; one of several that say the same."""
        if len(found) == 1:
            return found
        fits = {"text": "fits_text", "label": "fits_label", "score": "is_number"}.get(role)
        fitting = [column for column in found if not fits or getattr(self.profiles[column], fits)]
        if role == "label" and len(fitting) > 1 and partition_rows_alike(self.rows.select_columns(fitting)):
            return fitting[:1]
        return fitting or found

    def other_texts(self, found: list[str], labels: list[str]) -> list[str]:
        """Columns of texts whose names nobody knows, beside one that is seldom the text, such as a question or a title."""
        if likely_columns(found, TEXT[:2]) or not self.has_enough_rows:
            return []
        rest = [column for column in self.columns if column not in found and column not in labels and not is_index_name(column)]
        return [column for column in rest if self.profiles[column].fits_text and not likely_columns([column], TEXT)]

    def guess_by_content(self, missing: list[str], spare: list[str]) -> dict[str, list[str]]:
        """Columns for roles that no name tells: those whose cells fit."""
        spare = [column for column in spare if not is_index_name(column)]
        if not spare:
            raise self.unclear_error(missing)
        found, is_target = self.profiles, "label" in missing
        texts = [role for role in missing if role != "label"]
        if self.has_enough_rows:
            labels = [column for column in spare if (found[column].fits_target if self.task == "compare" else found[column].fits_label)]
            wordy = [column for column in spare if found[column].fits_text and column not in labels]
            ways = {"label": labels} if is_target else {}
            if len(texts) == 1 or len(texts) == len(wordy):
                ways |= {texts[0]: wordy} if len(texts) == 1 else {role: [column] for role, column in zip(texts, wordy, strict=True)}
            if all(ways.get(role) for role in missing):
                return ways
        fits = len(missing) == len(spare) == 1 and len(missing) < len(self.roles)  # the others have names that tell
        if not fits or (is_target and found[spare[0]].fits_text) or found[spare[0]].is_index:
            raise self.unclear_error(missing)
        return {missing[0]: spare}

    def unclear_error(self, missing: Sequence[str]) -> BadInput:
        wanted = " or ".join(missing) if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        cure = ",".join(f"{role}=NAME" for role in self.roles)
        return self.fault(f"no column for {wanted} among {list_columns(self.columns)}; add a header line or name them with --columns {cure}")

    def refuse_triplets(self) -> None:
        negative = next((column for column in self.columns if normalize_name(column) in NEGATIVE), None)
        if self.task != "compare" or negative is None or {"label", "score"} & set(self.named_columns) or "label" in map(normalize_name, self.columns):
            return
        cure = "write each as two pairs, with the label 1 and with the label 0"
        raise self.fault(f"{preview(negative)} makes these triplets, which have no label; {cure}, or name a label with --columns")


def choose_columns(rows: NamedRows, task: str, asked: dict[str, str], columns: Sequence[str] | None = None) -> dict[str, str]:
    """A column for each role; `as_targets` wins, the rest is guessed; complains with the columns there are."""
    return ColumnChoice(rows, task, asked, columns).choose()


def is_index_name(column: str) -> bool:
    name = spellings(column)[-1]
    return name in INDEX_NAMES or "id" in name.split("_") or name.startswith("unnamed:")


def describe_columns(chosen: dict[str, str]) -> str:
    return ", ".join(f"{role} from {column!r}" for role, column in chosen.items())


def differences(chosen: dict[str, str], readings: Sequence[dict[str, str]]) -> dict[str, str]:
    """What this reading has and another has not."""
    return {role: column for role, column in chosen.items() if any(other.get(role) != column for other in readings)}


def columns_flag(chosen: dict[str, str]) -> str:
    return f"--columns {shlex.quote(','.join(f'{role}={column}' for role, column in chosen.items()))}"


def detect_header(rows: Any, asked: dict[str, str]) -> Any:
    """The same rows, with the first line among them if it is one like the others: then the columns are called 1, 2, 3."""
    if not isinstance(rows, CsvTable) or not rows.header:
        return rows
    by_number = bool(asked) and all(column.isdecimal() for column in asked.values())
    if (asked and not by_number) or (not asked and has_known_names(rows.columns)):
        return rows
    bare = CsvTable(rows.path, rows.encoding, header=False)
    return bare if first_line_is_data(bare) else rows


def has_known_names(columns: Sequence[str]) -> bool:
    """Whether the first line calls a text and what it is for by names of which no part is left over."""
    names = [normalize_name(column) for column in columns]
    if match_pair(columns, PAIRS) or len(guess_parallel(columns)) == 2:
        return True
    return all(any(name in own for own in tiers for name in names) for tiers in (TEXT, LABEL))


def first_line_is_data(rows: CsvTable) -> bool:
    """Whether each cell of the first line could stand in its column: a label that occurs there, a number among numbers."""
    lines = rows.select_columns(rows.columns)
    first = next(islice(lines, 1), (0, []))[1]
    found = list(profile_columns(rows.columns, lines).values())
    if not first or found[0].rows < MIN_ROWS - 1:
        return False
    alike = False
    for cell, column in zip(first, found, strict=True):
        if column.fits_label and column.values is not None:
            if cell.strip() not in column.values:
                return False
            alike = True
        elif column.is_number:
            if parse_number(cell) is None:
                return False
            alike = alike or not column.is_index
        elif column.sentence_like > 0.9 * column.rows and not SENTENCE_LIKE.search(cell):
            return False
    return alike
