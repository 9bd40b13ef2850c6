"""One labelled example of each task, as plain frozen data, and the set of them that a file holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeVar


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and its label."""

    text: str
    label: str
    where: str = ""  # "file:line", as in every class here, so that a later error can point at it
    group: str = ""  # what the example shares with others, such as its document: a split keeps them together


@dataclass(frozen=True, slots=True)
class MultiLabelText:
    """A text and its labels: none, one or several."""

    text: str
    labels: tuple[str, ...]
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A text and the number to predict from it."""

    text: str
    value: float
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts and how they relate: a label or a score, never both."""

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
class ParsedSentence(TaggedSentence):
    """A tagged sentence with its dependency tree, see `text/trees.py`; sentences are read as such only where the tree is used."""

    heads: tuple[int, ...] = ()  # the head of each word, as CoNLL-U numbers them: words from 1, 0 for the head of the root


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage; an answer is (start, text) with start in code points; without answers it cannot be answered."""

    question: str
    passage: str
    answers: tuple[tuple[int, str], ...]
    id: str = ""
    where: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """A context and the answers to choose from, one of which is right."""

    context: str
    choices: tuple[str, ...]
    right: int | None = None  # the number of the right one, from 0; None where nobody knows it yet
    where: str = ""
    group: str = ""

    @property
    def right_choice(self) -> str:
        return "" if self.right is None else self.choices[self.right]


@dataclass(frozen=True, slots=True)
class SenseSentence:
    """The words of a sentence, their lemmas (with the part of speech), and (position, sense) of each word that has a sense."""

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    senses: tuple[tuple[int, str], ...]
    where: str = ""


@dataclass(frozen=True, slots=True)
class TranslationPair:
    """A sentence and its translation."""

    source: str
    target: str
    where: str = ""
    group: str = ""


Example = LabelledText | MultiLabelText | ScoredText | TextPair | TaggedSentence | Question | MultipleChoice | SenseSentence | TranslationPair
AnyExample = TypeVar("AnyExample", bound=Example)


@dataclass(frozen=True)
class LabelledData:
    """The examples of a file; `columns` says in words how it was read, `notes` what the user should check."""

    task: str  # classify, multilabel, regress, compare, tag, span, choose, sense or translate
    examples: Sequence[Example]
    columns: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()


class Splits(NamedTuple):
    """Labelled examples to train on, to validate with and to test on."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]


def example_texts(example: Example) -> tuple[str, ...]:
    """What a model reads of an example."""
    match example:
        case LabelledText(text=text) | MultiLabelText(text=text) | ScoredText(text=text):
            return (text,)
        case TextPair(first=first, second=second):
            return first, second
        case TaggedSentence(words=words) | SenseSentence(words=words):
            return (" ".join(words),)
        case Question(question=question, passage=passage):
            return question, passage
        case MultipleChoice(context=context, choices=choices):
            return context, *choices
        case TranslationPair(source=source, target=target):
            return source, target
    raise AssertionError(type(example))


def normalize_text(text: str) -> str:
    """The text without case and white space, also that between words and punctuation, which tokenized files add."""
    return "".join(text.casefold().split())


def text_hash(*texts: str) -> bytes:
    """The same for texts that differ only in case and white space."""
    return blake2b("\0".join(map(normalize_text, texts)).encode(errors="surrogatepass"), digest_size=12).digest()


def example_hash(example: Example) -> bytes:
    """The same for examples with the same input."""
    return text_hash(example.source) if isinstance(example, TranslationPair) else text_hash(*example_texts(example))
