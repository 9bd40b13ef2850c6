"""The ways of marking stretches of words, all turned into BIO (Ramshaw and Marcus, 1995; Tjong Kim Sang and Veenstra, 1999).

BIO (IOB2): every stretch begins with B-. IOB1: with I-, and with B- only where it follows another of its kind. BIOES, BILOU, BMES: the
last word and the single word have letters of their own. `I-` after `O` is therefore right in IOB1 and refused in BIO: a file in which
some B- stands where IOB1 would not put it is BIO. A sentence that begins with the I- of the stretch in which the one before it broke off
was cut in two, and gets its B-.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from stairs.errors import preview
from stairs.text.examples import Example
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables.lines import input_error

TAG = re.compile(r"([BIESLUMW])([-_])(\S+)", re.DOTALL)
SAME_LETTER = {"L": "E", "U": "S", "W": "S", "M": "I"}
OUTSIDE = ("O", "")
START = ""  # what stands before the first word
IN_BIO = {"E": "I", "S": "B"}


class TagScheme:
    """The tags that were seen side by side, from which the scheme of a file is told when it has been read."""

    def __init__(self, name: str):
        self.name = name
        self.lines: dict[tuple[str, str], int] = {}  # (tag before, or START, and tag) -> the first line with the two
        self.continued: dict[str, int] = {}  # tag that continues the sentence before -> how often
        self.first_continued, self.last_tag = 0, "O"

    def add(self, tags: Sequence[str], start: int) -> None:
        if tags[0][0] in "IE" and continues(self.last_tag, tags[0]):
            self.continued[tags[0]] = self.continued.get(tags[0], 0) + 1
            self.first_continued = self.first_continued or start
            befores = [tags[0], *tags[:-1]]  # as if it followed itself, which is always right
        else:
            befores = [START, *tags[:-1]]
        self.last_tag = tags[-1]
        if not set(zip(befores, tags, strict=True)) <= self.lines.keys():
            for line, before, tag in zip(count(start), befores, tags, strict=False):
                self.lines.setdefault((before, tag), line)

    def conversion(self, notes: DataNotes) -> dict[tuple[str, str], str] | None:
        """(tag before, tag) -> tag in BIO; None when the tags stay as they are."""
        tags = {tag for _, tag in self.lines}
        marked = {tag: split_tag(tag) for tag in tags}
        if not any(letter in "BI" for letter, _ in marked.values() if letter):  # parts of speech and the like
            return None
        for (_, tag), line in self.lines.items():
            if not marked[tag][0]:
                raise input_error(self.name, line, f"the tag {preview(tag)} is neither O nor like B-NAME or I-NAME as the others; correct it")
        marked[START] = OUTSIDE
        letters = {letter for letter, _ in marked.values()}
        begins = any(marked[tag][0] == "B" and marked[before][1] != marked[tag][1] for before, tag in self.lines)
        if not letters & {"E", "S"} and not begins:
            return self.from_iob1(marked, notes)
        kind = "BIOES" if letters & {"E", "S"} else "BIO"
        for (before, tag), line in self.lines.items():
            self.check(kind, before, tag, marked, line)
        converted = {(before, tag): join_tag(IN_BIO.get(marked[tag][0], marked[tag][0]), marked[tag][1]) for before, tag in self.lines}
        if any(tag != after for (_, tag), after in converted.items()):
            were = "BIOES and are read as BIO" if kind == "BIOES" else "written B_NAME and are read as B-NAME"
            notes.add_remark(f"the tags were {were}")
        elif not self.continued:
            return None
        if self.continued:
            cuts, where = sum(self.continued.values()), f"{self.name}:{self.first_continued}"
            notes.add_remark(f"{cuts} sentences begin in the stretch that the one before broke off, the first at {where}; they get a B- there")
        return converted | {(START, tag): join_tag("B", marked[tag][1]) for tag in self.continued}

    def check(self, kind: str, before: str, tag: str, marked: dict[str, tuple[str, str]], line: int) -> None:
        """In BIO and BIOES alike a stretch may go on only from a word inside one of the same name."""
        (last, last_name), (letter, name) = marked[before], marked[tag]
        if letter in ("I", "E") and (last not in ("B", "I") or last_name != name):
            single = "B" if kind == "BIO" else "S"
            place = f"after {before}" if before else "at the start of a sentence"
            raise input_error(self.name, line, f"{tag} {place} in {kind} tags, where a stretch begins with B-; write {join_tag(single, name)}")

    def from_iob1(self, marked: dict[str, tuple[str, str]], notes: DataNotes) -> dict[tuple[str, str], str]:
        notes.add_remark("the tags were IOB1 and are read as BIO")
        converted = {}
        for before, tag in [*self.lines, *((START, tag) for tag in self.continued)]:
            letter, name = marked[tag]
            starts = letter == "B" or marked[before][1] != name
            converted[before, tag] = join_tag(("B" if starts else "I") if name else "O", name)
        return converted


def split_tag(tag: str) -> tuple[str, str]:
    """'L-PER' -> ('E', 'PER'); ('', '') for what is no mark."""
    if tag == "O":
        return OUTSIDE
    found = TAG.fullmatch(tag)
    return (SAME_LETTER.get(found[1], found[1]), found[3]) if found else ("", "")


def continues(before: str, tag: str) -> bool:
    (last, last_name), (letter, name) = split_tag(before), split_tag(tag)
    return letter in ("I", "E") and last in ("B", "I") and last_name == name


def join_tag(letter: str, name: str) -> str:
    return f"{letter}-{name}" if name else letter


class ConvertedTags(Sequence):
    """Tagged sentences with their tags rewritten as they are taken."""

    def __init__(self, examples: Sequence[Example], conversion: dict[tuple[str, str], str]):
        self.examples, self.conversion = examples, conversion

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return ConvertedTags(self.examples[place], self.conversion)
        example = self.examples[place]
        tags = tuple(self.conversion[pair] for pair in zip((START, *example.tags), example.tags, strict=False))
        return replace(example, tags=tags)
