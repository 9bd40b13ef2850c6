"""Tagged words in a table with a row for each word and the number of its sentence, or in records with a list of words and a list of tags."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

from stairs.errors import preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.examples import TaggedSentence
from stairs.text.labelled.column_names import columns_flag, likely_columns, list_columns, normalize_name, word_list
from stairs.text.labelled.column_profile import ColumnProfile, profile_columns
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.tag_schemes import TagScheme
from stairs.text.tables import JSON_SUFFIXES, RecordTable, open_table
from stairs.text.tables.csv_table import DELIMITERS, CsvTable
from stairs.text.tables.json_table import describe_type
from stairs.text.tables.lines import file_suffix, input_error, numbered_lines
from stairs.text.tables.xlsx_table import XLSX_SUFFIXES, XlsxTable

LIST_SUFFIXES = (*JSON_SUFFIXES, ".parquet")  # of files whose records may hold lists
MAX_SENTENCE_WORDS = 10_000
MAX_UNMARKED_WORDS = 500  # in a file without sentence boundaries so far: more are several sentences
WORD = (word_list("word 词"), word_list("words token tokens form char 字 词语 单词 字符"))
TAG = (
    word_list("tag tags"),
    word_list("ner_tag ner_tags ner label labels bio iob entity entity_tag pos pos_tag pos_tags upos xpos chunk chunk_tags 标签 标注 词性"),
)
SENTENCE = (
    word_list("sentence_# sentence_id sent_id sentence_no sentence_number sentence_idx sentence_index sentence_num sid 句子编号 句子id 句号码"),
    word_list("sentence sent 句子"),
)
MAX_NAME_CHARACTERS = 24  # of the name of a sentence, such as 'Sentence: 47959'


class TokenTable:
    """A table of tagged words, and its columns of words, tags and sentences."""

    def __init__(self, table: RecordTable, columns: dict[str, str]) -> None:
        self.table, self.columns = table, columns

    @property
    def description(self) -> str:
        return ", ".join(f"{role} from {column!r}" for role, column in self.columns.items())

    def sentences(self, scheme: TagScheme, notes: DataNotes) -> Iterator[TaggedSentence]:
        for sentence in self.by_row(notes) if isinstance(self.table, CsvTable) else self.by_record(notes):
            scheme.add(sentence.tags, int(sentence.where.rpartition(":")[2]))
            yield sentence

    def by_row(self, notes: DataNotes) -> Iterator[TaggedSentence]:
        """A sentence ends where its number changes, or at a blank line in a table without numbers."""
        name, is_numbered = self.table.name, "sentence" in self.columns
        columns = [self.columns[role] for role in ("word", "tag")] + ([self.columns["sentence"]] if is_numbered else [])
        block: list[tuple[str, str]] = []
        current, start, last, count = "", 0, self.table.line, 0
        seen: set[str] = set()
        repeated = 0
        for line, values in chain(self.table.select_columns(columns), [(-1, [""] * len(columns))]):
            number = values[2].strip() if is_numbered else ""
            is_blank = not any(value.strip() for value in values)
            is_end = is_blank or (number not in ("", current) if is_numbered else line > last + 1)
            if block and (is_end or line < 0):
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
                repeated += number in seen
                seen.add(number)
                current = number
            start = start if block else line
            block.append((intern(word), intern(tag)))
            if len(block) > (MAX_SENTENCE_WORDS if is_numbered or count else MAX_UNMARKED_WORDS):
                advice = "put a blank line between sentences, or name the column with their numbers with --id=NAME"
                raise input_error(name, line, f"a sentence of more than {len(block) - 1:,} words; {advice}")
        if repeated:
            notes.add_remark(f"{repeated} sentence numbers occur again after others; consecutive rows of one number were taken as a sentence")

    def by_record(self, notes: DataNotes) -> Iterator[TaggedSentence]:
        """Two lists of equal length in each record."""
        name, has_numbers = self.table.name, False
        for line, (words, tags) in self.table.select_columns([self.columns["word"], self.columns["tag"]]):
            for role, value in (("word", words), ("tag", tags)):
                if not isinstance(value, list):
                    fault = f"the field {preview(self.columns[role])} is {describe_type(value)}, not a list"
                    raise input_error(name, line, f"{fault}; give a {role} for each word")
            if len(words) != len(tags) or not words:
                raise input_error(name, line, f"{len(words)} words and {len(tags)} tags; give each word its tag")
            bad = next((value for value in (*words, *tags) if not isinstance(value, str | int) or isinstance(value, bool) or value == ""), None)
            if bad is not None or len(words) > MAX_SENTENCE_WORDS:
                fault = f"{len(words):,} words in a sentence" if bad is None else f"{preview(bad)} among the words and tags"
                raise input_error(name, line, f"{fault}; correct the record")
            has_numbers = has_numbers or isinstance(tags[0], int)
            yield TaggedSentence(tuple(intern(str(word)) for word in words), tuple(intern(str(tag)) for tag in tags), f"{name}:{line}")
        if has_numbers:
            notes.add_remark("the tags are numbers: their names are not in the file, so no entities can be told from them")


def find_token_table(path: str | Path, encoding: str | None, named: dict[str, str]) -> TokenTable | None:
    """A file with a row for each word, or two lists for each sentence, as a table; None for a file of another kind."""
    if file_suffix(path) in LIST_SUFFIXES:
        records = open_table(path, encoding)
        first: list[Any] = next(records.select_columns(records.columns), (0, []))[1]
        lists = [column for column, value in zip(records.columns, first, strict=False) if isinstance(value, list)]
        if not named and not all(likely_columns(lists, names) for names in (WORD, TAG)):
            return None
        return TokenTable(records, choose_token_columns(records, lists, named))
    names = XlsxTable(path).columns if file_suffix(path) in XLSX_SUFFIXES else first_cells(path, encoding)
    by_name = all({normalize_name(name) for name in names} & {word for tier in tiers for word in tier} for tiers in (WORD, TAG))
    if not by_name and not set(named.values()) & set(names):
        return None
    table = XlsxTable(path) if file_suffix(path) in XLSX_SUFFIXES else CsvTable(path, encoding)
    sentence = named.get("sentence") or next(iter(likely_columns(table.columns, SENTENCE)), None)
    if sentence is None and table.delimiter == "\t":
        return None  # CoNLL columns with a header
    others = [column for column in table.columns if column != sentence]
    chosen = choose_token_columns(table, others, {role: column for role, column in named.items() if role != "sentence"})
    if sentence is not None and sentence not in table.columns:
        raise input_error(table.name, table.line, f"no column {preview(sentence)} for the sentence; it has {list_columns(table.columns)}")
    return TokenTable(table, {**({"sentence": sentence} if sentence else {}), **chosen})


def choose_token_columns(table: RecordTable, columns: Sequence[str], named: dict[str, str]) -> dict[str, str]:
    """A column of words and one of tags; where several hold tags, the user is asked which."""
    for role, column in named.items():
        if column not in table.columns:
            raise input_error(table.name, table.line, f"no column {preview(column)} for the {role}; it has {list_columns(table.columns)}")
    options = {role: [named[role]] if role in named else likely_columns(columns, tiers) for role, tiers in (("word", WORD), ("tag", TAG))}
    for role in options:
        if not options[role]:
            fault = f"no column for the {role} among {list_columns(table.columns)}"
            raise input_error(table.name, table.line, f"{fault}; name them with --text=NAME --label=NAME")
    assignments = [{"word": options["word"][0], "tag": tag} for tag in options["tag"]]
    if len(assignments) == 1:
        return assignments[0]
    interpretations = [Interpretation(f"tag from {own['tag']!r}", columns_flag({'tag': own['tag']})) for own in assignments]
    return assignments[choose_interpretation(f"{table.name}:{table.line}", "several columns hold tags", interpretations)]


def first_cells(path: str | Path, encoding: str | None) -> list[str]:
    """The cells of the first line, whatever its delimiter."""
    first = next((text for _, text in numbered_lines(path, encoding) if text.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    return [cell.strip(' "\ufeff') for cell in first.split(delimiter)] if delimiter in first else []


def is_token_table(path: str | Path, encoding: str | None) -> bool:
    """Whether a file is certainly of this kind: its words have no spaces, and its sentences are numbered, or separated by blank lines."""
    token_table = find_token_table(path, encoding, {})
    if token_table is None or file_suffix(path) in LIST_SUFFIXES:
        return token_table is not None
    table, columns = token_table.table, list(token_table.columns.values())
    has_gaps, last = False, table.line

    def rows() -> Iterator[tuple[int, list[str]]]:
        nonlocal has_gaps, last
        for line, values in table.select_columns(columns):
            has_gaps, last = has_gaps or line > last + 1, line
            yield line, values

    profiles = dict(zip(token_table.columns, profile_columns(columns, rows()).values(), strict=True))
    has_few_spaces = profiles["word"].sentence_like <= profiles["word"].row_count / 10
    return has_few_spaces and (is_numbering(profiles["sentence"]) if "sentence" in profiles else has_gaps)


def is_numbering(column: ColumnProfile) -> bool:
    """Numbers, names with a number such as 'Sentence: 1', or cells that only the first row of a sentence has; no texts."""
    if column.empty or column.is_number:
        return True
    return column.max_length <= MAX_NAME_CHARACTERS and (column.values is None or 2 * len(column.values) < column.row_count)
