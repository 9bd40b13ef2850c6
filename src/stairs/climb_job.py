"""What `stairs climb` is asked for, and how it is made ready: the labelled examples, the corpus without the held-out ones, the adopted runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stairs.data import CorpusLike
from stairs.errors import BadInput, Unsupported
from stairs.files import LOCK_FILE, refuse_inside
from stairs.models.settings import DEFAULT_MIN_COUNT, DEFAULT_TOKENIZER
from stairs.progress import say
from stairs.tasks import SUPERVISED_TASKS
from stairs.text.examples import Example
from stairs.text.input_options import EMBEDDED, CorpusOptions, TokenizerOptions, text_bytes
from stairs.train_job import as_paths, build, names_of, refuse_unknown, take
from stairs.training.options import parse_duration
from stairs.training.run import RUN_FILE, check_unlocked, check_writable, is_leftover

if TYPE_CHECKING:
    from stairs.comparison.experiment import Experiment
    from stairs.comparison.schema import CostCriterion

REPORT_FILE = "report.json"
NUMBER_NAMES = "numbers"  # the embedded pairs
EXAMPLE_KINDS = (*SUPERVISED_TASKS, "translate")
MAX_ORDER = 32
TEST_SHARE = 0.2
DEV_SHARE = 0.1  # of the others, for early stopping; the test split is used once, at the end
MAX_HELD_OUT_PAIRS, MIN_HELD_OUT_PAIRS = 500, 50  # of a translation, in each held-out split: translating takes longer than learning
MIN_EXAMPLES = 5  # that can be compared on


@dataclass(frozen=True)
class ClimbJob:
    """One climb."""

    corpus: tuple[str, ...] = ()
    labels: str | None = None
    task: str | None = None
    columns: str | None = None
    budget: str = "10m"
    models: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    group: str | None = None
    limit: int | None = None
    metric: str | None = None
    cost: "CostCriterion" = "train"
    order: int = 3
    plans_from: str | None = None
    out: str | None = None
    seed: int = 0
    reading: CorpusOptions = field(default_factory=CorpusOptions)
    tokenizing: TokenizerOptions = field(default_factory=TokenizerOptions)

    @classmethod
    def from_keywords(cls, corpus: str | Path | Sequence[str | Path], keywords: Mapping[str, object]) -> "ClimbJob":
        """Keywords are fields of this class or of the options it holds; None is the same as not given."""
        given = {name: value for name, value in keywords.items() if value is not None}
        reading, tokenizing = (take(given, names_of(kind)) for kind in (CorpusOptions, TokenizerOptions))
        known = take(given, [name for name in names_of(cls) if name not in ("corpus", "reading", "tokenizing")])
        if given:
            refuse_unknown("climb", next(iter(given)), [*names_of(cls), *names_of(CorpusOptions), *names_of(TokenizerOptions)])
        known |= {name: as_paths(known[name]) for name in ("models", "adopted") if name in known}
        options = {"reading": build(CorpusOptions, reading), "tokenizing": build(TokenizerOptions, tokenizing)}
        return build(cls, {"corpus": as_paths(corpus), **known, **options})

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 63:
            raise BadInput(f"--seed {self.seed} is not between 0 and {(1 << 63) - 1}")
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"--limit {self.limit} is below 1")
        if not 1 <= self.order <= MAX_ORDER:
            raise BadInput(f"--order {self.order} is not between 1 and {MAX_ORDER}")
        self.budget_seconds  # noqa: B018  refuses what is no time

    @property
    def budget_seconds(self) -> float:
        return parse_duration(self.budget)

    def examples(self) -> tuple[str, list[Example]]:
        """What the labels are for, and the labelled examples; without a corpus either, the embedded ones."""
        if self.labels is None:
            if self.corpus and self.task:
                raise BadInput(f"--task {self.task} says what labels are for; give some with --labels")
            if self.group is not None:
                raise BadInput(f"--group {self.group} names a column of labelled examples; give some with --labels")
            kind = self.task or "classify"
            return kind, [] if self.corpus else embedded_examples(kind)
        from stairs.text.labelled import read_examples

        found = read_examples(self.labels, self.task, columns=self.columns, encoding=self.reading.encoding, group=self.group)
        if found.task not in EXAMPLE_KINDS:
            others = f"climb compares models on {', '.join(EXAMPLE_KINDS)}: name one of them with --task, or give another file"
            raise Unsupported(f"{self.labels} holds examples for {found.task}; {others}")
        return found.task, list(found.examples)

    def folder(self, example_kind: str) -> Path:
        """Of the report and the runs; one that holds something else is refused before anything is read."""
        if self.out:
            out = Path(self.out)
        elif example_kind == "translate":
            out = Path("runs") / f"climb-{Path(self.labels).name.split('.')[0] if self.labels else NUMBER_NAMES}"
        else:
            out = Path("runs") / f"climb-{Path((self.corpus or EMBEDDED)[0]).name.split('.')[0]}"
        refuse_inside(out, self.corpus)
        check_writable(out)
        check_unlocked(out)
        inside = [path for path in out.iterdir() if not is_leftover(path.name)] if out.is_dir() else []
        if inside and not any(path.name == REPORT_FILE or (path / RUN_FILE).exists() or (path / LOCK_FILE).exists() for path in inside):
            raise BadInput(f"{out} exists and is not the folder of a climb; choose another one with --out")
        return out

    def experiment(self, example_kind: str, examples: list[Example], out: Path) -> "Experiment":
        """The data that all models share."""
        from stairs.text.corpus.corpus import open_corpus

        max_pairs = int(min(max(self.budget_seconds, MIN_HELD_OUT_PAIRS), MAX_HELD_OUT_PAIRS))
        splits = split_examples(examples, example_kind, self.seed, max_pairs, limit=self.limit, column=self.group) if examples else {}
        corpus: CorpusLike = open_corpus(self.corpus or EMBEDDED, self.reading)
        reads_corpus = example_kind != "translate"
        if examples and reads_corpus:
            corpus = decontaminate(corpus, splits, is_embedded=self.labels is None)
        from stairs.comparison.experiment import Experiment, Plans
        from stairs.comparison.runner import load_plans
        from stairs.tasks.metrics import choose_metric
        from stairs.text.shards import build_shards

        return Experiment(
            shards_for=lambda model: build_shards(corpus, self.tokenizing.spec(DEFAULT_TOKENIZER[model], DEFAULT_MIN_COUNT.get(model, 1))),
            out=out,
            corpus_hash=corpus.content_hash if reads_corpus else "",
            seed=self.seed,
            order=self.order,
            megabytes=text_bytes(corpus) / 1e6 if reads_corpus else 0.0,
            plans_from=Path(self.plans_from) if self.plans_from else None,
            plans=load_plans(Path(self.plans_from)) if self.plans_from else Plans(),
            pair_tokenizer=self.tokenizing.spec_for_pairs(DEFAULT_TOKENIZER["transformer"], self.labels is None),
            metric=choose_metric(example_kind, examples, self.metric) if examples else "",
            removed_text=getattr(corpus, "removed_text", {}),
            **splits,
        )

    def adopted_runs(self, example_kind: str, out: Path) -> list[str]:
        """Runs of weights that were pretrained elsewhere; an installed package becomes a run first."""
        from stairs.formats import packages

        if self.labels is None or example_kind == "translate" or (self.models and not self.adopted):
            return []
        runs = []
        for name in self.adopted or [name for name in packages.KNOWN_PACKAGES if packages.find_package(name)]:
            folder = Path(name)
            if not (folder / RUN_FILE).exists():
                from stairs.adopt_job import adopt_run

                folder = out / Path(name).name
                if not (folder / RUN_FILE).exists():
                    say(f"{folder}: {adopt_run(name, folder).sentence}")
            runs.append(str(folder))
        return runs


def embedded_examples(example_kind: str) -> list[Example]:
    """Labels that the Python installation holds, or that are made by rule."""
    from stairs.text.embedded import python_prose
    from stairs.text.embedded.number_names import number_pairs

    makers: dict[str, Callable[[], Sequence[Example]]] = {
        "classify": python_prose.package_examples,
        "compare": python_prose.description_examples,
        "tag": python_prose.parameter_examples,
        "translate": lambda: number_pairs(NUMBER_NAMES),
    }
    if example_kind not in makers:
        raise BadInput(f"--task {example_kind} needs --labels: without a file there are examples for {', '.join(makers)}")
    return list(makers[example_kind]())


def split_examples(
    examples: Sequence[Example], example_kind: str, seed: int, max_pairs: int = MAX_HELD_OUT_PAIRS, *, limit: int | None = None,
    column: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The fields of an Experiment that the examples decide: the same splits for the same file and seed."""
    from stairs.text.labelled.split import split

    source = examples[0].where.rpartition(":")[0] or "the embedded data"
    count = len(examples) if limit is None else min(limit, len(examples))
    if count < MIN_EXAMPLES:
        given = f"{len(examples)} labelled examples are" if count == len(examples) else f"--limit {limit} is"
        raise BadInput(f"{source}: {given} too few to hold out a test split; give at least {MIN_EXAMPLES} of each label")
    test, dev = count * TEST_SHARE, count * (1 - TEST_SHARE) * DEV_SHARE
    if example_kind == "translate":
        test, dev = min(test, max_pairs), min(dev, max_pairs)
    sizes = {"train": count - test - dev, "dev": dev, "test": test}
    return {"example_kind": example_kind, **split(examples, sizes, seed, source=source, column=column)}


def decontaminate(corpus: CorpusLike, splits: Mapping[str, Any], *, is_embedded: bool) -> CorpusLike:
    """The corpus without the text of the validation and test examples; embedded examples know the documents they were made of."""
    from stairs.text.corpus.decontamination import DecontaminatedCorpus
    from stairs.text.embedded.python_prose import source_documents

    held_out = [*splits["dev"], *splits["test"]]
    clean = DecontaminatedCorpus(corpus, documents=source_documents(held_out)) if is_embedded else DecontaminatedCorpus(corpus, held_out)
    if clean.removed_text["documents"]:
        counts = "{paragraphs:,} paragraphs of {documents:,} documents (of {of_documents:,})".format(**clean.removed_text)
        say(f"Left out of the corpus because validation or test examples contain it: {counts}.")
    return clean
