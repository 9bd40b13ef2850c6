"""Which column of a file without labels holds the text: the one that is named, the one that the run was trained on, or a guess.

A guess goes by the names of the header and, where they do not tell, by the cells of the first rows; it is printed.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from stairs import progress
from stairs.errors import BadInput, preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.labelled.column_choice import first_line_is_data, is_index_name
from stairs.text.labelled.column_names import (
    FLAG_OF,
    MAX_NAME_PARTS,
    PAIRS,
    PARALLEL,
    TEXT,
    Columns,
    choose_named,
    columns_flag,
    likely_columns,
    list_columns,
    match_pair,
)
from stairs.text.labelled.column_profile import profile_columns
from stairs.text.labelled.table_examples import open_columns
from stairs.text.tables import RecordTable, open_table
from stairs.text.tables.csv_table import CsvTable
from stairs.text.tables.lines import input_error
from stairs.text.tables.rows import LineTable, all_rows, is_table_file

SAMPLE = 1000  # rows that a guess is based on
NAMED_KINDS = ("classify", "compare", "multilabel", "regress", "translate")  # of examples whose columns have names
WORDS = {"text": "text", "second_column": "second text"}  # what a flag names
FLAG_ROLES = {"text": "text", "second_column": "second"}


class TextColumns(NamedTuple):
    """The positions of the texts in a row."""

    text: int
    second: int | None = None


def training_columns(path: str, kind: str, columns: Columns, encoding: str | None) -> dict[str, str]:
    """The columns of a training file, by the names of their flags, as they were chosen when it was read; none of a file without columns."""
    if kind not in NAMED_KINDS or not is_table_file(path):
        return {}
    with progress.quiet(), suppress(BadInput):
        table, chosen = open_columns(path, encoding, kind, columns)
        if not (isinstance(table, CsvTable) and not table.header):
            return {FLAG_OF[role].replace("-", "_"): column for role, column in chosen.items() if role in FLAG_OF}
    return {}


def open_texts(path: str | Path, encoding: str | None, named: Mapping[str, str], trained: Mapping[str, str]) -> RecordTable | LineTable:
    """The file as a table. A CSV file whose first line is a row like the others has columns called 1, 2, 3."""
    if not is_table_file(path):
        return LineTable(path, encoding)
    table = open_table(path, encoding)
    if not isinstance(table, CsvTable) or knows_header(table.columns, named, trained):
        return table
    headerless = CsvTable(path, encoding, header=False)
    has_sentence = any(len(cell.split()) > MAX_NAME_PARTS for cell in table.columns)
    if not has_sentence and not first_line_is_data(headerless):
        return table
    progress.say(f"{table.name}:{table.line}: the first line looks like the others, so it is a row, and the columns are called by their numbers")
    return headerless


def knows_header(columns: Sequence[str], named: Mapping[str, str], trained: Mapping[str, str]) -> bool:
    """Whether one of the columns has a name that somebody gave or that texts usually have."""
    return any(name in columns for name in (*named.values(), *trained.values())) or bool(likely_columns(columns, TEXT) or match_pair(columns, PAIRS))


def choose_text_columns(
    table: RecordTable | LineTable, columns: Sequence[str], named: Mapping[str, str], trained: Mapping[str, str], has_pairs: bool
) -> TextColumns:
    """Where the text of a row stands and, `has_pairs`, the second one; each guess is printed."""
    if "second_column" in named and not has_pairs:
        raise BadInput("--second-column is for runs that answer about two texts, and this one reads one; leave it out")
    if isinstance(table, LineTable):
        return TextColumns(0)
    known = {flag: choose_named(table.name, table.line, columns, name, flag.replace("_", "-")) for flag, name in named.items()}
    wanted = ("text", "second_column") if has_pairs else ("text",)
    for flag in wanted:
        if flag not in known and (name := trained.get(flag)) is not None and name in columns:
            known[flag] = name
    missing = [flag for flag in wanted if flag not in known]
    if missing:
        rest = [name for name in columns if name not in known.values()]
        guessed = guess_pair_columns(table, rest) if len(missing) == 2 else {missing[0]: guess_column(table, rest, missing[0])}
        known |= guessed
        progress.say(f"{table.name}: {' and '.join(f'the {WORDS[flag]} is {name!r}' for flag, name in guessed.items())} (guessed)")
    for name in known.values():
        if list(columns).count(name) > 1:
            raise input_error(table.name, table.line, f"two columns are called {preview(name)}; rename one of them")
    positions = [list(columns).index(known[flag]) for flag in wanted]
    if len(set(positions)) < len(positions):
        raise BadInput(f"{table.name}: both texts would come from {known['text']!r}; name the other with --second-column")
    return TextColumns(*positions)


def guess_pair_columns(table: RecordTable, columns: Sequence[str]) -> dict[str, str]:
    """Both texts of a pair."""
    pair = match_pair(columns, [*PAIRS, *PARALLEL])
    if pair is None:
        texts = text_like_columns(table, columns)
        if len(texts) != 2:
            advice = "name them with --text and --second-column"
            raise input_error(table.name, table.line, f"no two columns of text among {list_columns(columns)}; {advice}")
        pair = (texts[0], texts[1])
    return {"text": pair[0], "second_column": pair[1]}


def guess_column(table: RecordTable, columns: Sequence[str], flag: str) -> str:
    """The one column of text."""
    likely = likely_columns(columns, TEXT)
    candidates = likely if len(likely) == 1 else text_like_columns(table, likely or columns) or likely
    others = [name for name in columns if not is_index_name(name)]
    if not candidates and len(others) == 1:
        candidates = others
    if not candidates:
        advice = f"name it with --{flag.replace('_', '-')} NAME, or by its number"
        raise input_error(table.name, table.line, f"no column of text among {list_columns(columns)}; {advice}")
    if len(candidates) == 1:
        return candidates[0]
    own = [Interpretation(f"the {WORDS[flag]} from {name!r}", columns_flag({FLAG_ROLES[flag]: name})) for name in candidates[:4]]
    return candidates[choose_interpretation(f"{table.name}:{table.line}", "several columns look like text", own)]


def text_like_columns(table: RecordTable, columns: Sequence[str]) -> list[str]:
    """Those whose first cells are sentences."""
    distinct = [name for name in dict.fromkeys(columns) if not is_index_name(name)]
    positions = [list(table.columns).index(name) for name in distinct if name in table.columns]
    rows = ((line, [cells[position] for position in positions]) for line, cells in islice(all_rows(table, table.columns), SAMPLE))
    return [name for name, profile in profile_columns([table.columns[position] for position in positions], rows).items() if profile.fits_text]
