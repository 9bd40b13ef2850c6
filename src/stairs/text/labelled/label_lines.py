"""Lines that begin with their label: fastText's `__label__pos good film`, and the plain `0 good film` of sentiment sets."""

import re
from collections.abc import Iterator
from pathlib import Path

from stairs.errors import preview
from stairs.text.examples import LabelledText
from stairs.text.input_files import printable
from stairs.text.labelled.column_profile import MIN_ROWS, SENTENCE_LIKE
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables import RECORD_SUFFIXES
from stairs.text.tables.lines import file_suffix, input_error, numbered_lines

FASTTEXT = "__label__"
LABEL_AND_TEXT = re.compile(r"([\w+\-:./]{1,40}) +(\S.*)")
MAX_LABELS, MIN_LINES_PER_LABEL = 200, 4  # of plain lines, and how many lines a label has on average


def is_fasttext(path: str | Path, encoding: str | None) -> bool:
    if file_suffix(path) in RECORD_SUFFIXES:
        return False
    return next((text for _, text in numbered_lines(path, encoding) if text.strip()), "").startswith(FASTTEXT)


def begins_with_labels(path: str | Path, encoding: str | None) -> bool:
    """Whether every line begins with one of a few labels and continues with a text, unlike tables and prose."""
    if file_suffix(path) in RECORD_SUFFIXES:
        return False
    counts: dict[str, int] = {}
    texts: set[int] = set()
    total = sentence_like = 0
    for _, line in numbered_lines(path, encoding):
        if not line.strip():
            continue
        match = LABEL_AND_TEXT.fullmatch(line.strip()) if "\t" not in line else None
        if not match:
            return False
        counts[match[1]] = counts.get(match[1], 0) + 1
        total, sentence_like = total + 1, sentence_like + (SENTENCE_LIKE.search(match[2]) is not None)
        if len(texts) <= MAX_LABELS:
            texts.add(hash(match[2]))
        if len(counts) > MAX_LABELS:
            return False
    are_few = 2 <= len(counts) <= total / MIN_LINES_PER_LABEL and min(counts.values()) > 1
    return total >= MIN_ROWS and are_few and 2 * sentence_like > total and len(texts) > min(total, MAX_LABELS) / 2


def read_label_lines(path: str | Path, encoding: str | None, notes: DataNotes, prefix: str) -> Iterator[LabelledText]:
    """A text for each line, with the label at its beginning; `prefix` is fastText's, or empty."""
    name = printable(path)
    for line, row in numbered_lines(path, encoding):
        if not row.strip():
            continue
        mark, _, text = row.partition(" ") if " " in row else row.partition("\t")
        label = mark.removeprefix(prefix)
        if not mark.startswith(prefix) or not label:
            raise input_error(name, line, f"{preview(mark)} where {prefix}NAME should be; begin each line with the label")
        text = text.strip()
        if prefix and text.startswith(prefix):
            raise input_error(name, line, f"more than one label; keep one {prefix} a line")
        if not notes.is_blank(name, line, text):
            notes.text(text)
            notes.label(label)
            yield LabelledText(text, label, f"{name}:{line}")
