"""What all models of a climb share: the text, the labelled examples in their splits, and the folder of the runs."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from stairs.peak_memory import PeakMemory
from stairs.text.examples import (
    Example,
    LabelledText,
    MultiLabelText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedSentence,
    TextPair,
    TranslationPair,
)
from stairs.text.labelled.translation_splits import PairSplits
from stairs.text.shards import Shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec
from stairs.training.run import MODEL_FOLDER, RUN_FILE
from stairs.training.run_plans import RunPlan

LABEL_ANSWERS = ("classify", "multilabel", "regress", "compare")  # tasks whose answers are no texts
SHOWN_EXAMPLES = 40  # test examples whose predictions the report holds


class Plans:
    """How each run is trained, decided once: a climb that is resumed keeps to its plans, and one that is repeated may be given those of another."""

    def __init__(self, known: dict[str, RunPlan] | None = None, save: Callable[[], None] = lambda: None) -> None:
        self.known, self.save = {} if known is None else known, save

    def of(self, run: str, decide: Callable[[], RunPlan]) -> RunPlan:
        if run not in self.known:
            self.known[run] = decide()
            self.save()
        return self.known[run]


NO_PAIRS = PairSplits([], [], [])


@dataclass(frozen=True)
class Experiment:
    shards_for: Callable[[str], Shards]  # the corpus, tokenized as a model wants it: the same held-out characters for all
    out: Path
    corpus_hash: str = ""
    seed: int = 0
    order: int = 3  # of the n-grams
    megabytes: float = 0.0  # of text
    corpus_has_texts: bool = False  # the corpus holds the texts of the training examples: reading them again would teach little
    plans_from: Path | None = None  # the folder of another climb, whose plans and clocks this one follows
    example_kind: str = ""  # what the labels are for; empty if there are none
    no_texts: bool = False  # the report holds no text of an example, but where it stands
    metric: str = ""  # selects the best weights and ranks the models
    pair_tokenizer: TokenizerSpec | None = None  # of both languages, if sentences are translated
    pairs: PairSplits = NO_PAIRS  # translations on which cove is pretrained
    train: Sequence[Example] = ()
    dev: Sequence[Example] = ()
    test: Sequence[Example] = ()
    plans: Plans = field(default_factory=Plans)
    removed_text: Mapping[str, int] = field(default_factory=dict)  # how much of the corpus is left out because validation or test examples hold it
    peak_memory_mb: dict[str, float] = field(default_factory=dict)  # of the training of each run

    @contextmanager
    def record_peak_memory(self, folder: Path) -> Iterator[None]:
        """Of the training within; a run that was finished before has none."""
        was_finished = (folder / MODEL_FOLDER).is_dir()
        with PeakMemory() as peak:
            yield
        if not was_finished and peak.megabytes is not None:
            self.peak_memory_mb[folder.name] = max(peak.megabytes, self.peak_memory_mb.get(folder.name, 0.0))

    def source_of_plan(self, name: str) -> Path | None:
        """The run of the other climb whose plan the run of this name follows."""
        return self.plans_from / name if self.plans_from is not None and (self.plans_from / name / RUN_FILE).exists() else None

    @property
    def run_settings(self) -> dict[str, object]:
        """Of a run that learns from the examples in one pass."""
        return {"seed": self.seed, "order": self.order, "data": {"labelled": self.fingerprint}}

    @property
    def fingerprint(self) -> str:
        """A hash of the labelled examples, wherever they came from."""
        found = hashlib.sha256()
        for example in (*self.train, *self.dev, *self.test, *self.pairs.train, *self.pairs.validation):
            found.update(repr(replace(example, where="")).encode())
        return found.hexdigest()


def labelled_texts(examples: Sequence[object]) -> list[LabelledText]:
    return [example for example in examples if isinstance(example, LabelledText)]


class ExampleText(NamedTuple):
    question: str  # as one asks a run about it
    gold: str


def example_text(example: Example) -> ExampleText:
    """A labelled example in words."""
    match example:
        case Question(question=question, passage=passage, answers=answers):
            return ExampleText(f"{question}\t{passage}", " / ".join(text for _, text in answers))
        case TextPair(first=first, second=second, label=label, score=score):
            return ExampleText(f"{first}\t{second}", f"{score:.2f}" if score is not None else label or "")
        case MultipleChoice(context=context, choices=choices):
            return ExampleText("\t".join((context, *choices)), example.right_choice)
        case MultiLabelText(text=text, labels=labels):
            return ExampleText(text, ";".join(labels))
        case ScoredText(text=text, value=value):
            return ExampleText(text, f"{value:g}")
        case TaggedSentence(words=words, tags=tags):
            return ExampleText(" ".join(words), " ".join(tags))
        case TranslationPair(source=source, target=target):
            return ExampleText(source, target)
    return ExampleText(example.text, example.label)  # type: ignore[union-attr]
