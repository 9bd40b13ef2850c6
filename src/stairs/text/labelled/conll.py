"""Tagged words: CoNLL columns (a word on each line, a blank line between sentences) and CoNLL-U (universaldependencies.org/format)."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from sys import intern  # a corpus has few words and many copies of them

from stairs.errors import BadInput, preview
from stairs.text.examples import ParsedSentence, TaggedSentence
from stairs.text.input_files import printable
from stairs.text.labelled.column_names import Columns, columns_error, parse_columns
from stairs.text.labelled.notes import DataNotes
from stairs.text.labelled.tag_schemes import TAG, TagScheme
from stairs.text.labelled.token_tables import MAX_SENTENCE_WORDS, find_token_table
from stairs.text.tables.lines import file_suffix, input_error, numbered_lines
from stairs.text.trees import find_fault

HEAD = re.compile(r"0|[1-9]\d*")
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
WORD_ID = re.compile(r"[1-9]\d*")
OTHER_ID = re.compile(r"[1-9]\d*-[1-9]\d*|\d+\.[1-9]\d*")  # a multiword token, an empty node: neither is a word of the sentence
HEADER_WORDS = {"word", "words", "token", "tokens", "form", "char", "字", "词"}
HEADER_TAGS = {"tag", "tags", "label", "labels", "ner", "ner_tag", "pos", "bio", "标签"}


def is_conllu(path: str | Path, encoding: str | None) -> bool:
    if file_suffix(path) in (".conllu", ".conllup"):
        return True
    first = next((text for _, text in numbered_lines(path, encoding) if text.strip() and not text.startswith("#")), "").split("\t")
    return len(first) == 10 and first[0] in ("1", "1-2")


def read_tags(
    path: str | Path, encoding: str | None, columns: Columns, notes: DataNotes, scheme: TagScheme, trees: bool = False
) -> tuple[str, Iterator[TaggedSentence]]:
    """How the file was read, in words, and its sentences; with `trees` each is a ParsedSentence."""
    try:
        named = parse_columns(columns, "tag")
    except ValueError as error:
        raise columns_error(printable(path), columns, error) from None
    if trees and not is_conllu(path, encoding):
        raise BadInput(f"{printable(path)}: no dependency trees, which --structural-positions needs; give a CoNLL-U file, whose HEAD column has them")
    tokens = None if trees else find_token_table(path, encoding, named)
    if tokens:
        return tokens.description + ("" if columns else " (guessed)"), tokens.sentences(scheme, notes)
    if is_conllu(path, encoding):
        word, tag = (named.get(role, default).lower() for role, default in (("word", "form"), ("tag", "upos")))
        for name in (word, tag):
            if name not in CONLLU:
                raise BadInput(f"{printable(path)}:1: no column {preview(name)}; CoNLL-U has {', '.join(CONLLU)}")
        sentences = read_conllu(path, encoding, CONLLU.index(word), CONLLU.index(tag), notes, trees)
        return f"CoNLL-U: words from {word}, tags from {tag}{', trees from head' if trees else ''}", sentences
    layout = ConllLayout(path, encoding, named)
    return layout.description, layout.sentences(scheme)


class DocumentMarks:
    """The document of a sentence, by the lines that begin one: `-DOCSTART-`, `# newdoc` and `# newdoc id = NAME`."""

    def __init__(self) -> None:
        self.count, self.name = 0, ""

    def add(self, text: str) -> None:
        match = re.match(r"-DOCSTART-|#\s*newdoc\b(?:\s+id\s*=\s*(\S.*?))?\s*$", text)
        if match:
            self.count += 1
            self.name = match[1] or f"document {self.count}"


class ConllLayout:
    """The columns of the word and the tag in a CoNLL file, from its first lines."""

    def __init__(self, path: str | Path, encoding: str | None, named: dict[str, str]):
        self.path, self.name, self.encoding, self.header = path, printable(path), encoding, 0
        rows = (pair for pair in numbered_lines(path, encoding) if pair[1].strip() and not self.is_remark(pair[1]))
        line, text = next(rows, (0, ""))
        if not line:
            raise BadInput(f"no text in {printable(path)}; give a file with a word and its tag on each line")
        self.has_tabs = "\t" in text.strip()
        first = self.cells(text)
        self.width, names = len(first), [cell.lower() for cell in first]
        if self.width < 2:
            raise input_error(self.name, line, f"one column, {preview(first[0])}; put a word and its tag on each line, with a tab between them")
        if names[0] in HEADER_WORDS and names[-1] in HEADER_TAGS:
            self.header = line
        self.word, self.tag = (self.column_index(named.get(role), default, names, line) for role, default in (("word", 0), ("tag", self.width - 1)))
        self.description = f"words from column {self.word + 1}, tags from column {self.tag + 1} of {self.width}"

    def column_index(self, named: str | None, default: int, names: list[str], line: int) -> int:
        if named is None:
            return default
        if self.header and named.lower() in names:
            return names.index(named.lower())
        if re.fullmatch(r"[1-9]\d{0,3}", named) and int(named) <= self.width:
            return int(named) - 1
        raise input_error(self.name, line, f"no column {preview(named)}; name one of 1 to {self.width}")

    def cells(self, text: str) -> list[str]:
        return text.split("\t") if self.has_tabs else re.split(r"[ \t]+", text.strip(" \t"))

    def is_remark(self, text: str) -> bool:
        """Whether a line is a comment or begins a document, while the columns are not known yet."""
        if text.startswith("-DOCSTART-"):
            return True
        last = re.split(r"[ \t]+", text.strip(" \t"))[-1]
        return text.startswith("#") and not (last == "O" or TAG.fullmatch(last))

    def sentences(self, scheme: TagScheme) -> Iterator[TaggedSentence]:
        block: list[str] = []
        documents = DocumentMarks()
        for line, text in chain(numbered_lines(self.path, self.encoding), [(-1, "")]):
            if text and not text.isspace():
                if not block and (line == self.header or self.is_comment(text)):
                    documents.add(text)
                else:
                    block.append(text)
                    start = line - len(block) + 1
                if len(block) > MAX_SENTENCE_WORDS:
                    raise input_error(self.name, line, f"a sentence of more than {MAX_SENTENCE_WORDS:,} words; put a blank line between sentences")
            elif block:
                words, tags = self.split(start, block)
                scheme.add(tags, start)
                yield TaggedSentence(words, tags, f"{self.name}:{start}", documents.name)
                block = []

    def split(self, start: int, block: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        rows = [text.split("\t") for text in block] if self.has_tabs else [self.cells(text) for text in block]
        for line, cells in enumerate(rows, start):
            if len(cells) != self.width or not cells[self.word] or not cells[self.tag].strip():
                raise self.row_error(line, block[line - start], cells)
        return tuple([intern(cells[self.word]) for cells in rows]), tuple([intern(cells[self.tag]) for cells in rows])

    def is_comment(self, text: str) -> bool:
        """Asked only before a sentence, whose first word may be '#': then the line has the columns of a word."""
        if not text.startswith("#"):
            return text.startswith("-DOCSTART-")
        cells = self.cells(text)
        return len(cells) != self.width or cells[2:3] == ["="]

    def row_error(self, line: int, text: str, cells: list[str]) -> BadInput:
        if len(cells) == self.width:
            return input_error(self.name, line, f"an empty {'word' if not cells[self.word] else 'tag'}; fill it in or remove the line")
        if self.has_tabs and "\t" not in text and len(text.split()) == self.width:
            return input_error(self.name, line, "spaces between the columns where the file has tabs; use tabs")
        advice = "give each word its tag, and put a blank line between sentences"
        return input_error(self.name, line, f"{len(cells)} columns where the first line has {self.width}; {advice}")


def read_conllu(path: str | Path, encoding: str | None, word: int, tag: int, notes: DataNotes, trees: bool = False) -> Iterator[TaggedSentence]:
    """The words of each CoNLL-U sentence, in order, without multiword tokens and empty nodes; with `trees`, their heads, which number words only."""
    name, skipped = printable(path), 0
    sentence = ConlluSentence(name, trees)
    documents = DocumentMarks()
    for line, text in numbered_lines(path, encoding):
        if text.startswith("#"):
            documents.add(text)
            continue
        if not text.strip():
            if sentence.words:
                yield sentence.example(documents.name)
            sentence = ConlluSentence(name, trees)
            continue
        cells = text.split("\t")
        if len(cells) != 10:
            raise input_error(name, line, f"{len(cells)} columns where CoNLL-U has 10; separate them by tabs and write _ for an empty one")
        if OTHER_ID.fullmatch(cells[0]):
            skipped += 1
            continue
        number = len(sentence.words) + 1
        if not WORD_ID.fullmatch(cells[0]) or int(cells[0][:6]) != number:
            raise input_error(name, line, f"the id {preview(cells[0])} where {number} was expected; number the words from 1")
        if not cells[word] or (cells[tag] in ("", "_") and CONLLU[tag] not in ("feats", "deps", "misc")):
            raise input_error(name, line, f"no {CONLLU[tag] if cells[word] else 'word'}; fill in the column or choose another for the tag")
        sentence.add(line, cells[word], cells[tag], cells[CONLLU.index("head")])
        if len(sentence.words) > MAX_SENTENCE_WORDS:
            raise input_error(name, line, f"a sentence of more than {MAX_SENTENCE_WORDS:,} words; put a blank line between sentences")
    if sentence.words:
        yield sentence.example(documents.name)
    if skipped:
        notes.add_remark(f"{skipped} multiword tokens and empty nodes were skipped; the words of the tokens are read")


class ConlluSentence:
    """The words of a sentence as they are read, and with `trees` their heads, which are not looked at otherwise."""

    def __init__(self, name: str, trees: bool) -> None:
        self.name, self.trees = name, trees
        self.words: list[str] = []
        self.tags: list[str] = []
        self.heads: list[int] = []
        self.lines: list[int] = []

    def add(self, line: int, word: str, tag: str, head: str) -> None:
        self.words.append(intern(word))
        self.tags.append(intern(tag))
        self.lines.append(line)
        if self.trees:
            if head in ("", "_"):
                advice = "parse the text first, or leave --structural-positions out"
                raise input_error(self.name, line, f"the word {preview(word)} has no head; {advice}")
            if not HEAD.fullmatch(head):
                raise input_error(self.name, line, f"the head {preview(head)} is not a number; give that of a word, or 0 for the root")
            self.heads.append(int(head[:7]))  # a longer one is no word either

    def example(self, document: str) -> TaggedSentence:
        where = f"{self.name}:{self.lines[0]}"
        if not self.trees:
            return TaggedSentence(tuple(self.words), tuple(self.tags), where, document)
        if fault := find_fault(self.heads):
            raise input_error(self.name, self.lines[fault.word], fault.sentence)
        return ParsedSentence(tuple(self.words), tuple(self.tags), where, document, tuple(self.heads))
