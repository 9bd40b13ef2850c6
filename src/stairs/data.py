"""What text and labelled examples have in common, as protocols: the seam between what reads data and what trains on it.

    CorpusLike     documents that can be read again and again              text.corpus.Corpus, text.embedded.PythonProse
    TrainingData   splits to train, validate and test on                   text.shards.Shards, tasks.supervised.LabelledSplits
"""

from collections.abc import Iterable
from typing import Protocol


class CorpusLike(Protocol):
    """Text to learn from."""

    @property
    def name(self) -> str:
        """What messages and run folders call it."""

    @property
    def size(self) -> int:
        """Bytes on the disk."""

    @property
    def position(self) -> int:
        """Bytes that the latest `documents()` has read so far."""

    @property
    def content_hash(self) -> str:
        """A hash of every document."""

    def documents(self) -> Iterable[str]:
        """One document after another, from the first, each time it is called."""


class TrainingData(Protocol):
    """What `fit` trains on: the token shards of a corpus, or labelled examples."""

    @property
    def fingerprint(self) -> str:
        """A hash of all splits: a run resumes only on the same data."""

    @property
    def split_format(self) -> int | None:
        """The version of the rule that made the splits; None where the caller made them."""

    @property
    def final_split(self) -> str:
        """The split that the finished model is evaluated on, once: "test", or "validation" where there is no test split."""
