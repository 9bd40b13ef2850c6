"""What all steps of a climb share: the text, the labelled examples, parted once for all, and where the runs stand."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from stairs.climb.messages import message
from stairs.errors import BadInput
from stairs.progress import say
from stairs.text.corpus.decontamination import DecontaminatedCorpus
from stairs.text.embedded.python_prose import source_documents
from stairs.text.examples import Question, TaggedSentence, TextPair, TranslationPair
from stairs.text.labelled.split import split
from stairs.text.shards import Shards
from stairs.training.peak_memory import PeakMemory
from stairs.training.run import MODEL_FOLDER, RUN_FILE

TEST_SHARE = 0.2
DEV_SHARE = 0.1  # of those that are learnt from, to tell when to stop; the test part is seen once, at the end
MAX_HELD_OUT_PAIRS = 500  # pairs that are held back for each part: to translate takes longer than to learn
FEWEST = 5  # examples that can be compared on
SHOWN = 40  # test examples of which the report tells what each step says


class Plans:
    """How each run is trained: decided once. A climb that goes on keeps to it, and one that is done again may be given it."""

    def __init__(self, known: dict[str, dict[str, Any]] | None = None, keep: Callable[[], None] = lambda: None) -> None:
        self.known, self.keep = {} if known is None else known, keep

    def of(self, run: str, decide: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if run not in self.known:
            self.known[run] = decide()
            self.keep()
        return self.known[run]


@dataclass(frozen=True)
class Experiment:
    shards_for: Callable[[str], Shards]  # the corpus, cut as a step wants it: the same held-out characters for all
    out: Path
    corpus_hash: str = ""
    seed: int = 0
    order: int = 3  # of the n-grams
    megabytes: float = 0.0  # of text
    plans_from: Path | None = None  # the folder of another climb, whose plans and clocks this one follows
    example_kind: str = ""  # which task the examples are for; none if there are none
    metric: str = ""  # that chooses the best weights and ranks the models
    pair_tokenizer: Any = None  # how both sides of pairs are cut, if they are to be translated
    train: Sequence[Any] = ()
    dev: Sequence[Any] = ()
    test: Sequence[Any] = ()
    plans: Plans = field(default_factory=Plans)
    removed_text: Mapping[str, int] = field(default_factory=dict)  # how much of the corpus stands in validation or test examples, and is not read
    peaks: dict[str, float] = field(default_factory=dict)  # MB of memory that the training of each run took

    @contextmanager
    def record_peak_memory(self, folder: Path) -> Iterator[None]:
        """The peak memory of what is trained meanwhile is kept; a run that was finished before says nothing of it."""
        finished = (folder / MODEL_FOLDER).is_dir()
        with PeakMemory() as peak:
            yield
        if not finished and peak.megabytes is not None:
            self.peaks[folder.name] = max(peak.megabytes, self.peaks.get(folder.name, 0.0))

    def source_of_plan(self, name: str) -> Path | None:
        """The run of the other climb that this one's run of the same name is to be like."""
        return self.plans_from / name if self.plans_from is not None and (self.plans_from / name / RUN_FILE).exists() else None

    @property
    def run_settings(self) -> dict[str, Any]:
        """What a run that learns from the examples was begun with."""
        return {"seed": self.seed, "order": self.order, "data": {"labelled": digest((*self.train, *self.dev, *self.test))}}


def split_examples(
    examples: Sequence[Any], example_kind: str, seed: int, most_translated: int = MAX_HELD_OUT_PAIRS, *, most: int | None = None,
        column: str | None = None
) -> dict[str, Any]:
    """The fields of a Ground that examples decide: the same parts for the same file and seed (text/labelled/split.py)."""
    source = examples[0].where.rpartition(":")[0] or "the embedded data"
    limit = len(examples) if most is None else min(most, len(examples))
    if limit < FEWEST:
        came = f"{len(examples)} labelled examples are" if limit == len(examples) else f"--limit {most} is"
        raise BadInput(f"{source}: {came} too few to hold some back for a test; give at least 5 of a label")
    test, dev = limit * TEST_SHARE, limit * (1 - TEST_SHARE) * DEV_SHARE
    if example_kind == "translate":
        test, dev = min(test, most_translated), min(dev, most_translated)
    return {"example_kind": example_kind, **split(examples, {"train": limit - test - dev, "dev": dev, "test": test}, seed, source=source,
        column=column)}


def decontaminate(corpus: Any, parts: Mapping[str, Any], *, embedded: bool) -> DecontaminatedCorpus:
    """The corpus without what the validation and test examples were made of; embedded ones know their documents."""
    held = [*parts["dev"], *parts["test"]]
    clean = DecontaminatedCorpus(corpus, documents=source_documents(held)) if embedded else DecontaminatedCorpus(corpus, held)
    if clean.removed_text["documents"]:
        say(message("removed_text", **clean.removed_text)["en"])
    return clean


def digest(examples: Sequence[Any]) -> str:
    """Of the examples, wherever they came from."""
    found = hashlib.sha256()
    for example in examples:
        found.update(repr(replace(example, where="")).encode())
    return found.hexdigest()


class Told(NamedTuple):
    asked: str  # as one asks a run about it
    right: str


def told(example: Any) -> Told:
    """A labelled example in words."""
    match example:
        case Question(question=question, passage=passage, answers=answers):
            return Told(f"{question}\t{passage}", " / ".join(text for _, text in answers))
        case TextPair(first=first, second=second, label=label, score=score):
            return Told(f"{first}\t{second}", f"{score:.2f}" if score is not None else label or "")
        case TaggedSentence(words=words, tags=tags):
            return Told(" ".join(words), " ".join(tags))
        case TranslationPair(source=source, target=target):
            return Told(source, target)
    return Told(example.text, example.label)
