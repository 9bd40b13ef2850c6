"""Words with their senses: token, lemma, part of speech and sense on each line, tabs between them; `_` for a word without a sense, `;` between
several that fit alike; sentences are parted by blank lines or by lines that begin with #."""

from collections.abc import Iterator
from pathlib import Path
from sys import intern

from stairs.errors import preview
from stairs.text.examples import SenseSentence
from stairs.text.input_files import printable
from stairs.text.tables.lines import input_error, numbered_lines

COLUMN_COUNT = 4
NO_SENSE = "_"
POS_LETTERS = (("adv", "r"), ("adj", "a"), ("n", "n"), ("v", "v"), ("j", "a"), ("r", "r"))  # how names of parts of speech begin, and WordNet's letter


def read_senses(path: str | Path, encoding: str | None) -> tuple[str, Iterator[SenseSentence]]:
    return "token, lemma, part of speech and sense of each word", sense_sentences(path, encoding)


def sense_sentences(path: str | Path, encoding: str | None) -> Iterator[SenseSentence]:
    name, begun = printable(path), 0
    words: list[str] = []
    lemmas: list[str] = []
    tagged: list[tuple[int, str]] = []
    for line, text in numbered_lines(path, encoding):
        if not text.strip() or text.startswith("#"):
            if words:
                yield SenseSentence(tuple(words), tuple(lemmas), tuple(tagged), f"{name}:{begun}")
            words, lemmas, tagged = [], [], []
            continue
        cells = text.rstrip("\r\n").split("\t")
        if len(cells) != COLUMN_COUNT:
            raise input_error(name, line, f"{len(cells)} columns in {preview(text)} where token, lemma, part of speech and sense were expected")
        begun = begun if words else line
        if cells[3] != NO_SENSE:
            tagged.append((len(words), intern(cells[3])))
        words.append(intern(cells[0].replace("_", " ")))
        lemmas.append(intern(f"{cells[1].lower()}.{pos_letter(cells[2])}"))
    if words:
        yield SenseSentence(tuple(words), tuple(lemmas), tuple(tagged), f"{name}:{begun}")


def pos_letter(part_of_speech: str) -> str:
    return next((letter for begin, letter in POS_LETTERS if part_of_speech.lower().startswith(begin)), part_of_speech.lower())
