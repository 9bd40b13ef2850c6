"""Which task a file of labelled data is for."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from stairs.errors import BadInput
from stairs.text.files import printable
from stairs.text.labelled.aligned import sibling
from stairs.text.labelled.columns import guess_aligned, guess_pair, guess_text, listed
from stairs.text.labelled.files import ending, fault, lines
from stairs.text.labelled.jsons import Cursor
from stairs.text.labelled.tables import Table
from stairs.text.labelled.tags import is_conllu
from stairs.text.labelled.texts import is_fasttext, table

TAGS = {".conll", ".conllu", ".conllup", ".bio", ".bioes", ".iob", ".iob2", ".ner"}
RECORDS = {".parquet", ".json", ".jsonl", ".ndjson"}
SAMPLE = 400  # lines


def guess_task(path: str | Path | Sequence[str | Path], encoding: str | None = None) -> str:
    """classify, compare, tag, span or translate: from the ending, the first lines and the names of the columns."""
    if not isinstance(path, str | Path):
        return "translate" if len(path) == 2 else guess_task(path[0], encoding)
    if is_fasttext(path, encoding):
        return "classify"
    if ending(path) in TAGS or (ending(path) not in RECORDS and is_tagged(path, encoding)):
        return "tag"
    if ending(path) == ".json" and is_squad(path, encoding):
        return "span"
    if sibling(path):
        return "translate"
    rows = table(path, encoding)
    for task, guess, wanted in (("compare", guess_pair, 3), ("translate", guess_aligned, 2), ("classify", guess_text, 2)):
        if len(guess(rows.columns)) == wanted:
            return task
    if isinstance(rows, Table) and rows.delimiter == "\t" and len(rows.columns) in (2, 3) and all(map(wordy, rows.columns[:2])):
        return "translate"
    if guess_text(rows.columns) and len(rows.columns) == 2:
        return "classify"
    tasks = "classify, compare, tag, span or translate"
    raise fault(rows.name, rows.line, f"cannot tell the task from {listed(rows.columns)}; say which with --task {tasks}")


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
