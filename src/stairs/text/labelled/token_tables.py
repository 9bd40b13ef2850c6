"""Tagged words that are no CoNLL file: a table with a row for each word and the number of its sentence, and records with lists of words and tags."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

from stairs.errors import preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.examples import TaggedSentence
from stairs.text.labelled.column_names import likely_columns, list_columns, normalize_name, word_list
from stairs.text.labelled.column_profile import ColumnProfile, profile_columns
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.tag_schemes import TagScheme
from stairs.text.tables.csv_table import DELIMITERS, CsvTable
from stairs.text.tables.json_table import JsonTable, describe_type
from stairs.text.tables.lines import file_suffix, input_error, numbered_lines
from stairs.text.tables.parquet_table import ParquetTable

MAX_SENTENCE_WORDS = 10_000  # words in a sentence
MAX_UNMARKED_WORDS = 500  # words; more without a mark between sentences are several
WORD = (word_list("word 词"), word_list("words token tokens form char 字 词语 单词 字符"))
TAG = (
    word_list("tag tags"),
    word_list("ner_tag ner_tags ner label labels bio iob entity entity_tag pos pos_tag pos_tags upos xpos chunk chunk_tags 标签 标注 词性"),
)
SENTENCE = (
    word_list("sentence_# sentence_id sent_id sentence_no sentence_number sentence_idx sentence_index sentence_num sid 句子编号 句子id 句号码"),
    word_list("sentence sent 句子"),
)
MAX_NAME_CHARACTERS = 24  # characters of a sentence's name, such as 'Sentence: 47959'
LIST_SUFFIXES = {".parquet", ".json", ".jsonl", ".ndjson"}


class TokenTable:
    """Where such a file has its words, tags and sentences; None of them by `find_token_table` if it is no such file."""

    def __init__(self, rows: Any, chosen: dict[str, str]) -> None:
        self.rows, self.columns = rows, chosen

    @property
    def description(self) -> str:
        return ", ".join(f"{role} from {column!r}" for role, column in self.columns.items())

    def sentences(self, scheme: TagScheme, notes: DataNotes) -> Iterator[TaggedSentence]:
        for found in self.by_row(notes) if isinstance(self.rows, CsvTable) else self.by_record(notes):
            scheme.add(found.tags, int(found.where.rpartition(":")[2]))
            yield found

    def by_row(self, notes: DataNotes) -> Iterator[TaggedSentence]:
        """A sentence ends where its number changes, or at a blank line in a table without numbers."""
        name, numbered = self.rows.name, "sentence" in self.columns
        columns = [self.columns[role] for role in ("word", "tag")] + ([self.columns["sentence"]] if numbered else [])
        block: list[tuple[str, str]] = []
        current, start, last, count = "", 0, self.rows.line, 0
        seen: set[str] = set()
        again = 0
        for line, values in chain(self.rows.select_columns(columns), [(-1, [""] * len(columns))]):
            number = values[2].strip() if numbered else ""
            is_blank = not any(value.strip() for value in values)
            ends = is_blank or (number not in ("", current) if numbered else line > last + 1)
            if block and (ends or line < 0):
                count += 1
                yield TaggedSentence(tuple(word for word, _ in block), tuple(tag for _, tag in block), f"{name}:{start}")
                block = []
            last = line
            if is_blank:
                continue
            word, tag = values[0].strip(), values[1].strip()
            if not word or not tag:
                raise input_error(name, line, f"an empty {'tag' if word else 'word'}; fill it in or remove the line")
            if number and number != current:
                again += number in seen
                seen.add(number)
                current = number
            start = start if block else line
            block.append((intern(word), intern(tag)))
            if len(block) > (MAX_SENTENCE_WORDS if numbered or count else MAX_UNMARKED_WORDS):
                cure = "put a blank line between sentences, or name the column with their numbers with --columns sentence=NAME"
                raise input_error(name, line, f"a sentence of more than {len(block) - 1:,} words; {cure}")
        if again:
            notes.add_remark(f"{again} sentence numbers come back after others; each stretch of equal ones was taken as a sentence")

    def by_record(self, notes: DataNotes) -> Iterator[TaggedSentence]:
        """Two lists of equal length in each record."""
        numbers = False
        for line, (found, tags) in self.rows.select_columns([self.columns["word"], self.columns["tag"]]):
            for role, value in (("word", found), ("tag", tags)):
                if not isinstance(value, list):
                    came = f"the field {preview(self.columns[role])} is {describe_type(value)}, not a list"
                    raise input_error(self.rows.name, line, f"{came}; give a {role} for each word")
            if len(found) != len(tags) or not found:
                raise input_error(self.rows.name, line, f"{len(found)} words and {len(tags)} tags; give each word its tag")
            strange = next((value for value in (*found, *tags) if not isinstance(value, str | int) or isinstance(value, bool) or value == ""), None)
            if strange is not None or len(found) > MAX_SENTENCE_WORDS:
                came = f"{len(found):,} words in a sentence" if strange is None else f"{preview(strange)} among the words and tags"
                raise input_error(self.rows.name, line, f"{came}; correct the record")
            numbers = numbers or isinstance(tags[0], int)
            yield TaggedSentence(tuple(intern(str(word)) for word in found), tuple(intern(str(tag)) for tag in tags), f"{self.rows.name}:{line}")
        if numbers:
            notes.add_remark("the tags are numbers: their names are not in the file, so no stretches of words can be told from them")


def find_token_table(path: str | Path, encoding: str | None, asked: dict[str, str]) -> TokenTable | None:
    """How to read a file of a row, or of two lists, for each sentence's words; None for one of another kind."""
    rows: Any
    if file_suffix(path) in LIST_SUFFIXES:
        rows = ParquetTable(path) if file_suffix(path) == ".parquet" else JsonTable(path, encoding)
        first: list[Any] = next(rows.select_columns(rows.columns), (0, []))[1]
        columns = [column for column, value in zip(rows.columns, first, strict=False) if isinstance(value, list)]
        if not asked and not all(likely_columns(columns, names) for names in (WORD, TAG)):
            return None
        return TokenTable(rows, choose_token_columns(rows, columns, asked))
    names = first_cells(path, encoding)
    by_name = all({normalize_name(name) for name in names} & {word for tier in tiers for word in tier} for tiers in (WORD, TAG))
    if not by_name and not set(asked.values()) & set(names):
        return None
    rows = CsvTable(path, encoding)
    sentence = asked.get("sentence") or next(iter(likely_columns(rows.columns, SENTENCE)), None)
    if sentence is None and rows.delimiter == "\t":
        return None  # CoNLL columns with a header
    others = [column for column in rows.columns if column != sentence]
    chosen = choose_token_columns(rows, others, {role: column for role, column in asked.items() if role != "sentence"})
    if sentence is not None and sentence not in rows.columns:
        raise input_error(rows.name, rows.line, f"no column {preview(sentence)} for the sentence; it has {list_columns(rows.columns)}")
    return TokenTable(rows, {**({"sentence": sentence} if sentence else {}), **chosen})


def choose_token_columns(rows: Any, columns: Sequence[str], asked: dict[str, str]) -> dict[str, str]:
    """A column of words and one of tags; which tags are meant is asked where several have them."""
    for role, column in asked.items():
        if column not in rows.columns:
            raise input_error(rows.name, rows.line, f"no column {preview(column)} for the {role}; it has {list_columns(rows.columns)}")
    found = {role: [asked[role]] if role in asked else likely_columns(columns, tiers) for role, tiers in (("word", WORD), ("tag", TAG))}
    for role in found:
        if not found[role]:
            raise input_error(rows.name, rows.line,
                f"no column for the {role} among {list_columns(rows.columns)}; name them with --columns word=NAME,tag=NAME")
    ways = [{"word": word, "tag": tag} for word in found["word"][:1] for tag in found["tag"]]
    if len(ways) == 1:
        return ways[0]
    readings = [Interpretation(f"tag from {way['tag']!r}", f"--columns tag={way['tag']}") for way in ways]
    return ways[choose_interpretation(f"{rows.name}:{rows.line}", "several columns hold tags", readings)]


def first_cells(path: str | Path, encoding: str | None) -> list[str]:
    """The cells of the first line, whatever parts them."""
    first = next((text for _, text in numbered_lines(path, encoding) if text.strip()), "")
    sign = max(DELIMITERS, key=first.count)
    return [cell.strip(' "\ufeff') for cell in first.split(sign)] if sign in first else []


def is_token_table(path: str | Path, encoding: str | None) -> bool:
    """Whether a file is surely of this kind: its words have no spaces, and its sentences are numbered, or parted by blank lines."""
    if file_suffix(path) in LIST_SUFFIXES:
        return find_token_table(path, encoding, {}) is not None
    found = find_token_table(path, encoding, {})
    if found is None:
        return False
    columns = list(found.columns.values())
    gaps, last = False, found.rows.line

    def rows() -> Iterator[tuple[int, list[str]]]:
        nonlocal gaps, last
        for line, values in found.rows.select_columns(columns):
            gaps, last = gaps or line > last + 1, line
            yield line, values

    held = dict(zip(found.columns, profile_columns(columns, rows()).values(), strict=True))
    few_spaces = held["word"].sentence_like <= held["word"].rows / 10
    return few_spaces and (is_numbering(held["sentence"]) if "sentence" in held else gaps)


def is_numbering(column: ColumnProfile) -> bool:
    """Numbers, names with a number such as 'Sentence: 1', or cells that stand on the first row of a sentence only; no texts."""
    if column.empty or column.is_number:
        return True
    return column.max_length <= MAX_NAME_CHARACTERS and (column.values is None or 2 * len(column.values) < column.rows)

