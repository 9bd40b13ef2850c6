"""A column for each role: named by the user, or guessed from the header, or from the cells.

A guess is certain when one assignment fits the header and every row. Where several do, `questions.choose_interpretation` asks the user; where none
does, the file is refused, and the error lists its columns.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import islice, product
from typing import TypeVar

from stairs.errors import BadInput, preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.labelled.column_names import (
    LABEL,
    NEGATIVE,
    OPTIONAL_ROLES,
    PAIRS,
    ROLES,
    TEXT,
    columns_flag,
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
from stairs.text.tables import RecordTable
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.lines import input_error

GUESSES = {"classify": guess_text, "multilabel": guess_text, "regress": guess_text, "compare": guess_pair, "translate": guess_parallel}
MAX_ASSIGNMENTS = 4  # in a question; with more, the file is refused
AnyTable = TypeVar("AnyTable", bound=RecordTable)
INDEX_NAMES = ("", "id", "index", "idx", "no", "序号", "编号")


class NoLabels(BadInput):
    """A table in which no column of labels is found; it may be text alone."""

    def __init__(self, table: RecordTable, sentence: str) -> None:
        super().__init__(str(input_error(table.name, table.line, sentence)))
        self.table = table


class ColumnChoice:
    """The choice of columns for a task, among those of one file."""

    def __init__(self, table: RecordTable, task: str, named: dict[str, str], columns: Sequence[str] | None = None) -> None:
        self.table, self.task, self.given = table, task, named
        self.columns = list(table.columns if columns is None else columns)
        self.named_columns = {role: self.resolve(role, column) for role, column in named.items()}
        self.roles = [role for role in ROLES[task] if role != "label" or "score" not in self.named_columns]

    def resolve(self, role: str, column: str) -> str:
        """A column by its name, or by its number from 1."""
        match = find_column(self.table.columns, column)
        if match is None:
            raise self.fault(f"no column {preview(column)} for the {role}; it has {list_columns(self.columns)}")
        return match

    def fault(self, sentence: str) -> BadInput:
        return input_error(self.table.name, self.table.line, sentence)

    @cached_property
    def profiles(self) -> dict[str, ColumnProfile]:
        names = list(dict.fromkeys(self.columns))
        return profile_columns(names, self.table.select_columns(names))

    @property
    def has_enough_rows(self) -> bool:
        """Whether there are enough rows to judge a column by its cells."""
        return next(iter(self.profiles.values())).row_count >= MIN_ROWS if self.columns else False

    @property
    def fits_label(self) -> str:
        """What a profile says of a column of labels, or of numbers to predict."""
        return {"regress": "fits_number", "multilabel": "fits_label_sets"}.get(self.task, "fits_label")

    def choose(self) -> dict[str, str]:
        """The only assignment, or the one that the user chose."""
        assignments = self.assignments()
        for assignment in assignments:
            for role, column in assignment.items():
                self.refuse_twins(role, column)
        has_no_header = isinstance(self.table, CsvTable) and not self.table.header and not self.named_columns and self.task != "translate"
        if len(assignments) == 1 and not has_no_header:
            return assignments[0]
        why = "the first line looks like the others, so there is no header" if has_no_header else "several columns fit"
        shown = assignments if has_no_header else [differences(own, assignments) for own in assignments]
        interpretations = [Interpretation(describe_columns(own), columns_flag(own)) for own in shown]
        return assignments[choose_interpretation(f"{self.table.name}:{self.table.line}", why, interpretations)]

    def refuse_twins(self, role: str, column: str) -> None:
        """Of columns with the same name one must be chosen by its number."""
        twins = [str(number) for number, other in enumerate(self.table.columns, 1) if other == column or other.startswith(f"{column} (column ")]
        if len(twins) > 1 and self.given.get(role) not in twins:
            flags = " or ".join(columns_flag({role: number}) for number in twins[:2])
            raise self.fault(f"{len(twins)} columns are called {preview(column)}; choose one by its number with {flags}")

    def assignments(self) -> list[dict[str, str]]:
        """Every assignment of a column to each role that fits."""
        self.refuse_triplets()
        free = [column for column in self.columns if column not in self.named_columns.values()]
        options: dict[str, list[str]] = {role: [column] for role, column in self.named_columns.items()}
        for role, candidates in GUESSES[self.task](free).items():
            if role not in self.named_columns and not (role in ("label", "score") and {"label", "score"} & set(self.named_columns)):
                options[role] = self.fitting_columns(role, candidates)
        if GUESSES[self.task] is guess_text and "text" not in self.named_columns and "text" in options:
            options["text"] = options["text"] + self.other_texts(options["text"], options.get("label", []))
        targets = [(role, column) for role in ("score", "label") for column in options.get(role, ())] if self.task == "compare" else []
        if targets:
            options = {role: columns for role, columns in options.items() if role not in ("label", "score")}
        missing = [role for role in self.roles if role not in options and not (role == "label" and targets)]
        if missing:
            options |= self.guess_by_content(missing, [column for column in free if all(column not in columns for columns in options.values())])
        results = [dict(zip(options, columns, strict=True)) for columns in product(*options.values())]
        results = [{**own, role: column} for own in results for role, column in targets] if targets else results
        results = [own for own in results if len(set(own.values())) == len(own)]
        if not results or len(results) > MAX_ASSIGNMENTS:
            raise self.unclear_error(missing or self.roles)
        order = (*ROLES[self.task], *OPTIONAL_ROLES.get(self.task, ()))
        return [{role: own[role] for role in order if role in own} for own in results]

    def fitting_columns(self, role: str, candidates: list[str]) -> list[str]:
        """Of columns whose names fit equally well those whose cells fit, too; one of several that say the same."""
        if len(candidates) == 1:
            return candidates
        fits = {"text": "fits_text", "label": self.fits_label, "score": "is_number"}.get(role)
        fitting = [column for column in candidates if not fits or getattr(self.profiles[column], fits)]
        if role == "label" and len(fitting) > 1 and partition_rows_alike(self.table.select_columns(fitting)):
            return fitting[:1]
        return fitting or candidates

    def other_texts(self, texts: list[str], labels: list[str]) -> list[str]:
        """Columns of texts with unknown names, beside one that is seldom the text, such as a question or a title."""
        if likely_columns(texts, TEXT[:2]) or not self.has_enough_rows:
            return []
        rest = [column for column in self.columns if column not in texts and column not in labels and not is_index_name(column)]
        return [column for column in rest if self.profiles[column].fits_text and not likely_columns([column], TEXT)]

    def guess_by_content(self, missing: list[str], spare: list[str]) -> dict[str, list[str]]:
        """Columns for roles that no name fits: those whose cells do."""
        spare = [column for column in spare if not is_index_name(column)]
        if not spare:
            raise self.unclear_error(missing)
        profiles, is_target = self.profiles, "label" in missing
        texts = [role for role in missing if role != "label"]
        if self.has_enough_rows:
            labels = [column for column in spare if getattr(profiles[column], "fits_target" if self.task == "compare" else self.fits_label)]
            labels = [column for column in labels if not profiles[column].empty] or labels  # else some rows are yet to be labelled
            text_like = [column for column in spare if profiles[column].fits_text and column not in labels]
            options = {"label": labels} if is_target else {}
            if len(texts) == 1 or len(texts) == len(text_like):
                options |= {texts[0]: text_like} if len(texts) == 1 else {role: [column] for role, column in zip(texts, text_like, strict=True)}
            if all(options.get(role) for role in missing):
                return options
        fits = len(missing) == len(spare) == 1 and len(missing) < len(self.roles)  # the names of the others fit
        if not fits or (is_target and profiles[spare[0]].fits_text) or profiles[spare[0]].is_index:
            raise self.unclear_error(missing)
        return {missing[0]: spare}

    def unclear_error(self, missing: Sequence[str]) -> BadInput:
        roles = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        flags = columns_flag(dict.fromkeys(self.roles, "NAME"))
        sentence = f"no column for {roles} among {list_columns(self.columns)}; add a header line or name them with {flags}"
        return NoLabels(self.table, sentence) if self.task == "classify" and list(missing) == ["label"] else self.fault(sentence)

    def refuse_triplets(self) -> None:
        negative = next((column for column in self.columns if normalize_name(column) in NEGATIVE), None)
        if self.task != "compare" or negative is None or {"label", "score"} & set(self.named_columns) or "label" in map(normalize_name, self.columns):
            return
        advice = "write each as two pairs, with the label 1 and with the label 0"
        raise self.fault(f"{preview(negative)} makes these triplets, which have no label; {advice}, or name a label with --label")


def choose_columns(table: RecordTable, task: str, named: dict[str, str], columns: Sequence[str] | None = None) -> dict[str, str]:
    """A column for each role: those that the user `named`, the others guessed."""
    return ColumnChoice(table, task, named, columns).choose()


def is_index_name(column: str) -> bool:
    name = spellings(column)[-1]
    return name in INDEX_NAMES or "id" in name.split("_") or name.startswith("unnamed:")


def describe_columns(chosen: dict[str, str]) -> str:
    return ", ".join(f"{role} from {column!r}" for role, column in chosen.items())


def differences(chosen: dict[str, str], assignments: Sequence[dict[str, str]]) -> dict[str, str]:
    """The columns in which this assignment differs from another."""
    return {role: column for role, column in chosen.items() if any(other.get(role) != column for other in assignments)}


def detect_header(table: AnyTable, named: dict[str, str]) -> AnyTable | CsvTable:
    """The same table, without a header if the first line is a row like the others: then the columns are called 1, 2, 3."""
    if not isinstance(table, CsvTable) or not table.header:
        return table
    by_number = bool(named) and all(column.isdecimal() for column in named.values())
    if (named and not by_number) or (not named and has_known_names(table.columns)):
        return table
    headerless = table.without_header()
    return headerless if first_line_is_data(headerless) else table


def has_known_names(columns: Sequence[str]) -> bool:
    """Whether the first line has complete, known names for a text and its label, or for a pair."""
    names = [normalize_name(column) for column in columns]
    if match_pair(columns, PAIRS) or len(guess_parallel(columns)) == 2:
        return True
    return all(any(name in own for own in tiers for name in names) for tiers in (TEXT, LABEL))


def first_line_is_data(table: CsvTable) -> bool:
    """Whether each cell of the first line fits its column: a label that occurs there, a number among numbers."""
    lines = table.select_columns(table.columns)
    first = next(islice(lines, 1), (0, []))[1]
    profiles = list(profile_columns(table.columns, lines).values())
    if not first or profiles[0].row_count < MIN_ROWS - 1:
        return False
    is_alike = False
    for cell, column in zip(first, profiles, strict=True):
        if column.fits_label and column.values is not None:
            if cell.strip() not in column.values:
                return False
            is_alike = True
        elif column.is_number:
            if parse_number(cell) is None:
                return False
            is_alike = is_alike or not column.is_index
        elif column.sentence_like > 0.9 * column.row_count and not SENTENCE_LIKE.search(cell):
            return False
    return is_alike
