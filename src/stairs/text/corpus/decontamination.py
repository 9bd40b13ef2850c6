"""A corpus without the validation and test texts of labelled data, so that no language model is pretrained on what it is evaluated on.

A document is removed if it is named, as the embedded ones are, whose sources are known. Of a user's files a paragraph is removed if it equals a
held-out text or a paragraph of one, or holds a sentence of one, all compared without case and white space. Sentences of less than
`MIN_SENTENCE_BYTES` bytes are too common to prove anything.

One pass finds the documents concerned and keeps their numbers; later passes compare those alone. Memory holds 12 bytes for each held-out sentence.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property

from stairs.data import CorpusLike
from stairs.errors import BadInput
from stairs.text.examples import Example, example_texts, normalize_text, text_hash
from stairs.text.sentences import split_sentences

MIN_SENTENCE_BYTES = 24  # that is letters, or eight Chinese characters
PREFIX_LENGTH = 8  # characters without white space that tell nearly all paragraphs from the held-out ones


class DecontaminatedCorpus:
    """A corpus like any other, without the held-out texts."""

    def __init__(self, corpus: CorpusLike, examples: Iterable[Example] = (), documents: Iterable[str] = ()):
        self.corpus, self.name, self.size = corpus, corpus.name, corpus.size
        self.document_hashes = {text_hash(document) for document in documents}
        self.paragraph_hashes: set[bytes] = set()
        self.sentence_hashes: set[bytes] = set()
        self.prefixes: set[str] = set()
        for example in examples:
            for text in example_texts(example):
                self.withhold(text)

    def withhold(self, text: str) -> None:
        paragraphs = [text, *text.split("\n")]
        sentences = [sentence for sentence in split_sentences(text) if is_distinctive(sentence)]
        self.paragraph_hashes |= {text_hash(paragraph) for paragraph in paragraphs if paragraph.strip()}
        self.sentence_hashes |= {text_hash(sentence) for sentence in sentences}
        self.prefixes |= {prefix(part) for part in (*paragraphs, *sentences) if part.strip()}

    @property
    def position(self) -> int:
        return self.corpus.position

    @property
    def skipped_files(self) -> list[str]:
        return getattr(self.corpus, "skipped_files", [])

    @property
    def odd_characters(self) -> dict[str, int]:
        return getattr(self.corpus, "odd_characters", {})

    def documents(self) -> Iterator[str]:
        for number, document in enumerate(self.corpus.documents()):
            if number not in self.affected_documents:
                yield document
            elif rest := self.remaining_text(document):
                yield rest

    def remaining_text(self, document: str) -> str:
        """The document without what is held out."""
        if self.document_hashes and text_hash(document) in self.document_hashes:
            return ""
        if not self.prefixes:
            return document
        lines = document.split("\n")
        rest = [line for line in lines if not self.is_withheld(line)]
        if len(lines) > 1 and prefix(document) in self.prefixes and text_hash(document) in self.paragraph_hashes:
            return ""
        return document if len(rest) == len(lines) else "\n".join(rest).strip("\n")

    def is_withheld(self, line: str) -> bool:
        if prefix(line) in self.prefixes and text_hash(line) in self.paragraph_hashes:
            return True
        return any(prefix(part) in self.prefixes and text_hash(part) in self.sentence_hashes for part in split_sentences(line))

    @cached_property
    def scan(self) -> tuple[frozenset[int], dict[str, int], str]:
        """The numbers of the documents that lose something, how much that is, and a hash of it."""
        affected = []
        documents = paragraphs = left = 0
        digest = hashlib.sha256()
        for number, document in enumerate(self.corpus.documents()):
            documents = number + 1
            rest = self.remaining_text(document)
            if len(rest) != len(document):
                affected.append(number)
                digest.update(f"{number} {len(rest)} ".encode())
                paragraphs += count_paragraphs(document) - count_paragraphs(rest)
            left += bool(rest.strip())
        if not left:
            raise BadInput("the validation and test examples hold all of the corpus; give other text to pretrain on")
        return frozenset(affected), {"documents": len(affected), "of_documents": documents, "paragraphs": paragraphs}, digest.hexdigest()

    @property
    def affected_documents(self) -> frozenset[int]:
        return self.scan[0]

    @property
    def removed_text(self) -> dict[str, int]:
        """How many documents lost something, of how many, and how many paragraphs were removed."""
        return self.scan[1]

    @property
    def content_hash(self) -> str:
        """That of the corpus, if nothing is removed from it."""
        if not self.affected_documents:
            return self.corpus.content_hash
        return hashlib.sha256(f"{self.corpus.content_hash} without {self.scan[2]}".encode()).hexdigest()


def prefix(text: str) -> str:
    """The first characters of a text, without normalizing all of it if possible."""
    start = normalize_text(text[: 4 * PREFIX_LENGTH])[:PREFIX_LENGTH]
    return start if len(start) == PREFIX_LENGTH or len(text) <= 4 * PREFIX_LENGTH else normalize_text(text)[:PREFIX_LENGTH]


def is_distinctive(sentence: str) -> bool:
    return len(normalize_text(sentence).encode(errors="surrogatepass")) >= MIN_SENTENCE_BYTES


def count_paragraphs(document: str) -> int:
    return sum(bool(line.strip()) for line in document.split("\n"))
