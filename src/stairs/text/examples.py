"""One labelled example of each task, as plain frozen data, and the set of them that a file holds."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and what it is."""

    text: str
    label: str
    where: str = ""  # "file:line", as in every class here, so that a later error can point at it
    group: str = ""  # what the example shares with others, such as its document: they stay together when examples are split


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts and how they relate: a label by name, or a score by degree; never both."""

    first: str
    second: str
    label: str | None = None
    score: float | None = None
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """The words of a sentence and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage; an answer is (start, text) with start in code points; no answers: it cannot be answered."""

    question: str
    passage: str
    answers: tuple[tuple[int, str], ...]
    id: str = ""
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class SenseSentence:
    """The words of a sentence, their lemmas (with the part of speech), and the places of those that have a sense, with it."""

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    senses: tuple[tuple[int, str], ...]
    where: str = ""


@dataclass(frozen=True, slots=True)
class TranslationPair:
    """A sentence and the same in another language."""

    source: str
    target: str
    where: str = ""
    group: str = ""


Example = LabelledText | TextPair | TaggedSentence | Question | SenseSentence | TranslationPair


@dataclass(frozen=True)
class LabelledData:
    """What a file of examples holds: `columns` says in words how it was read, `notes` what deserves a look."""

    task: str  # classify, compare, tag, span, sense or translate
    examples: Sequence[Example]
    columns: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
