"""Whether one file holds labelled examples, or text alone: by its suffix and its lines; of a table, by its columns when they are chosen."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from stairs.text.input_files import FILE_KINDS
from stairs.text.labelled.label_lines import begins_with_labels, is_fasttext
from stairs.text.labelled.task_guess import TAG_SUFFIXES, is_tagged
from stairs.text.tables import RECORD_SUFFIXES
from stairs.text.tables.lines import file_suffix, numbered_lines

TABLE_SUFFIXES = {*FILE_KINDS, *RECORD_SUFFIXES, ".xlsx"}
SAMPLE = 400  # lines
MAX_COLUMNS = 4  # of tagged words without tabs between them, as in CoNLL 2003
LINES_PER_TAG = 4  # on average, at least


def are_labels_inside(path: str, encoding: str | None) -> bool:
    """Tables, tagged words and lines that begin with labels; prose is none of them, and a file whose translation lies beside it is prose here."""
    if path == "-" or not Path(path).is_file():
        return False
    suffix = file_suffix(path)
    if suffix in TABLE_SUFFIXES or suffix in TAG_SUFFIXES or is_fasttext(path, encoding):
        return True
    lines = [text for _, text in islice(numbered_lines(path, encoding), SAMPLE) if text.strip()]
    if not lines:
        return False
    widths = {text.count("\t") for text in lines}
    if len(widths) == 1 and 0 not in widths:
        return True
    return (could_be_tags(lines) and is_tagged(path, encoding)) or begins_with_labels(path, encoding)


def could_be_tags(lines: Sequence[str]) -> bool:
    """A word and its tag, perhaps with other columns between, and few different tags: not prose whose lines have equally many words."""
    words = [text.split() for text in lines]
    return max(map(len, words)) <= MAX_COLUMNS and len({own[-1] for own in words}) <= len(lines) / LINES_PER_TAG
