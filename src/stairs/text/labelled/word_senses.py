"""Words with their senses: token, lemma, part of speech and sense on each line, tabs between them; `_` for a word without a sense, `;` between
several that fit equally well; blank lines, or lines that begin with #, separate sentences."""

from collections.abc import Iterator
from pathlib import Path
from sys import intern

from stairs.errors import preview
from stairs.text.examples import SenseSentence
from stairs.text.input_files import printable
from stairs.text.tables.lines import input_error, numbered_lines

COLUMN_COUNT = 4
NO_SENSE = "_"
POS_LETTERS = (("adv", "r"), ("adj", "a"), ("n", "n"), ("v", "v"), ("j", "a"), ("r", "r"))  # prefix of a part of speech, WordNet's letter


def read_senses(path: str | Path, encoding: str | None) -> Iterator[SenseSentence]:
    name, start = printable(path), 0
    words: list[str] = []
    lemmas: list[str] = []
    senses: list[tuple[int, str]] = []
    for line, text in numbered_lines(path, encoding):
        if not text.strip() or text.startswith("#"):
            if words:
                yield SenseSentence(tuple(words), tuple(lemmas), tuple(senses), f"{name}:{start}")
            words, lemmas, senses = [], [], []
            continue
        cells = text.rstrip("\r\n").split("\t")
        if len(cells) != COLUMN_COUNT:
            raise input_error(name, line, f"{len(cells)} columns in {preview(text)}; give token, lemma, part of speech and sense")
        start = start if words else line
        if cells[3] != NO_SENSE:
            senses.append((len(words), intern(cells[3])))
        words.append(intern(cells[0].replace("_", " ")))
        lemmas.append(intern(f"{cells[1].lower()}.{pos_letter(cells[2])}"))
    if words:
        yield SenseSentence(tuple(words), tuple(lemmas), tuple(senses), f"{name}:{start}")


def pos_letter(part_of_speech: str) -> str:
    return next((letter for prefix, letter in POS_LETTERS if part_of_speech.lower().startswith(prefix)), part_of_speech.lower())
