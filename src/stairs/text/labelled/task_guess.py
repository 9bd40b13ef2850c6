"""Which task a file of labelled data is for."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.input_files import printable
from stairs.text.labelled.column_choice import ColumnChoice, columns_flag, detect_header
from stairs.text.labelled.column_names import OPTIONAL_ROLES, PAIRS, ROLES, Columns, guess_pair, guess_parallel, guess_text, list_columns, match_pair
from stairs.text.labelled.column_profile import MIN_ROWS, profile_columns
from stairs.text.labelled.conll import is_conllu
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.parallel_text import translation_sibling
from stairs.text.labelled.table_examples import open_table
from stairs.text.labelled.token_tables import is_token_table
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.json_table import JsonCursor
from stairs.text.tables.lines import file_suffix, input_error, numbered_lines

TAG_SUFFIXES = {".conll", ".conllu", ".conllup", ".bio", ".bioes", ".iob", ".iob2", ".ner"}
RECORD_SUFFIXES = {".parquet", ".json", ".jsonl", ".ndjson"}
SAMPLE = 400  # lines
TASK_READINGS = {
    "compare": Interpretation("two texts and how they relate", "--task compare"),
    "classify": Interpretation("a text and its label", "--task classify"),
    "translate": Interpretation("a sentence and its translation", "--task translate"),
}
GUESSES_BY_NAME = (("compare", guess_pair, 3), ("translate", guess_parallel, 2), ("classify", guess_text, 2))  # and how many columns it needs


def guess_task(path: str | Path | Sequence[str | Path], encoding: str | None = None, columns: Columns = None) -> str:
    """classify, compare, tag, span or translate: from the columns that were named, the ending, the first lines, the header and the rows."""
    if not isinstance(path, str | Path):
        return "translate" if len(path) == 2 else guess_task(path[0], encoding, columns)
    by_role = task_of_roles(columns)
    if by_role:
        return by_role
    if is_fasttext(path, encoding):
        return "classify"
    if file_suffix(path) == ".json" and is_squad(path, encoding):
        return "span"
    if is_token_table(path, encoding) or file_suffix(path) in TAG_SUFFIXES or (file_suffix(path) not in RECORD_SUFFIXES and is_tagged(path,
        encoding)):
        return "tag"
    if translation_sibling(path):
        return "translate"
    if begins_with_labels(path, encoding):
        return "classify"
    return task_of_table(open_table(path, encoding))


def task_of_roles(columns: Columns) -> str | None:
    """What columns were named for, if they were named by role."""
    parts = columns.split(",") if isinstance(columns, str) else []
    roles = set(columns) if isinstance(columns, Mapping) else {part.partition("=")[0].strip() for part in parts if "=" in part}
    fits = [task for task, own in ROLES.items() if roles and roles <= {*own, *OPTIONAL_ROLES.get(task, ())}]
    return fits[0] if len(fits) == 1 else None


def task_of_table(rows: Any) -> str:
    """By the names of the columns; where they do not tell, by what the columns hold."""
    as_it_is, rows = rows, detect_header(rows, {})
    if rows is as_it_is:
        ColumnChoice(rows, "compare", {}).refuse_triplets()
        for task, guess, wanted in GUESSES_BY_NAME:
            if len(guess(rows.columns)) >= wanted and (task != "translate" or is_translation_table(rows)):
                return task
        if match_pair(rows.columns, PAIRS) and is_readable(rows, "compare"):
            return "compare"
    if found := guess_bilingual(as_it_is):
        return found
    is_text_named = rows is as_it_is and "text" in guess_text(rows.columns)
    fits = [task for task in ("compare", "classify") if (task == "classify" or not is_text_named) and is_readable(rows, task)]
    if fits:
        return fits[choose_interpretation(f"{rows.name}:{rows.line}", "no header tells the task", [TASK_READINGS[task]
            for task in fits])] if len(fits) > 1 else fits[0]
    if guess_text(rows.columns) and len(rows.columns) == 2:
        return "classify"
    tasks = "classify, compare, tag, span or translate"
    raise input_error(rows.name, rows.line, f"cannot tell the task from {list_columns(as_it_is.columns)}; say which with --task {tasks}")


def is_readable(rows: Any, task: str) -> bool:
    choice = ColumnChoice(rows, task, {})
    with suppress(BadInput):
        return choice.has_enough_rows and bool(choice.readings())
    return False


def guess_bilingual(rows: Any) -> str | None:
    """A table of translations without a header: two sentences on the first line already, with tabs between. The last may be a label."""
    if not (isinstance(rows, CsvTable) and rows.delimiter == "\t" and len(rows.columns) in (2, 3) and all(map(is_sentence_like, rows.columns[:2]))):
        return None
    bare = CsvTable(rows.path, rows.encoding, header=False)
    last = list(profile_columns(bare.columns, bare.select_columns(bare.columns)).values())[-1]
    other = "classify" if len(bare.columns) == 2 and last.fits_label else "compare" if len(bare.columns) == 3 and last.fits_target else None
    if other is None:
        return "translate"
    fits = (other, "translate")
    return fits[choose_interpretation(f"{rows.name}:{rows.line}", "no header tells the task", [TASK_READINGS[task] for task in fits])]


def is_translation_table(rows: Any) -> bool:
    """Whether columns called so hold two texts: `input` and `output` may hold a text and its label, `id` and `no` are no languages."""
    pair = {role: columns[0] for role, columns in guess_parallel(rows.columns).items()}
    found = profile_columns(list(pair.values()), rows.select_columns(list(pair.values())))
    source, target = (found[pair[role]] for role in ("source", "target"))
    empty = next((name for name, own in ((pair["source"], source), (pair["target"], target)) if 10 * own.empty > own.rows >= MIN_ROWS), None)
    if empty is not None:
        choose_interpretation(f"{rows.name}:{rows.line}", f"{empty!r} is often empty", [TASK_READINGS["translate"]])
    if source.rows < MIN_ROWS or not (target.fits_label or any(column.is_number or column.is_index for column in (source, target))):
        return True
    if not (source.fits_text and target.fits_label):
        return False
    text, label = pair["source"], pair["target"]
    ways = [
        Interpretation(f"a text from {text!r} and its label from {label!r}", columns_flag({"text": text, "label": label})),
        TASK_READINGS["translate"],
    ]
    return choose_interpretation(f"{rows.name}:{rows.line}", f"{label!r} has few values", ways) == 1


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
    """Short cells in even columns, and sentences parted by blank lines or tags that say so themselves."""
    if is_conllu(path, encoding):
        return True
    sample = [text for _, text in islice(numbered_lines(path, encoding), SAMPLE)]
    if not any(text.strip() for text in sample):
        raise BadInput(f"no text in {printable(path)}; give a file with labelled examples")
    rows = [re.split(r"\t" if "\t" in text else " +", text) for text in sample if text.strip() and not text.startswith(("#", "-DOCSTART-"))]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) or any(re.search(r"\S\s+\S", cell) for cell in row) for row in rows):
        return False
    marks = sum(bool(re.fullmatch(r"O|[BIESLUMW][-_]\S+", row[-1])) for row in rows)
    return marks > 0.9 * len(rows) or any(not text.strip() for text in sample[1:-1])
