"""What `stairs climb` is asked for, and how it is made ready: the labelled examples, the corpus without the held-out ones, the adopted runs."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stairs.comparison.schema import CostCriterion
from stairs.errors import BadInput, StairsError
from stairs.files import LOCK_FILE, check_unlocked, check_writable, is_leftover, refuse_inside, write_lock
from stairs.keywords import as_paths, build, names_of, refuse_unknown, take
from stairs.models.settings import DEFAULT_MIN_COUNT, DEFAULT_TOKENIZER
from stairs.progress import say
from stairs.tasks import SUPERVISED_TASKS
from stairs.text.climb_inputs import ClimbInputs, read_inputs
from stairs.text.comparison_data import ExampleSplits, open_text, split_examples
from stairs.text.examples import TranslationPair
from stairs.text.input_options import CorpusOptions, TokenizerOptions
from stairs.text.labelled.translation_splits import split_translations
from stairs.training.options import parse_duration
from stairs.training.run import RUN_FILE
from stairs.training.run_folder import REPORT_FILE

if TYPE_CHECKING:
    from stairs.comparison.experiment import Experiment
    from stairs.comparison.models import ClimbModel
    from stairs.comparison.schema import Report
    from stairs.text.labelled.column_names import Columns
    from stairs.text.tokenizers.tokenizer import TokenizerSpec

EXAMPLE_KINDS = (*SUPERVISED_TASKS, "translate")
MAX_ORDER = 32


@dataclass(frozen=True)
class ClimbJob:
    """One climb."""

    files: tuple[str, ...] = ()  # a file of labelled examples, or files of text: see `text.climb_inputs`
    corpus: tuple[str, ...] = ()
    labels: str | None = None
    pairs: tuple[str, ...] = ()
    task: str | None = None
    columns: "Columns" = None
    budget: str = "10m"
    models: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    group: str | None = None
    limit: int | None = None
    metric: str | None = None
    cost: CostCriterion = "train"
    order: int = 3
    plans_from: str | None = None
    out: str | None = None
    no_texts: bool = False
    seed: int = 0
    keep_checkpoints: bool = False
    reading: CorpusOptions = field(default_factory=CorpusOptions)
    tokenizing: TokenizerOptions = field(default_factory=TokenizerOptions)

    @classmethod
    def from_keywords(cls, files: str | Path | Sequence[str | Path], keywords: Mapping[str, object]) -> "ClimbJob":
        """Keywords are fields of this class or of the options it holds; None is the same as not given."""
        given = {name: value for name, value in keywords.items() if value is not None}
        reading, tokenizing = (take(given, names_of(kind)) for kind in (CorpusOptions, TokenizerOptions))
        known = take(given, [name for name in names_of(cls) if name not in ("files", "reading", "tokenizing")])
        if given:
            refuse_unknown("climb", next(iter(given)), [*names_of(cls), *names_of(CorpusOptions), *names_of(TokenizerOptions)])
        known |= {name: as_paths(known[name]) for name in ("corpus", "models", "adopted", "pairs") if name in known}
        options = {"reading": build(CorpusOptions, reading), "tokenizing": build(TokenizerOptions, tokenizing)}
        return build(cls, {"files": as_paths(files), **known, **options})

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(name.strip() for given in self.models for name in given.split(",")))  # as in "tfidf,bert"
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

    def inputs(self) -> ClimbInputs:
        """The labelled examples and the files of text; without either, the embedded ones."""
        return read_inputs(
            self.files, self.corpus, self.labels, EXAMPLE_KINDS, task=self.task, columns=self.columns, group=self.group, reading=self.reading
        )

    def folder(self, inputs: ClimbInputs) -> Path:
        """Of the report and the runs; one that holds something else is refused before anything is written."""
        out = Path(self.out) if self.out else Path("runs") / f"climb-{inputs.name}"
        refuse_inside(out, inputs.corpus)
        check_writable(out)
        check_unlocked(out)
        inside = [path for path in out.iterdir() if not is_leftover(path.name)] if out.is_dir() else []
        if inside and not any(path.name == REPORT_FILE or (path / RUN_FILE).exists() or (path / LOCK_FILE).exists() for path in inside):
            raise BadInput(f"{out} exists and is not the folder of a climb; choose another one with --out")
        return out

    def experiment(self, inputs: ClimbInputs, out: Path) -> "Experiment":
        """The data that all models share."""
        example_kind, examples, is_embedded = inputs.example_kind, inputs.examples, inputs.labels is None
        if self.pairs and (example_kind == "translate" or not examples):
            raise BadInput("--pairs pretrains cove, which then learns from labels; give those with --labels")
        splits = split_examples(examples, example_kind, self.seed, self.budget_seconds, limit=self.limit, column=self.group) if examples else None
        reads_corpus = example_kind != "translate"
        corpus = inputs.corpus or (training_texts(splits) if splits and reads_corpus and not is_embedded else ())
        reading = replace(self.reading, text=inputs.text if inputs.corpus else None)
        may_hold_test_text = reads_corpus and (is_embedded or bool(inputs.corpus))  # the texts of the training examples are no test texts
        text = open_text(corpus, reading, self.tokenizing, splits if may_hold_test_text else None, is_embedded=is_embedded)
        from stairs.comparison.experiment import Experiment, Plans
        from stairs.comparison.runner import load_plans
        from stairs.tasks.metrics import choose_metric

        found = Experiment(
            shards_for=lambda model: text.shards(DEFAULT_TOKENIZER[model], DEFAULT_MIN_COUNT.get(model, 1)),
            out=out,
            corpus_hash=text.corpus.content_hash if reads_corpus else "",
            seed=self.seed,
            no_texts=self.no_texts,
            order=self.order,
            megabytes=text.megabytes if reads_corpus else 0.0,
            corpus_has_texts=not inputs.corpus,
            plans_from=Path(self.plans_from) if self.plans_from else None,
            plans=load_plans(Path(self.plans_from)) if self.plans_from else Plans(),
            pair_tokenizer=self.pair_tokenizer([example for example in examples if isinstance(example, TranslationPair)], is_embedded),
            metric=choose_metric(example_kind, examples, self.metric) if examples else "",
            removed_text=text.removed_text,
        )
        if self.pairs:
            found = replace(found, pairs=split_translations(self.pairs, seed=self.seed, encoding=self.reading.encoding))
        return found if splits is None else replace(found, **splits)

    def pair_tokenizer(self, pairs: Sequence[TranslationPair], are_number_names: bool) -> "TokenizerSpec":
        """Of both languages of a translation, with as many tokens as so much text teaches."""
        from stairs.text.language import have_chinese
        from stairs.training.recipe import vocabulary_for

        tokenizing, has_chinese = self.tokenizing, have_chinese(pairs)
        if tokenizing == TokenizerOptions() and pairs and not are_number_names and not has_chinese:
            characters = sum(len(pair.source) + len(pair.target) for pair in pairs)
            tokenizing = replace(tokenizing, vocab_size=vocabulary_for("transformer", characters))
        return tokenizing.spec_for_pairs(DEFAULT_TOKENIZER["transformer"], are_number_names=are_number_names, have_chinese=has_chinese)

    def climb(self, command: str = "", on_terminal: bool = False) -> "Report":
        """All models on the same data; `on_terminal` shows how it goes, as the command does."""
        began = time.monotonic()
        inputs = self.inputs()
        out = self.folder(inputs)
        experiment = self.experiment(inputs, out)
        from stairs.comparison.report import write_report
        from stairs.comparison.runner import run_climb
        from stairs.comparison.table import observe

        with write_lock(out), observe(self.budget_seconds) if on_terminal else nullcontext() as observer:
            report = run_climb(
                experiment, budget=self.budget_seconds, models=self.models, adopted=self.adopted_runs(inputs, out), command=command,
                observer=observer, began=began, cost=self.cost, prepare=partial(prepare_models, out=out), publish=partial(write_report, out=out),
            )  # fmt: skip
            self.keep_columns(inputs, report, out)
            if not self.keep_checkpoints and not report.get("is_stopped"):
                drop_checkpoints(out)
        return {**report, "folder": str(out)}

    def keep_columns(self, inputs: ClimbInputs, report: "Report", out: Path) -> None:
        """Each run that learnt from the labels knows their columns, so that a new file is read in the same way."""
        from stairs.text.labelled.text_columns import training_columns
        from stairs.training.records import keep_columns

        columns = training_columns(inputs.labels, inputs.example_kind, self.columns, self.reading.encoding) if inputs.labels else {}
        for row in report["rows"]:
            if (out / (row.get("run") or "") / RUN_FILE).exists():
                keep_columns(out / str(row["run"]), columns)

    def adopted_runs(self, inputs: ClimbInputs, out: Path) -> list[str]:
        """Runs of weights that were pretrained elsewhere. A package that is named becomes a run first; those that are only found, before they are
        needed."""
        if not inputs.examples or inputs.example_kind == "translate":
            return []
        if self.adopted:
            return [name if (Path(name) / RUN_FILE).exists() else adopt_package(name, out) for name in self.adopted]
        return [str(out / name) for name in self.installed_packages(inputs)]

    def installed_packages(self, inputs: ClimbInputs) -> list[str]:
        """Of weights that are installed, those that fit: of the language of the texts, and of use for what the labels are for. If models are named,
        only the packages among them."""
        from stairs.formats.weight_packages import LANGUAGE_NAMES, WEIGHT_PACKAGES, refuse_missing
        from stairs.text.language import examples_language

        for name in self.models:
            refuse_missing(name)
        installed = [package for package in WEIGHT_PACKAGES.values() if package.is_installed and (not self.models or package.name in self.models)]
        if self.models or not installed:
            return [package.name for package in installed]
        language = examples_language(inputs.examples)
        texts = f"{LANGUAGE_NAMES[language]} texts" if language else "texts of another language"
        left_out = [f"{own.name} ({LANGUAGE_NAMES[own.language]} weights, {texts})" for own in installed if own.language != language]
        fitting = [package for package in installed if package.language == language]
        left_out += [f"{package.name} (word vectors, for tasks on single texts)" for package in fitting if not package.fits(inputs.example_kind)]
        if left_out:
            say(f"left out, unless named with --adopted: {', '.join(left_out)}")
        return [package.name for package in fitting if package.fits(inputs.example_kind)]


def adopt_package(name: str, out: Path) -> str:
    """Its run in the folder of the climb, made unless it is there."""
    from stairs.adopt_job import adopt_run

    folder = out / Path(name).name
    if not (folder / RUN_FILE).exists():
        say(f"{folder}: {adopt_run(name, folder).sentence}")
    return str(folder)


def prepare_models(models: "Sequence[ClimbModel]", out: Path) -> None:
    """What some models need before they are trained: compiled kernels, loaded libraries, adopted weights."""
    if not models:
        return
    from stairs.comparison.compilation import compile_kernels, warm_up
    from stairs.formats.weight_packages import WEIGHT_PACKAGES

    names = [model.name for model in models]
    compile_kernels(() if any(model.learns_by == "gradient" for model in models) else names)  # once for this machine
    warm_up(names)
    for name in names:
        if name in WEIGHT_PACKAGES:
            try:
                adopt_package(name, out)
            except StairsError as error:  # its row will say that it failed
                say(f"{name} cannot be adopted: {error}")


def drop_checkpoints(out: Path) -> None:
    """Of the finished runs of a finished climb, which nothing resumes: optimizer states and weights on the way. The models stay."""
    from stairs.training.checkpoint import prune_checkpoints
    from stairs.training.run import MODEL_FOLDER

    for folder in out.iterdir():
        if (folder / RUN_FILE).exists() and (folder / MODEL_FOLDER).is_dir():
            prune_checkpoints(folder, keep=0, best=None)


def training_texts(splits: ExampleSplits) -> tuple[str, ...]:
    """A corpus of the texts of the training examples, for those who give none."""
    from stairs.text.examples import example_texts
    from stairs.text.python_data import spool

    texts = dict.fromkeys(text for example in splits["train"] for text in example_texts(example) if text.strip())
    say(f"models are pretrained on the {len(texts):,} texts of the training examples; more text: --corpus FILES")
    return (spool(({"text": text} for text in texts), "training texts"),)
