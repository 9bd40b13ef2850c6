"""Tag schemes for entities, all converted to BIO (Ramshaw and Marcus, 1995; Tjong Kim Sang and Veenstra, 1999).

BIO (IOB2): every entity begins with B-. IOB1: with I-, and with B- only directly after another entity of its kind. BIOES, BILOU, BMES: the last word
and the single word of an entity have letters of their own. `I-` after `O` is therefore right in IOB1 and refused in BIO: a file with a B- where IOB1
would have none is BIO. A sentence that begins with the I- of the entity at the end of the sentence before it was cut in two, and gets its B-.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as count_from
from typing import Any

from stairs.errors import preview
from stairs.text.examples import TaggedSentence
from stairs.text.labelled.notes import DataNotes
from stairs.text.tables.lines import input_error

TAG = re.compile(r"([BIESLUMW])([-_])(\S+)", re.DOTALL)
SAME_LETTER = {"L": "E", "U": "S", "W": "S", "M": "I"}
OUTSIDE = ("O", "")
START = ""  # before the first word
IN_BIO = {"E": "I", "S": "B"}


class TagScheme:
    """The pairs of neighbouring tags of a file, which tell its scheme when all of it is read."""

    def __init__(self, name: str):
        self.name = name
        self.lines: dict[tuple[str, str], int] = {}  # (tag before, or START, and tag) -> the first line with this pair
        self.continued: dict[str, int] = {}  # tag that continues the sentence before -> its count
        self.first_continued, self.last_tag = 0, "O"

    def add(self, tags: Sequence[str], start: int) -> None:
        if tags[0][0] in "IE" and continues(self.last_tag, tags[0]):
            self.continued[tags[0]] = self.continued.get(tags[0], 0) + 1
            self.first_continued = self.first_continued or start
            befores = [tags[0], *tags[:-1]]  # as if it followed itself, which is always valid
        else:
            befores = [START, *tags[:-1]]
        self.last_tag = tags[-1]
        if not set(zip(befores, tags, strict=True)) <= self.lines.keys():
            for line, before, tag in zip(count_from(start), befores, tags, strict=False):
                self.lines.setdefault((before, tag), line)

    def conversion(self, notes: DataNotes) -> dict[tuple[str, str], str] | None:
        """(tag before, tag) -> tag in BIO; None if the tags stay as they are."""
        tags = {tag for _, tag in self.lines}
        split_tags = {tag: split_tag(tag) for tag in tags}
        if not any(letter in "BI" for letter, _ in split_tags.values() if letter):  # parts of speech and the like
            return None
        for (_, tag), line in self.lines.items():
            if not split_tags[tag][0]:
                raise input_error(self.name, line, f"the tag {preview(tag)} is neither O nor like B-NAME or I-NAME, as the others are; correct it")
        split_tags[START] = OUTSIDE
        letters = {letter for letter, _ in split_tags.values()}
        is_bio = any(split_tags[tag][0] == "B" and split_tags[before][1] != split_tags[tag][1] for before, tag in self.lines)
        if not letters & {"E", "S"} and not is_bio:
            return self.from_iob1(split_tags, notes)
        kind = "BIOES" if letters & {"E", "S"} else "BIO"
        for (before, tag), line in self.lines.items():
            self.check(kind, before, tag, split_tags, line)
        converted = {(before, tag): join_tag(IN_BIO.get(split_tags[tag][0], split_tags[tag][0]), split_tags[tag][1]) for before, tag in self.lines}
        if any(tag != after for (_, tag), after in converted.items()):
            change = "BIOES and are read as BIO" if kind == "BIOES" else "written B_NAME and are read as B-NAME"
            notes.add_remark(f"the tags are {change}")
        elif not self.continued:
            return None
        if self.continued:
            count, where = sum(self.continued.values()), f"{self.name}:{self.first_continued}"
            notes.add_remark(f"{count} sentences begin inside an entity of the sentence before, the first at {where}; their first tag becomes B-")
        return converted | {(START, tag): join_tag("B", split_tags[tag][1]) for tag in self.continued}

    def check(self, kind: str, before: str, tag: str, split_tags: dict[str, tuple[str, str]], line: int) -> None:
        """In BIO and BIOES alike an entity may continue only from a word inside one of the same name."""
        (last, last_name), (letter, name) = split_tags[before], split_tags[tag]
        if letter in ("I", "E") and (last not in ("B", "I") or last_name != name):
            single = "B" if kind == "BIO" else "S"
            position = f"after {before}" if before else "at the start of a sentence"
            raise input_error(self.name, line, f"{tag} {position} in {kind} tags, where an entity begins with B-; write {join_tag(single, name)}")

    def from_iob1(self, split_tags: dict[str, tuple[str, str]], notes: DataNotes) -> dict[tuple[str, str], str]:
        notes.add_remark("the tags are IOB1 and are read as BIO")
        converted = {}
        for before, tag in [*self.lines, *((START, tag) for tag in self.continued)]:
            letter, name = split_tags[tag]
            starts = letter == "B" or split_tags[before][1] != name
            converted[before, tag] = join_tag(("B" if starts else "I") if name else "O", name)
        return converted


def split_tag(tag: str) -> tuple[str, str]:
    """'L-PER' -> ('E', 'PER'); ('', '') for anything else."""
    if tag == "O":
        return OUTSIDE
    match = TAG.fullmatch(tag)
    return (SAME_LETTER.get(match[1], match[1]), match[3]) if match else ("", "")


def continues(before: str, tag: str) -> bool:
    (last, last_name), (letter, name) = split_tag(before), split_tag(tag)
    return letter in ("I", "E") and last in ("B", "I") and last_name == name


def join_tag(letter: str, name: str) -> str:
    return f"{letter}-{name}" if name else letter


class ConvertedTags(Sequence[TaggedSentence]):
    """Tagged sentences whose tags are converted as they are read."""

    def __init__(self, examples: Sequence[TaggedSentence], conversion: dict[tuple[str, str], str]):
        self.examples, self.conversion = examples, conversion

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ConvertedTags(self.examples[index], self.conversion)
        example = self.examples[index]
        tags = tuple(self.conversion[pair] for pair in zip((START, *example.tags), example.tags, strict=False))
        return replace(example, tags=tags)
