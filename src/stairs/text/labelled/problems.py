"""What `stairs check` finds in a labelled file, as plain data: rows to look at, and the whole report."""

from typing import TypedDict

from stairs.text.examples import Example, example_texts
from stairs.text.labelled.data_checks import Lengths, SuspiciousColumn, gold_label

MAX_TEXT = 300  # characters of a text that is shown


class Problem(TypedDict):
    """A row that somebody should look at."""

    file: str
    line: int
    problem: str
    text: str
    label: str
    suggestion: str


class TellingWord(TypedDict):
    """A word, or two, that nearly all texts of a label have and nearly no others."""

    word: str
    label: str
    share_of_label: float


class Leakage(TypedDict):
    """Examples of a held-out file that are in the training file."""

    examples: int
    same: int  # but for case and white space
    near: int  # nearly the same: 80 % of their character 5-grams


class CheckReport(TypedDict):
    """What is found in a labelled file."""

    file: str
    task: str
    encoding: str
    columns: str
    rows: int
    without_text: int
    without_label: int
    duplicates: int  # texts that occurred before with the same label
    loose_duplicates: int  # the same, but for case and white space
    contradictions: int  # texts that occur with different labels
    labels: dict[str, int]  # the most frequent first; empty where the task has no labels
    rare_labels: list[str]
    lengths: Lengths
    scripts: dict[str, int]
    suspicious_columns: list[SuspiciousColumn]
    telling_words: list[TellingWord]
    label_in_text: float  # share of the texts that contain their own label
    cross_validated_accuracy: float | None  # of TF-IDF; None where the labels were not cross-validated
    label_mistakes: int  # probable ones
    not_cross_validated: str  # why; empty if they were
    leakage: dict[str, Leakage]  # of each held-out file
    problems: list[Problem]


def line_of(example: Example) -> int:
    number = example.where.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def example_problem(example: Example, problem: str, suggestion: str = "") -> Problem:
    file = example.where.rpartition(":")[0]
    return new_problem(file, line_of(example), problem, " ".join(example_texts(example)), gold_label(example) or "", suggestion)


def new_problem(file: str, line: int, problem: str, text: str = "", label: str = "", suggestion: str = "") -> Problem:
    return {"file": file, "line": line, "problem": problem, "text": text[:MAX_TEXT], "label": label, "suggestion": suggestion}
