"""Which task a file of labelled data is for."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from stairs.errors import BadInput
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.input_files import printable
from stairs.text.labelled.choices import is_choice_table
from stairs.text.labelled.column_choice import ColumnChoice, NoLabels, detect_header
from stairs.text.labelled.column_names import (
    FLAGS,
    OPTIONAL_ROLES,
    PAIRS,
    ROLES,
    Columns,
    columns_flag,
    guess_pair,
    guess_parallel,
    guess_text,
    list_columns,
    match_pair,
)
from stairs.text.labelled.column_profile import MIN_ROWS, profile_columns
from stairs.text.labelled.conll import is_conllu
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.parallel_text import translation_sibling
from stairs.text.labelled.token_tables import is_token_table
from stairs.text.tables import RECORD_SUFFIXES, RecordTable, open_table
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import JsonCursor
from stairs.text.tables.lines import file_suffix, numbered_lines

TAG_SUFFIXES = {".conll", ".conllu", ".conllup", ".bio", ".bioes", ".iob", ".iob2", ".ner"}
SAMPLE = 400  # lines
INTERPRETATIONS = {
    "compare": Interpretation("two texts and how they relate", "--task compare"),
    "classify": Interpretation("a text and its label", "--task classify"),
    "translate": Interpretation("a sentence and its translation", "--task translate"),
}
GUESSES_BY_NAME = (("compare", guess_pair, 3), ("translate", guess_parallel, 2), ("classify", guess_text, 2))  # and how many columns it needs


def guess_task(path: str | Path | Sequence[str | Path], encoding: str | None = None, columns: Columns = None) -> str:
    """classify, compare, tag, span, choose or translate: from the columns the user named, the suffix, the first lines, the header and the rows."""
    if not isinstance(path, str | Path):
        return "translate" if len(path) == 2 else guess_task(path[0], encoding, columns)
    if by_role := task_of_flags(path, encoding, columns) if are_flags(columns) else task_of_roles(columns):
        return by_role
    if is_fasttext(path, encoding):
        return "classify"
    suffix = file_suffix(path)
    if suffix == ".json" and is_squad(path, encoding):
        return "span"
    if is_token_table(path, encoding) or suffix in TAG_SUFFIXES or (suffix not in RECORD_SUFFIXES and is_tagged(path, encoding)):
        return "tag"
    if translation_sibling(path):
        return "translate"
    if begins_with_labels(path, encoding):
        return "classify"
    table = open_table(path, encoding)
    return "choose" if is_choice_table(table) else task_of_table(table)


def are_flags(columns: Columns) -> bool:
    """Whether columns are named as flags and keywords do, and not by role."""
    return isinstance(columns, Mapping) and set(columns) <= FLAGS


def task_of_flags(path: str | Path, encoding: str | None, columns: Columns) -> str | None:
    """The task of the columns that the user named: a text and its label, or two texts and a label."""
    named = set(columns or ())
    if "second_column" in named:
        return "compare" if "label" in named else None
    if not {"text", "label"} <= named or file_suffix(path) in TAG_SUFFIXES or is_token_table(path, encoding):
        return None
    return "classify"


def task_of_roles(columns: Columns) -> str | None:
    """The task of the roles that the user named columns for, if only one task has them."""
    parts = columns.split(",") if isinstance(columns, str) else []
    roles = set(columns) if isinstance(columns, Mapping) else {part.partition("=")[0].strip() for part in parts if "=" in part}
    tasks = [task for task in ROLES if task not in ("multilabel", "regress")]  # their roles are those of classify, see `text_targets.guess_target`
    fits = [task for task in tasks if roles and roles <= {*ROLES[task], *OPTIONAL_ROLES.get(task, ())}]
    return fits[0] if len(fits) == 1 else None


def task_of_table(original: RecordTable) -> str:
    """By the names of the columns; where they do not tell, by their cells."""
    table = detect_header(original, {})
    if table is original:
        ColumnChoice(table, "compare", {}).refuse_triplets()
        for task, guess, needed in GUESSES_BY_NAME:
            if len(guess(table.columns)) >= needed and (task != "translate" or is_translation_table(table)):
                return task
        if match_pair(table.columns, PAIRS) and is_readable(table, "compare"):
            return "compare"
    if bilingual := guess_bilingual(original):
        return bilingual
    is_text_named = table is original and "text" in guess_text(table.columns)
    fits = [task for task in ("compare", "classify") if (task == "classify" or not is_text_named) and is_readable(table, task)]
    if fits:
        return fits[0] if len(fits) == 1 else choose_task(table, fits)
    if guess_text(table.columns) and len(table.columns) == 2:
        return "classify"
    tasks = "classify, multilabel, regress, compare, tag, span, choose or translate"
    raise NoLabels(table, f"cannot tell the task from {list_columns(original.columns)}; name it with --task {tasks}")


def choose_task(table: RecordTable, tasks: Sequence[str]) -> str:
    return tasks[choose_interpretation(f"{table.name}:{table.line}", "no header tells the task", [INTERPRETATIONS[task] for task in tasks])]


def is_readable(table: RecordTable, task: str) -> bool:
    choice = ColumnChoice(table, task, {})
    with suppress(BadInput):
        return choice.has_enough_rows and bool(choice.assignments())
    return False


def guess_bilingual(table: RecordTable) -> str | None:
    """A table of translations without a header: the first line has two sentences with a tab between. The last column may be a label."""
    is_tsv = isinstance(table, CsvTable) and table.delimiter == "\t"
    if not (isinstance(table, CsvTable) and is_tsv and len(table.columns) in (2, 3) and all(map(is_sentence_like, table.columns[:2]))):
        return None
    headerless = table.without_header()
    columns = headerless.columns
    last = list(profile_columns(columns, headerless.select_columns(columns)).values())[-1]
    other = "classify" if len(columns) == 2 and last.fits_label else "compare" if len(columns) == 3 and last.fits_target else None
    return "translate" if other is None else choose_task(table, (other, "translate"))


def is_translation_table(table: RecordTable) -> bool:
    """Whether columns with such names hold two texts: `input` and `output` may hold a text and its label, `id` and `no` are no languages."""
    pair = {role: columns[0] for role, columns in guess_parallel(table.columns).items()}
    profiles = profile_columns(list(pair.values()), table.select_columns(list(pair.values())))
    source, target = (profiles[pair[role]] for role in ("source", "target"))
    where = f"{table.name}:{table.line}"
    empty = next((name for name, own in ((pair["source"], source), (pair["target"], target)) if 10 * own.empty > own.row_count >= MIN_ROWS), None)
    if empty is not None:
        choose_interpretation(where, f"{empty!r} is often empty", [INTERPRETATIONS["translate"]])
    if source.row_count < MIN_ROWS or not (target.fits_label or any(column.is_number or column.is_index for column in (source, target))):
        return True
    if not (source.fits_text and target.fits_label):
        return False
    text, label = pair["source"], pair["target"]
    as_label = Interpretation(f"a text from {text!r} and its label from {label!r}", columns_flag({"text": text, "label": label}))
    return choose_interpretation(where, f"{label!r} has few values", [as_label, INTERPRETATIONS["translate"]]) == 1


def is_sentence_like(cell: str) -> bool:
    """More than a name: two words, or an end mark."""
    return bool(re.search(r"\S\s\S|[.!?。！？]$", cell))


def is_squad(path: str | Path, encoding: str | None) -> bool:
    cursor = JsonCursor(path, encoding)
    if cursor.peek() != "{":
        return False
    for _, key in cursor.members():
        if key == "data":
            return cursor.peek() == "["
        cursor.value()
    return False


def is_tagged(path: str | Path, encoding: str | None) -> bool:
    """Short cells in equally many columns, with blank lines between sentences or tags like B-PER."""
    if is_conllu(path, encoding):
        return True
    sample = [text for _, text in islice(numbered_lines(path, encoding), SAMPLE)]
    if not any(text.strip() for text in sample):
        raise BadInput(f"no text in {printable(path)}; give a file with labelled examples")
    rows = [re.split(r"\t" if "\t" in text else " +", text) for text in sample if text.strip() and not text.startswith(("#", "-DOCSTART-"))]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) or any(re.search(r"\S\s+\S", cell) for cell in row) for row in rows):
        return False
    tags = sum(bool(re.fullmatch(r"O|[BIESLUMW][-_]\S+", row[-1])) for row in rows)
    return tags > 0.9 * len(rows) or any(not text.strip() for text in sample[1:-1])
