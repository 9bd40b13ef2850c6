"""Tagged words that are no CoNLL file: a table with a row for each word and the number of its sentence, and records with lists of words and tags."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

from stairs.errors import preview
from stairs.questions import Interpretation, choose_interpretation
from stairs.text.examples import Tagged
from stairs.text.labelled.column_names import candidates, listed, plain, words
from stairs.text.labelled.column_profile import Profile, profiles
from stairs.text.labelled.notes import Notes
from stairs.text.labelled.tag_schemes import Scheme
from stairs.text.tables.csv_table import DELIMITERS, Table
from stairs.text.tables.json_table import Records, describe
from stairs.text.tables.lines import ending, fault, lines
from stairs.text.tables.parquet_table import Parquet

LONGEST = 10_000  # words in a sentence
ONE_SENTENCE = 500  # words; more without a mark between sentences are several
WORD = (words("word 词"), words("words token tokens form char 字 词语 单词 字符"))
TAG = (
    words("tag tags"),
    words("ner_tag ner_tags ner label labels bio iob entity entity_tag pos pos_tag pos_tags upos xpos chunk chunk_tags 标签 标注 词性"),
)
SENTENCE = (
    words("sentence_# sentence_id sent_id sentence_no sentence_number sentence_idx sentence_index sentence_num sid 句子编号 句子id 句号码"),
    words("sentence sent 句子"),
)
LONGEST_NAME = 24  # characters of a sentence's name, such as 'Sentence: 47959'
LISTS = {".parquet", ".json", ".jsonl", ".ndjson"}


class Tokens:
    """Where such a file has its words, tags and sentences; None of them by `tokens_in` if it is no such file."""

    def __init__(self, rows: Any, chosen: dict[str, str]) -> None:
        self.rows, self.chosen = rows, chosen

    @property
    def description(self) -> str:
        return ", ".join(f"{role} from {column!r}" for role, column in self.chosen.items())

    def sentences(self, scheme: Scheme, notes: Notes) -> Iterator[Tagged]:
        for found in self.by_row(notes) if isinstance(self.rows, Table) else self.by_record(notes):
            scheme.see(found.tags, int(found.where.rpartition(":")[2]))
            yield found

    def by_row(self, notes: Notes) -> Iterator[Tagged]:
        """A sentence ends where its number changes, or at a blank line in a table without numbers."""
        name, numbered = self.rows.name, "sentence" in self.chosen
        columns = [self.chosen[role] for role in ("word", "tag")] + ([self.chosen["sentence"]] if numbered else [])
        block: list[tuple[str, str]] = []
        current, start, last, count = "", 0, self.rows.line, 0
        seen: set[str] = set()
        again = 0
        for line, values in chain(self.rows.pick(columns), [(-1, [""] * len(columns))]):
            number = values[2].strip() if numbered else ""
            is_blank = not any(value.strip() for value in values)
            ends = is_blank or (number not in ("", current) if numbered else line > last + 1)
            if block and (ends or line < 0):
                count += 1
                yield Tagged(tuple(word for word, _ in block), tuple(tag for _, tag in block), f"{name}:{start}")
                block = []
            last = line
            if is_blank:
                continue
            word, tag = values[0].strip(), values[1].strip()
            if not word or not tag:
                raise fault(name, line, f"an empty {'tag' if word else 'word'}; fill it in or remove the line")
            if number and number != current:
                again += number in seen
                seen.add(number)
                current = number
            start = start if block else line
            block.append((intern(word), intern(tag)))
            if len(block) > (LONGEST if numbered or count else ONE_SENTENCE):
                cure = "put a blank line between sentences, or name the column with their numbers with --columns sentence=NAME"
                raise fault(name, line, f"a sentence of more than {len(block) - 1:,} words; {cure}")
        if again:
            notes.say(f"{again} sentence numbers come back after others; each stretch of equal ones was taken as a sentence")

    def by_record(self, notes: Notes) -> Iterator[Tagged]:
        """Two lists of equal length in each record."""
        numbers = False
        for line, (found, tags) in self.rows.pick([self.chosen["word"], self.chosen["tag"]]):
            for role, value in (("word", found), ("tag", tags)):
                if not isinstance(value, list):
                    came = f"the field {preview(self.chosen[role])} is {describe(value)}, not a list"
                    raise fault(self.rows.name, line, f"{came}; give a {role} for each word")
            if len(found) != len(tags) or not found:
                raise fault(self.rows.name, line, f"{len(found)} words and {len(tags)} tags; give each word its tag")
            strange = next((value for value in (*found, *tags) if not isinstance(value, str | int) or isinstance(value, bool) or value == ""), None)
            if strange is not None or len(found) > LONGEST:
                came = f"{len(found):,} words in a sentence" if strange is None else f"{preview(strange)} among the words and tags"
                raise fault(self.rows.name, line, f"{came}; correct the record")
            numbers = numbers or isinstance(tags[0], int)
            yield Tagged(tuple(intern(str(word)) for word in found), tuple(intern(str(tag)) for tag in tags), f"{self.rows.name}:{line}")
        if numbers:
            notes.say("the tags are numbers: their names are not in the file, so no stretches of words can be told from them")


def tokens_in(path: str | Path, encoding: str | None, asked: dict[str, str]) -> Tokens | None:
    """How to read a file of a row, or of two lists, for each sentence's words; None for one of another kind."""
    rows: Any
    if ending(path) in LISTS:
        rows = Parquet(path) if ending(path) == ".parquet" else Records(path, encoding)
        first: list[Any] = next(rows.pick(rows.columns), (0, []))[1]
        columns = [column for column, value in zip(rows.columns, first, strict=False) if isinstance(value, list)]
        if not asked and not all(candidates(columns, names) for names in (WORD, TAG)):
            return None
        return Tokens(rows, choose(rows, columns, asked))
    names = first_names(path, encoding)
    by_name = all({plain(name) for name in names} & {word for tier in tiers for word in tier} for tiers in (WORD, TAG))
    if not by_name and not set(asked.values()) & set(names):
        return None
    rows = Table(path, encoding)
    sentence = asked.get("sentence") or next(iter(candidates(rows.columns, SENTENCE)), None)
    if sentence is None and rows.delimiter == "\t":
        return None  # CoNLL columns with a header
    others = [column for column in rows.columns if column != sentence]
    chosen = choose(rows, others, {role: column for role, column in asked.items() if role != "sentence"})
    if sentence is not None and sentence not in rows.columns:
        raise fault(rows.name, rows.line, f"no column {preview(sentence)} for the sentence; it has {listed(rows.columns)}")
    return Tokens(rows, {**({"sentence": sentence} if sentence else {}), **chosen})


def choose(rows: Any, columns: Sequence[str], asked: dict[str, str]) -> dict[str, str]:
    """A column of words and one of tags; which tags are meant is asked where several have them."""
    for role, column in asked.items():
        if column not in rows.columns:
            raise fault(rows.name, rows.line, f"no column {preview(column)} for the {role}; it has {listed(rows.columns)}")
    found = {role: [asked[role]] if role in asked else candidates(columns, tiers) for role, tiers in (("word", WORD), ("tag", TAG))}
    for role in found:
        if not found[role]:
            raise fault(rows.name, rows.line, f"no column for the {role} among {listed(rows.columns)}; name them with --columns word=NAME,tag=NAME")
    ways = [{"word": word, "tag": tag} for word in found["word"][:1] for tag in found["tag"]]
    if len(ways) == 1:
        return ways[0]
    readings = [Interpretation(f"tag from {way['tag']!r}", f"--columns tag={way['tag']}") for way in ways]
    return ways[choose_interpretation(f"{rows.name}:{rows.line}", "several columns hold tags", readings)]


def first_names(path: str | Path, encoding: str | None) -> list[str]:
    """The cells of the first line, whatever parts them."""
    first = next((text for _, text in lines(path, encoding) if text.strip()), "")
    sign = max(DELIMITERS, key=first.count)
    return [cell.strip(' "\ufeff') for cell in first.split(sign)] if sign in first else []


def holds_tokens(path: str | Path, encoding: str | None) -> bool:
    """Whether a file is surely of this kind: its words have no spaces, and its sentences are numbered, or parted by blank lines."""
    if ending(path) in LISTS:
        return tokens_in(path, encoding, {}) is not None
    found = tokens_in(path, encoding, {})
    if found is None:
        return False
    columns = list(found.chosen.values())
    gaps, last = False, found.rows.line

    def rows() -> Iterator[tuple[int, list[str]]]:
        nonlocal gaps, last
        for line, values in found.rows.pick(columns):
            gaps, last = gaps or line > last + 1, line
            yield line, values

    held = dict(zip(found.chosen, profiles(columns, rows()).values(), strict=True))
    few_spaces = held["word"].wordy <= held["word"].rows / 10
    return few_spaces and (is_numbering(held["sentence"]) if "sentence" in held else gaps)


def is_numbering(column: Profile) -> bool:
    """Numbers, names with a number such as 'Sentence: 1', or cells that stand on the first row of a sentence only; no texts."""
    if column.empty or column.is_number:
        return True
    return column.longest <= LONGEST_NAME and (column.values is None or 2 * len(column.values) < column.rows)

