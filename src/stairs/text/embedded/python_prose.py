"""The embedded default: text and labels that are on every machine, because they are the documentation of the Python that runs.

Nothing is stored with the project: it is read when asked for, and is the same every time for the same Python and packages. The labelled
sets come in an order fixed by their content, so that any first part of one is a fair sample.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import TypeVar

from stairs.text.embedded.docstrings import Docstring, docstrings
from stairs.text.embedded.number_names import chinese_name, english_name, number_names
from stairs.text.embedded.reflow import DEFINITION, ITEM, Paragraph, leading_prose, paragraphs
from stairs.text.examples import LabelledText, TaggedSentence, TextPair
from stairs.text.sentences import split_sentences

__all__ = ["LABELS", "PythonProse", "chinese_name", "description_examples", "english_name", "number_names", "package_examples", "parameter_examples",
    "prose_documents"]

# Packages with enough texts, of different matter; no large one drowns the others, and one that is hardly there is left out.
LABELS = (
    "asyncio", "email", "tkinter", "numpy", "torch.distributed", "torch.nn", "torch._inductor", "sympy.combinatorics", "sympy.physics",
    "sympy.polys",
)  # fmt: skip
MIN_TEXTS, MAX_TEXTS = 50, 400
OTHER_NAMES = ("np", "pytorch", "tk", "tcl", "inductor", "torchinductor", "torchscript", "emails")
# Names of parameters that are also everyday words: they count only where the text marks them as names.
EVERYDAY_WORDS = {
    "a", "all", "also", "an", "and", "any", "are", "args", "as", "at", "be", "but", "by", "can", "default", "do", "each", "end",
    "file", "first", "for", "from", "function", "has", "if", "in", "into", "is", "it", "its", "last", "left", "may", "method", "name",
    "no", "none", "not", "number", "object", "of", "on", "one", "only", "or", "other", "out", "return", "right", "same", "set",
    "start", "string", "that", "the", "this", "to", "true", "type", "use", "used", "value", "values", "when", "where", "which",
    "will", "with", "x",
}  # fmt: skip
Item = TypeVar("Item")
WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
MARKUP = re.compile(r":\w+(?::\w+)?:`~?([^`]+)`|``([^`]+)``|`([^`]+)`|(?<!\w)\*{1,2}(\w[^*\s]*)\*{0,2}")


class PythonProse:
    """The prose as a corpus: what `Corpus` offers, without a file."""

    name = "python-prose"

    def __init__(self, limit: int | None = None):
        self.limit = limit  # in characters; None: all
        self.position = 0  # bytes given out so far

    def documents(self) -> Iterator[str]:
        self.position = 0
        for text in prose_documents(self.limit):
            self.position += len(text.encode())
            yield text

    @cached_property
    def size(self) -> int:
        return sum(len(document.encode()) for document in prose_documents(self.limit))

    @cached_property
    def content_hash(self) -> str:
        content = hashlib.sha256()
        for document in prose_documents(self.limit):
            content.update(document.encode() + b"\n\n")
        return content.hexdigest()


def prose_documents(limit: int | None = None) -> Iterator[str]:
    """Documents of one paragraph a line; with a limit, about so many characters of them, taken evenly from the whole."""
    documents = all_documents()
    if limit is None:
        yield from documents
        return
    total = sum(map(len, documents))
    passed = given = 0
    for document in documents:
        passed += len(document)
        if given + len(document) / 2 <= limit * passed / total:
            given += len(document)
            yield document


@lru_cache(maxsize=1)
def all_documents() -> tuple[str, ...]:
    texts = dict.fromkeys(join_paragraphs(found) for _, found in docstring_paragraphs())
    for _, topic in topics():
        texts[join_paragraphs(paragraphs(topic))] = None
    return tuple(text for text in texts if len(text.split()) > 2)


def join_paragraphs(found: list[Paragraph]) -> str:
    return "\n".join(one.text for one in found)


@lru_cache(maxsize=1)
def docstring_paragraphs() -> tuple[tuple[Docstring, list[Paragraph]], ...]:
    return tuple((one, paragraphs(one.text)) for one in docstrings())


def topics() -> list[tuple[str, str]]:
    """The chapters behind `help("if")`: (title, text)."""
    try:
        from pydoc_data.topics import topics as chapters
    except ImportError:  # some distributions leave them out
        return []
    return sorted(chapters.items())


def package_examples() -> list[LabelledText]:
    """Which package does this text document? About as many texts of each, with the packages' names taken out of all of them."""
    by_label: dict[str, dict[str, Docstring]] = {label: {} for label in LABELS}
    names = sorted({part.strip("_") for label in LABELS for part in label.split(".")} | set(OTHER_NAMES), key=len, reverse=True)
    telling = re.compile(rf"(?<![a-z0-9])_?(?:{'|'.join(names)})(?![a-z0-9])\.?", re.IGNORECASE)
    for one, found in docstring_paragraphs():
        label = next((label for label in LABELS if f"{one.module}.".startswith(f"{label}.")), None)
        if label is not None:
            text = " ".join(telling.sub("", strip_markup(leading_prose(found))).split())
            if 6 <= len(text.split()) <= 120:
                by_label[label].setdefault(text, one)
    # The source file is the group: texts of one file share their author and their names (TF-IDF scores 0.82 on files it knows, 0.71 on others), and
    # each label has enough files to keep its share of every part, even tkinter with two thirds of its texts in one of eight.
    chosen = [
        LabelledText(text, label, one.where, one.module)
        for label, texts in by_label.items()
        if len(texts) >= MIN_TEXTS
        for text, one in shuffle_by_content(texts.items(), key=lambda item: item[0])[:MAX_TEXTS]
    ]
    return shuffle_by_content(chosen, key=lambda example: example.text)


def parameter_examples() -> list[TaggedSentence]:
    """Which words are parameter names? Sentences with the quotes and stars around names taken off; every other one has none."""
    with_names: dict[tuple[str, ...], TaggedSentence] = {}
    without: dict[tuple[str, ...], TaggedSentence] = {}
    for one, found in docstring_paragraphs():
        known = {name for name in one.parameters if not name.startswith("_")}
        if not known:
            continue
        for paragraph in found:
            if paragraph.kind != "prose" or DEFINITION.match(paragraph.text) or re.match(r"[\w.]+\(", paragraph.text):
                continue
            item = ITEM.match(paragraph.text)
            for sentence in split_sentences(paragraph.text[item.end() :] if item else paragraph.text):
                words, tags = tag_parameters(sentence, known)
                if 5 <= len(words) <= 60:
                    (with_names if "B-parameter" in tags else without).setdefault(words, TaggedSentence(words, tags, one.where, one.module))
    named = list(with_names.values())
    nameless = [example for words, example in without.items() if words not in with_names]
    chosen = named + shuffle_by_content(nameless, key=sentence_text)[: len(named)]
    return shuffle_by_content(chosen, key=sentence_text)


def sentence_text(example: TaggedSentence) -> str:
    return " ".join(example.words)


def tag_parameters(sentence: str, known: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Its words without marks, and for each whether it is one of the known names."""
    words: list[str] = []
    tags: list[str] = []

    def add(piece: str, marked: bool) -> None:
        for match in WORD.finditer(piece):
            word, attribute = match[0], piece[match.start() - 1 : match.start()] == "."
            is_name = word in known and not attribute and (marked or (len(word) > 1 and word.lower() not in EVERYDAY_WORDS))
            words.append(word)
            tags.append("B-parameter" if is_name else "O")

    done = 0
    for mark in MARKUP.finditer(sentence):
        add(sentence[done : mark.start()], False)
        add(mark[1] or mark[2] or mark[3] or mark[4], True)
        done = mark.end()
    add(sentence[done:], False)
    return tuple(words), tuple(tags)


def description_examples() -> list[TextPair]:
    """Does this text describe this function? Half do; the others have the header of another function of the same module."""
    by_module: dict[str, dict[str, tuple[str, Docstring]]] = defaultdict(dict)
    for one, found in docstring_paragraphs():
        name = one.name.rpartition(".")[2]
        if one.kind == "function" and name.isidentifier() and not name.startswith("__"):
            text = remove_name(strip_markup(leading_prose(found)), name)
            if 5 <= len(text.split()) <= 120:
                by_module[one.module].setdefault(f"{name}({', '.join(one.parameters)})", (" ".join(text.split()), one))
    pairs = []
    for headers in by_module.values():
        ordered = shuffle_by_content(headers.items(), key=lambda item: item[1][0])
        for (header, (text, one)), (_, (other_text, other)) in zip(ordered[::2], ordered[1::2], strict=False):
            # Both take the same header, and its name is taken out of both texts, so that neither of the two alone says which one is true.
            name = header.partition("(")[0]
            if text != other_text and name != other.name.rpartition(".")[2]:
                other_text = " ".join(remove_name(other_text, name).split())
                pairs += [TextPair(text, header, "yes", None, one.where, header), TextPair(other_text, header, "no", None, other.where, header)]
    return shuffle_by_content(pairs, key=lambda pair: pair.first + pair.second)


def remove_name(text: str, name: str) -> str:
    """Without the name of a function; a plain word such as `sort` may stay where it is not called."""
    return re.sub(rf"\b{name}\b" if "_" in name else rf"\b{name}\b(?=\()", "", text) if name in text else text


def strip_markup(text: str) -> str:
    """Without the marks of reStructuredText around names."""
    return MARKUP.sub(lambda mark: mark[1] or mark[2] or mark[3] or mark[4], text)


def source_documents(examples: Iterable[LabelledText | TextPair | TaggedSentence]) -> list[str]:
    """The documents of the prose that embedded examples were made of, and those of other docstrings that begin with the same description."""
    sources = {example.where for example in examples}
    described = {leading_prose(found) for one, found in docstring_paragraphs() if one.where in sources} - {""}
    return [join_paragraphs(found) for one, found in docstring_paragraphs() if one.where in sources or leading_prose(found) in described]


def shuffle_by_content(items: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
    """In an order that depends on nothing but the content."""
    return sorted(items, key=lambda item: hashlib.blake2b(key(item).encode(), digest_size=8).digest())
