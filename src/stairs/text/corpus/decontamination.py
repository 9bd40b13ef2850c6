"""A corpus without the texts that a model is judged by: what stands in validation or test examples is not read by a language model before.

A whole document is left out if it is named, as the embedded ones are, whose sources are known. Of a user's files a paragraph is left out if it equals
a held-out text or a paragraph of one, or has a sentence of one in it, all compared without case and white space. Sentences of less than
`MIN_SENTENCE_BYTES` bytes are too common to tell anything by themselves.

One pass finds the documents concerned and keeps their numbers; later passes look at those alone. Memory holds 12 bytes for each held-out sentence.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from stairs.errors import BadInput
from stairs.text.labelled.split import example_texts, normalize_text, text_hash
from stairs.text.sentences import split_sentences

MIN_SENTENCE_BYTES = 24  # bytes, that is letters, or eight Chinese characters
PREFIX_LENGTH = 8  # characters without white space by which nearly all paragraphs are told from the held-out ones at once


class DecontaminatedCorpus:
    """What `Corpus` offers, without the held-out texts."""

    def __init__(self, corpus: Any, examples: Iterable[Any] = (), documents: Iterable[str] = ()):
        self.corpus = corpus
        self.document_hashes = {text_hash(document) for document in documents}
        self.paragraph_hashes: set[bytes] = set()
        self.sentence_hashes: set[bytes] = set()
        self.prefixes: set[str] = set()
        for example in examples:
            for text in example_texts(example):
                self.withhold(text)

    def withhold(self, text: str) -> None:
        whole = [text, *text.split("\n")]
        parts = [sentence for sentence in split_sentences(text) if is_distinctive(sentence)]
        self.paragraph_hashes |= {text_hash(part) for part in whole if part.strip()}
        self.sentence_hashes |= {text_hash(part) for part in parts}
        self.prefixes |= {prefix(part) for part in (*whole, *parts) if part.strip()}

    def __getattr__(self, name: str) -> Any:
        """Its name, size, position, sources and oddities are those of the corpus."""
        return getattr(self.corpus, name)

    def documents(self) -> Iterator[str]:
        for number, document in enumerate(self.corpus.documents()):
            if number not in self.affected_documents:
                yield document
            elif rest := self.remaining_text(document):
                yield rest

    def remaining_text(self, document: str) -> str:
        """What may be read of a document."""
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
    def scan(self) -> tuple[frozenset[int], dict[str, int]]:
        """The numbers of the documents that lose something, and how much that is."""
        concerned = []
        documents = paragraphs = left = 0
        digest = hashlib.sha256()
        for number, document in enumerate(self.corpus.documents()):
            documents = number + 1
            rest = self.remaining_text(document)
            if len(rest) != len(document):
                concerned.append(number)
                digest.update(f"{number} {len(rest)} ".encode())
                paragraphs += count_paragraphs(document) - count_paragraphs(rest)
            left += bool(rest.strip())
        if not left:
            raise BadInput("all of the corpus stands in validation or test examples; give other text to learn from")
        self.digest = digest.hexdigest()
        return frozenset(concerned), {"documents": len(concerned), "of_documents": documents, "paragraphs": paragraphs}

    @property
    def affected_documents(self) -> frozenset[int]:
        return self.scan[0]

    @property
    def removed_text(self) -> dict[str, int]:
        """How many documents lost something, of how many, and how many paragraphs that were."""
        return self.scan[1]

    @property
    def content_hash(self) -> str:
        """That of the corpus, if nothing is left out of it."""
        if not self.affected_documents:
            return self.corpus.content_hash
        return hashlib.sha256(f"{self.corpus.content_hash} without {self.digest}".encode()).hexdigest()


def prefix(text: str) -> str:
    """How it begins; of most texts without looking at all of them."""
    found = normalize_text(text[: 4 * PREFIX_LENGTH])[:PREFIX_LENGTH]
    return found if len(found) == PREFIX_LENGTH or len(text) <= 4 * PREFIX_LENGTH else normalize_text(text)[:PREFIX_LENGTH]


def is_distinctive(sentence: str) -> bool:
    return len(normalize_text(sentence).encode(errors="surrogatepass")) >= MIN_SENTENCE_BYTES


def count_paragraphs(document: str) -> int:
    return sum(bool(line.strip()) for line in document.split("\n"))
