"""The embedded corpus and labelled sets: the documentation of the running Python, which is on every machine.

Nothing is stored with the project: it is read when needed, and is the same every time for the same Python and packages. The order of the labelled
sets is fixed by their content, so that the beginning of one is a fair sample.
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
from stairs.text.examples import Example, LabelledText, TaggedSentence, TextPair
from stairs.text.sentences import split_sentences

__all__ = ["LABELS", "PythonProse", "chinese_name", "description_examples", "english_name", "number_names", "package_examples", "parameter_examples",
           "prose_documents"]  # fmt: skip

# Packages with enough texts, on different topics; MAX_TEXTS keeps a large one from dominating, and one with fewer than MIN_TEXTS is dropped.
LABELS = (
    "asyncio", "email", "tkinter", "numpy", "torch.distributed", "torch.nn", "torch._inductor", "sympy.combinatorics", "sympy.physics",
    "sympy.polys",
)  # fmt: skip
MIN_TEXTS, MAX_TEXTS = 50, 400
OTHER_NAMES = ("np", "pytorch", "tk", "tcl", "inductor", "torchinductor", "torchscript", "emails")
# Parameter names that are also everyday words: they are tagged only where the text marks them as names.
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
    """The documentation as a corpus, without a file."""

    name = "python-prose"

    def __init__(self, limit: int | None = None):
        self.limit = limit  # in characters; None: all
        self.position = 0  # bytes yielded so far

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
    """Documents with a paragraph on each line; with a limit, about so many characters of them, evenly spread."""
    documents = all_documents()
    if limit is None:
        yield from documents
        return
    total = sum(map(len, documents))
    seen = taken = 0
    for document in documents:
        seen += len(document)
        if taken + len(document) / 2 <= limit * seen / total:
            taken += len(document)
            yield document


@lru_cache(maxsize=1)
def all_documents() -> tuple[str, ...]:
    texts = dict.fromkeys(join_paragraphs(own) for _, own in docstring_paragraphs())
    for _, topic in topics():
        texts[join_paragraphs(paragraphs(topic))] = None
    return tuple(text for text in texts if len(text.split()) > 2)


def join_paragraphs(parts: list[Paragraph]) -> str:
    return "\n".join(paragraph.text for paragraph in parts)


@lru_cache(maxsize=1)
def docstring_paragraphs() -> tuple[tuple[Docstring, list[Paragraph]], ...]:
    return tuple((docstring, paragraphs(docstring.text)) for docstring in docstrings())


def topics() -> list[tuple[str, str]]:
    """The chapters behind `help("if")`: (title, text)."""
    try:
        from pydoc_data.topics import topics as chapters
    except ImportError:  # some distributions lack them
        return []
    return sorted(chapters.items())


def package_examples() -> list[LabelledText]:
    """Which package does this text document? About as many texts of each package, with the names of all packages removed."""
    by_label: dict[str, dict[str, Docstring]] = {label: {} for label in LABELS}
    names = sorted({part.strip("_") for label in LABELS for part in label.split(".")} | set(OTHER_NAMES), key=len, reverse=True)
    package_names = re.compile(rf"(?<![a-z0-9])_?(?:{'|'.join(names)})(?![a-z0-9])\.?", re.IGNORECASE)
    for docstring, parts in docstring_paragraphs():
        label = next((label for label in LABELS if f"{docstring.module}.".startswith(f"{label}.")), None)
        if label is not None:
            text = " ".join(package_names.sub("", strip_markup(leading_prose(parts))).split())
            if 6 <= len(text.split()) <= 120:
                by_label[label].setdefault(text, docstring)
    # The source file is the group: texts of one file share their author and their names (TF-IDF scores 0.82 on files of the training split, 0.71 on
    # others), and each label has enough files to keep its share of every split, even tkinter with two thirds of its texts in one of eight.
    chosen = [
        LabelledText(text, label, docstring.where, docstring.module)
        for label, texts in by_label.items()
        if len(texts) >= MIN_TEXTS
        for text, docstring in shuffle_by_content(texts.items(), key=lambda item: item[0])[:MAX_TEXTS]
    ]
    return shuffle_by_content(chosen, key=lambda example: example.text)


def parameter_examples() -> list[TaggedSentence]:
    """Which words are parameter names? Sentences without the quotes and stars around names; half of them have no parameter name."""
    with_names: dict[tuple[str, ...], TaggedSentence] = {}
    without: dict[tuple[str, ...], TaggedSentence] = {}
    for docstring, parts in docstring_paragraphs():
        known = {name for name in docstring.parameters if not name.startswith("_")}
        if not known:
            continue
        for paragraph in parts:
            if paragraph.kind != "prose" or DEFINITION.match(paragraph.text) or re.match(r"[\w.]+\(", paragraph.text):
                continue
            item = ITEM.match(paragraph.text)
            for sentence in split_sentences(paragraph.text[item.end() :] if item else paragraph.text):
                words, tags = tag_parameters(sentence, known)
                if 5 <= len(words) <= 60:
                    sentences_of_kind = with_names if "B-parameter" in tags else without
                    sentences_of_kind.setdefault(words, TaggedSentence(words, tags, docstring.where, docstring.module))
    named = list(with_names.values())
    nameless = [example for words, example in without.items() if words not in with_names]
    chosen = named + shuffle_by_content(nameless, key=sentence_text)[: len(named)]
    return shuffle_by_content(chosen, key=sentence_text)


def sentence_text(example: TaggedSentence) -> str:
    return " ".join(example.words)


def tag_parameters(sentence: str, known: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a sentence without markup, and for each a tag that says whether it is one of the known names."""
    words: list[str] = []
    tags: list[str] = []

    def add(piece: str, marked: bool) -> None:
        for match in WORD.finditer(piece):
            word, attribute = match[0], piece[match.start() - 1 : match.start()] == "."
            is_name = word in known and not attribute and (marked or (len(word) > 1 and word.lower() not in EVERYDAY_WORDS))
            words.append(word)
            tags.append("B-parameter" if is_name else "O")

    done = 0
    for match in MARKUP.finditer(sentence):
        add(sentence[done : match.start()], False)
        add(match[1] or match[2] or match[3] or match[4], True)
        done = match.end()
    add(sentence[done:], False)
    return tuple(words), tuple(tags)


def description_examples() -> list[TextPair]:
    """Does this text describe this function? Half of them do; the others have the header of another function of the same module."""
    by_module: dict[str, dict[str, tuple[str, Docstring]]] = defaultdict(dict)
    for docstring, parts in docstring_paragraphs():
        name = docstring.name.rpartition(".")[2]
        if docstring.kind == "function" and name.isidentifier() and not name.startswith("__"):
            text = remove_name(strip_markup(leading_prose(parts)), name)
            if 5 <= len(text.split()) <= 120:
                by_module[docstring.module].setdefault(f"{name}({', '.join(docstring.parameters)})", (" ".join(text.split()), docstring))
    pairs = []
    for headers in by_module.values():
        ordered = shuffle_by_content(headers.items(), key=lambda item: item[1][0])
        for (header, (text, docstring)), (_, (other_text, other)) in zip(ordered[::2], ordered[1::2], strict=False):
            # Both get the same header, and its name is removed from both texts, so that no text gives the answer away by itself.
            name = header.partition("(")[0]
            if text != other_text and name != other.name.rpartition(".")[2]:
                other_text = " ".join(remove_name(other_text, name).split())
                pairs += [TextPair(text, header, "yes", None, docstring.where, header), TextPair(other_text, header, "no", None, other.where, header)]
    return shuffle_by_content(pairs, key=lambda pair: pair.first + pair.second)


def remove_name(text: str, name: str) -> str:
    """The text without the name of a function; a plain word such as `sort` stays where it is not called."""
    return re.sub(rf"\b{name}\b" if "_" in name else rf"\b{name}\b(?=\()", "", text) if name in text else text


def strip_markup(text: str) -> str:
    """The text without reStructuredText markup around names."""
    return MARKUP.sub(lambda match: match[1] or match[2] or match[3] or match[4], text)


def source_documents(examples: Iterable[Example]) -> list[str]:
    """The documents that embedded examples were made of, and those of other docstrings that begin with the same description."""
    sources = {example.where for example in examples}
    descriptions = {leading_prose(parts) for docstring, parts in docstring_paragraphs() if docstring.where in sources} - {""}
    every = docstring_paragraphs()
    return [join_paragraphs(parts) for docstring, parts in every if docstring.where in sources or leading_prose(parts) in descriptions]


def shuffle_by_content(items: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
    """The items in an order that depends only on their content."""
    return sorted(items, key=lambda item: hashlib.blake2b(key(item).encode(), digest_size=8).digest())
