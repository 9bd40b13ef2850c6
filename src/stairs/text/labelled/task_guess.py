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
from stairs.text.labelled.column_choice import Choice, flags, without_header
from stairs.text.labelled.column_names import ALSO, PAIRS, ROLES, Columns, guess_aligned, guess_pair, guess_text, listed, matched
from stairs.text.labelled.column_profile import FEWEST_ROWS, profiles
from stairs.text.labelled.conll import is_conllu
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.parallel_text import sibling
from stairs.text.labelled.table_examples import table
from stairs.text.labelled.token_tables import holds_tokens
from stairs.text.tables.csv_table import Table
from stairs.text.tables.json_table import Cursor
from stairs.text.tables.lines import ending, fault, lines

TAGS = {".conll", ".conllu", ".conllup", ".bio", ".bioes", ".iob", ".iob2", ".ner"}
RECORDS = {".parquet", ".json", ".jsonl", ".ndjson"}
SAMPLE = 400  # lines
WAYS = {
    "compare": Interpretation("two texts and how they relate", "--task compare"),
    "classify": Interpretation("a text and its label", "--task classify"),
    "translate": Interpretation("a sentence and its translation", "--task translate"),
}
BY_NAME = (("compare", guess_pair, 3), ("translate", guess_aligned, 2), ("classify", guess_text, 2))  # and how many columns it needs


def guess_task(path: str | Path | Sequence[str | Path], encoding: str | None = None, columns: Columns = None) -> str:
    """classify, compare, tag, span or translate: from the columns that were named, the ending, the first lines, the header and the rows."""
    if not isinstance(path, str | Path):
        return "translate" if len(path) == 2 else guess_task(path[0], encoding, columns)
    by_role = task_of_roles(columns)
    if by_role:
        return by_role
    if is_fasttext(path, encoding):
        return "classify"
    if ending(path) == ".json" and is_squad(path, encoding):
        return "span"
    if holds_tokens(path, encoding) or ending(path) in TAGS or (ending(path) not in RECORDS and is_tagged(path, encoding)):
        return "tag"
    if sibling(path):
        return "translate"
    if begins_with_labels(path, encoding):
        return "classify"
    return task_of_table(table(path, encoding))


def task_of_roles(columns: Columns) -> str | None:
    """What columns were named for, if they were named by role."""
    parts = columns.split(",") if isinstance(columns, str) else []
    roles = set(columns) if isinstance(columns, Mapping) else {part.partition("=")[0].strip() for part in parts if "=" in part}
    fits = [task for task, own in ROLES.items() if roles and roles <= {*own, *ALSO.get(task, ())}]
    return fits[0] if len(fits) == 1 else None


def task_of_table(rows: Any) -> str:
    """By the names of the columns; where they do not tell, by what the columns hold."""
    as_it_is, rows = rows, without_header(rows, {})
    if rows is as_it_is:
        Choice(rows, "compare", {}).refuse_triplets()
        for task, guess, wanted in BY_NAME:
            if len(guess(rows.columns)) >= wanted and (task != "translate" or translates(rows)):
                return task
        if matched(rows.columns, PAIRS) and is_readable(rows, "compare"):
            return "compare"
    if found := in_two_languages(as_it_is):
        return found
    is_text_named = rows is as_it_is and "text" in guess_text(rows.columns)
    fits = [task for task in ("compare", "classify") if (task == "classify" or not is_text_named) and is_readable(rows, task)]
    if fits:
        return fits[choose_interpretation(f"{rows.name}:{rows.line}", "no header tells the task", [WAYS[task]
            for task in fits])] if len(fits) > 1 else fits[0]
    if guess_text(rows.columns) and len(rows.columns) == 2:
        return "classify"
    tasks = "classify, compare, tag, span or translate"
    raise fault(rows.name, rows.line, f"cannot tell the task from {listed(as_it_is.columns)}; say which with --task {tasks}")


def is_readable(rows: Any, task: str) -> bool:
    choice = Choice(rows, task, {})
    with suppress(BadInput):
        return choice.can_judge and bool(choice.readings())
    return False


def in_two_languages(rows: Any) -> str | None:
    """A table of translations without a header: two sentences on the first line already, with tabs between. The last may be a label."""
    if not (isinstance(rows, Table) and rows.delimiter == "\t" and len(rows.columns) in (2, 3) and all(map(wordy, rows.columns[:2]))):
        return None
    bare = Table(rows.path, rows.encoding, header=False)
    last = list(profiles(bare.columns, bare.pick(bare.columns)).values())[-1]
    other = "classify" if len(bare.columns) == 2 and last.fits_label else "compare" if len(bare.columns) == 3 and last.fits_target else None
    if other is None:
        return "translate"
    fits = (other, "translate")
    return fits[choose_interpretation(f"{rows.name}:{rows.line}", "no header tells the task", [WAYS[task] for task in fits])]


def translates(rows: Any) -> bool:
    """Whether columns called so hold two texts: `input` and `output` may hold a text and its label, `id` and `no` are no languages."""
    pair = {role: columns[0] for role, columns in guess_aligned(rows.columns).items()}
    found = profiles(list(pair.values()), rows.pick(list(pair.values())))
    source, target = (found[pair[role]] for role in ("source", "target"))
    empty = next((name for name, own in ((pair["source"], source), (pair["target"], target)) if 10 * own.empty > own.rows >= FEWEST_ROWS), None)
    if empty is not None:
        choose_interpretation(f"{rows.name}:{rows.line}", f"{empty!r} is often empty", [WAYS["translate"]])
    if source.rows < FEWEST_ROWS or not (target.fits_label or any(column.is_number or column.is_index for column in (source, target))):
        return True
    if not (source.fits_text and target.fits_label):
        return False
    text, label = pair["source"], pair["target"]
    ways = [
        Interpretation(f"a text from {text!r} and its label from {label!r}", flags({"text": text, "label": label})),
        WAYS["translate"],
    ]
    return choose_interpretation(f"{rows.name}:{rows.line}", f"{label!r} has few values", ways) == 1


def wordy(cell: str) -> bool:
    """More than a name: two words, or an end mark."""
    return bool(re.search(r"\S\s\S|[.!?。！？]$", cell))


def is_squad(path: str | Path, encoding: str | None) -> bool:
    cursor = Cursor(path, encoding)
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
    sample = [text for _, text in islice(lines(path, encoding), SAMPLE)]
    if not any(text.strip() for text in sample):
        raise BadInput(f"no text in {printable(path)}; give a file with labelled examples")
    rows = [re.split(r"\t" if "\t" in text else " +", text) for text in sample if text.strip() and not text.startswith(("#", "-DOCSTART-"))]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) or any(re.search(r"\S\s+\S", cell) for cell in row) for row in rows):
        return False
    marks = sum(bool(re.fullmatch(r"O|[BIESLUMW][-_]\S+", row[-1])) for row in rows)
    return marks > 0.9 * len(rows) or any(not text.strip() for text in sample[1:-1])
