"""The data on which models are compared: labelled examples in the same three splits for all, and a corpus without the text of the held-out ones."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from stairs.data import CorpusLike
from stairs.errors import BadInput, Unsupported
from stairs.progress import say
from stairs.text.examples import Example
from stairs.text.input_options import EMBEDDED, CorpusOptions, TokenizerOptions, text_bytes

if TYPE_CHECKING:
    from stairs.text.corpus.decontamination import DecontaminatedCorpus
    from stairs.text.labelled.column_names import Columns
    from stairs.text.shards import Shards

NUMBER_NAMES = "numbers"  # the embedded pairs
TEST_SHARE = 0.2
DEV_SHARE = 0.1  # of the others, for early stopping; the test split is used once, at the end
MAX_HELD_OUT_PAIRS, MIN_HELD_OUT_PAIRS = 500, 50  # of a translation, in each held-out split: translating takes longer than learning
MIN_EXAMPLES = 5  # that can be compared on


class ExampleSplits(TypedDict):
    example_kind: str  # what the labels are for
    train: list[Example]
    dev: list[Example]
    test: list[Example]


@dataclass(frozen=True)
class SharedText:
    """The corpus that all models of a comparison read, tokenized as each of them needs."""

    corpus: CorpusLike
    tokenizing: TokenizerOptions
    removed_text: Mapping[str, int] = field(default_factory=dict)  # how much is left out because held-out examples hold it

    @property
    def megabytes(self) -> float:
        return text_bytes(self.corpus) / 1e6

    def shards(self, tokenizer: str, min_count: int) -> "Shards":
        """Of the tokenizer and the rarest words that a model uses unless the user chose others."""
        from stairs.text.shards import build_shards

        return build_shards(self.corpus, self.tokenizing.spec(tokenizer, min_count))


def read_labels(
    labels: str, task: str | None, known: Collection[str], *, columns: "Columns", encoding: str | None, group: str | None
) -> tuple[str, list[Example]]:
    """What the labels of a file are for, which must be one of `known`, and its examples."""
    from stairs.text.labelled import read_examples

    found = read_examples(labels, task, columns=columns, encoding=encoding, group=group)
    if found.task not in known:
        others = f"climb compares models on {', '.join(known)}: name one of them with --task, or give another file"
        raise Unsupported(f"{labels} holds examples for {found.task}; {others}")
    return found.task, list(found.examples)


def embedded_examples(example_kind: str) -> list[Example]:
    """Labels that the Python installation holds, or that are made by rule."""
    from stairs.text.embedded import python_prose
    from stairs.text.embedded.continuations import continuation_examples
    from stairs.text.embedded.number_names import number_pairs

    makers: dict[str, Callable[[], Sequence[Example]]] = {
        "classify": python_prose.package_examples,
        "compare": python_prose.description_examples,
        "tag": python_prose.parameter_examples,
        "choose": continuation_examples,
        "translate": lambda: number_pairs(NUMBER_NAMES),
    }
    if example_kind not in makers:
        raise BadInput(f"--task {example_kind} needs --labels: without a file there are examples for {', '.join(makers)}")
    return list(makers[example_kind]())


def split_examples(
    examples: Sequence[Example], example_kind: str, seed: int, seconds: float = MAX_HELD_OUT_PAIRS, *, limit: int | None = None,
    column: str | None = None,
) -> ExampleSplits:  # fmt: skip
    """The same splits for the same file and seed; of a translation, the held-out splits have a pair for each second of the budget."""
    from stairs.text.labelled.split import split

    source = examples[0].where.rpartition(":")[0] or "the embedded data"
    count = len(examples) if limit is None else min(limit, len(examples))
    if count < MIN_EXAMPLES:
        given = f"{len(examples)} labelled examples are" if count == len(examples) else f"--limit {limit} is"
        raise BadInput(f"{source}: {given} too few to hold out a test split; give at least {MIN_EXAMPLES} of each label")
    test, dev = count * TEST_SHARE, count * (1 - TEST_SHARE) * DEV_SHARE
    if example_kind == "translate":
        max_pairs = int(min(max(seconds, MIN_HELD_OUT_PAIRS), MAX_HELD_OUT_PAIRS))
        test, dev = min(test, max_pairs), min(dev, max_pairs)
    found = split(examples, {"train": count - test - dev, "dev": dev, "test": test}, seed, source=source, column=column)
    return {"example_kind": example_kind, "train": found["train"], "dev": found["dev"], "test": found["test"]}


def open_text(
    paths: Sequence[str], reading: CorpusOptions, tokenizing: TokenizerOptions, splits: ExampleSplits | None = None, *, is_embedded: bool = False
) -> SharedText:
    """The corpus of these files, or the embedded one, without the text of the validation and test examples."""
    from stairs.text.corpus.corpus import open_corpus

    corpus = open_corpus(paths or EMBEDDED, reading)
    if splits is None:
        return SharedText(corpus, tokenizing)
    clean = decontaminate(corpus, splits, is_embedded=is_embedded)
    return SharedText(clean, tokenizing, clean.removed_text)


def decontaminate(corpus: CorpusLike, splits: ExampleSplits, *, is_embedded: bool) -> "DecontaminatedCorpus":
    """Embedded examples know the documents they were made of."""
    from stairs.text.corpus.decontamination import DecontaminatedCorpus
    from stairs.text.embedded.python_prose import source_documents

    held_out = [*splits["dev"], *splits["test"]]
    clean = DecontaminatedCorpus(corpus, documents=source_documents(held_out)) if is_embedded else DecontaminatedCorpus(corpus, held_out)
    if clean.removed_text["documents"]:
        counts = "{paragraphs:,} paragraphs of {documents:,} documents (of {of_documents:,})".format(**clean.removed_text)
        say(f"Left out of the corpus because validation or test examples contain it: {counts}.")
    return clean
