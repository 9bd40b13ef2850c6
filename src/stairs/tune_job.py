"""What `stairs tune` is asked for, and how it is made ready: the labelled examples in three splits, and the ways to learn from them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from stairs.arguments import convert_fields
from stairs.errors import BadInput, Unsupported
from stairs.files import write_json
from stairs.keywords import build, name_from, names_of, refuse_unknown, take
from stairs.models.settings import CONFIGS, LABEL_MODELS
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import BASELINE_TASKS, SUPERVISED_TASKS, TUNED_TASKS
from stairs.tasks.measurements import EVALUATION_FILE, Measurements
from stairs.text.examples import Example, Splits
from stairs.text.input_files import printable
from stairs.training.label_models import check_source, settings_of
from stairs.training.options import TrainingOptions
from stairs.training.run import check_run

if TYPE_CHECKING:
    from stairs.tasks import Task
    from stairs.tasks.parts.labelled_splits import LabelledSplits
    from stairs.text.examples import LabelledData
    from stairs.text.labelled.column_names import Columns

NEEDS_NO_RUN = tuple(dict.fromkeys(name for models in BASELINE_TASKS.values() for name in models))  # models that learn from the examples alone
TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".xlsm")
MAX_PASSES = 10_000


class TunedRun(NamedTuple):
    folder: Path
    evaluation: dict[str, Measurements]  # by split, "dev" and "test"; empty for a worker that only computes


class Trained(NamedTuple):
    task: "Task | None"  # None for a worker that only computes
    metrics: dict[str, object]  # on the validation examples


@dataclass(frozen=True)
class TuneJob:
    """One fine-tuning."""

    run: str  # the folder of a run, or one of NEEDS_NO_RUN and LABEL_MODELS
    labels: str
    task: str | None = None
    columns: "Columns" = None
    group: str | None = None
    dev: str | None = None
    test: str | None = None
    limit: int | None = None
    head: Literal["auto", "bi-encoder", "cross-encoder"] = "auto"
    adapt: float = 0.0
    sweep: bool = False
    metric: str | None = None
    encoding: str | None = None
    out: str | None = None
    size: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)  # of one of LABEL_MODELS
    options: TrainingOptions = field(default_factory=TrainingOptions)
    transfer_options: TransferOptions = field(default_factory=lambda: TransferOptions(transfer="auto"))

    @classmethod
    def from_keywords(cls, run: str | Path, labels: str | Path, keywords: Mapping[str, object]) -> "TuneJob":
        """Keywords are fields of this class or of the options it holds; None is the same as not given."""
        given = {name: value for name, value in keywords.items() if value is not None}
        training, transfer = (take(given, names_of(kind)) for kind in (TrainingOptions, TransferOptions))
        own_names = [name for name in names_of(cls) if name not in ("run", "labels", "settings", "options", "transfer_options")]
        known = take(given, own_names)
        if run in LABEL_MODELS:
            known["settings"] = convert_fields(CONFIGS[str(run)], take(given, settings_of(str(run))))
        if given:
            refuse_unknown("tune", next(iter(given)), [*names_of(TrainingOptions), *names_of(TransferOptions), *own_names])
        own = {"run": str(run), "labels": str(labels), **known}
        options = {"options": build(TrainingOptions, training), "transfer_options": build(TransferOptions, {"transfer": "auto", **transfer})}
        return build(cls, {**own, **options})

    def __post_init__(self) -> None:
        if not self.run or not self.labels:
            raise BadInput("a run and a file of labelled examples are needed: stairs tune runs/wiki-bert reviews.csv")
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"--limit {self.limit} is below 1")
        if not 0 <= self.adapt <= MAX_PASSES:
            raise BadInput(f"--adapt {self.adapt} is not between 0 and {MAX_PASSES}")
        self.options.check()
        check_source(self.run, self.transfer_options.transfer, self.adapt, self.size, self.settings)

    def tune(self) -> TunedRun:
        """Examples, splits, fit, and an evaluation beside the cheapest alternatives."""
        if self.task == "similar":
            return self.index()
        example_kind, splits = self.read_splits()
        from stairs.tasks.baselines import train_baselines
        from stairs.tasks.metrics import choose_metric
        from stairs.tasks.outcomes import evaluate_with_baselines
        from stairs.text.labelled.text_columns import training_columns
        from stairs.training.records import keep_columns
        from stairs.training.run import load

        metric = choose_metric(example_kind, splits.train, self.metric) if example_kind in SUPERVISED_TASKS else ""
        folder, (task, metrics) = self.fit(example_kind, splits, metric)
        if task is None:
            return TunedRun(folder, {})
        keep_columns(folder, training_columns(self.labels, example_kind, self.columns, self.encoding))
        baselines = train_baselines(splits.train, task if self.needs_no_run or self.is_untrained else load(self.run)) if metric else {}
        if self.is_untrained:
            baselines.pop("untuned cosine", None)  # there was nothing before the labels
        dev, test = (evaluate_with_baselines(task, examples, baselines, metric) for examples in (splits.dev, splits.test))
        return keep_evaluation(folder, {"dev": {**metrics, **dev}, "test": test})

    def index(self) -> TunedRun:
        """The texts of a file, to search in."""
        from stairs.training.run import load

        self.check_task("similar")
        texts = self.texts()
        folder = self.index_texts(texts)
        test = {"test": load(folder).evaluate_examples(self.read(self.test, "compare").examples)} if self.test else {}
        return keep_evaluation(folder, {"dev": {"texts": len(texts)}, **test})

    @property
    def is_untrained(self) -> bool:
        """Whether the encoder is a new one, which learns from the labels alone."""
        return self.run in LABEL_MODELS

    @property
    def needs_no_run(self) -> bool:
        return self.run in NEEDS_NO_RUN

    def folder(self, task: str, model: str) -> Path:
        out = Path(self.out) if self.out else Path("runs") / f"{name_from(self.labels)}-{task}-{model}"
        check_run(out)
        return out

    def read(self, path: str, task: str | None) -> "LabelledData":
        from stairs.text.labelled import read_examples

        group = self.group if path == self.labels else None
        return read_examples(path, task, columns=self.columns, encoding=self.encoding, group=group)

    def read_splits(self) -> tuple[str, Splits]:
        """What the labels are for, given or guessed, and training, validation and test examples; the same ones for the same seed."""
        from stairs.text.labelled import read_splits

        return read_splits(
            self.labels, self.task, self.check_task, {"dev": self.dev, "test": self.test}, self.options.seed,
            limit=self.limit, columns=self.columns, encoding=self.encoding, group=self.group, trees=self.transfer_options.structural_positions,
        )  # fmt: skip

    def check_task(self, task: str) -> None:
        if task not in TUNED_TASKS:
            others = f"which stairs tune does not learn; it learns {', '.join(TUNED_TASKS)}"
            raise BadInput(f"{printable(self.labels)} holds examples for {task}, {others}")
        if self.is_untrained and task not in SUPERVISED_TASKS:
            raise Unsupported(f"{self.run} learns {', '.join(SUPERVISED_TASKS)} from labels; for {task} give a run whose model encodes")
        if self.sweep and (self.needs_no_run or task not in SUPERVISED_TASKS):
            what = self.run if self.needs_no_run else f"for {task}, {self.run}"
            raise BadInput(f"--sweep varies how an encoder is trained, and {what} is not trained by gradients; leave it out")
        if self.transfer_options.structural_positions and task != "tag":
            raise BadInput(f"--structural-positions is for tag, and {printable(self.labels)} holds examples for {task}; leave it out")
        if self.transfer_options.both_orders and task != "compare":
            raise BadInput(f"--both-orders is for compare, and {printable(self.labels)} holds examples for {task}; leave it out")
        if self.transfer_options.crf and (task != "tag" or self.needs_no_run):
            reason = f"{self.run} is no encoder" if task == "tag" else f"{printable(self.labels)} holds examples for {task}"
            raise BadInput(f"--crf is for tags on top of an encoder, and {reason}; leave it out")
        if self.metric is not None and task not in SUPERVISED_TASKS:
            several = ", ".join(SUPERVISED_TASKS)
            raise BadInput(f"--metric {self.metric} chooses between the metrics of {several}; {task} has one only: leave it out")

    def fit(self, example_kind: str, splits: Splits, metric: str) -> tuple[Path, Trained]:
        """The folder of the new run, and what was trained."""
        train = self.fit_counts if self.needs_no_run or example_kind == "sense" else self.fit_encoder
        return train(example_kind, splits, metric)

    def fit_encoder(self, example_kind: str, splits: Splits, metric: str) -> tuple[Path, Trained]:
        """On top of a run, by gradients."""
        from stairs.tasks import TASKS
        from stairs.tasks.parts.labelled_splits import LabelledSplits
        from stairs.training.grid import check_sweep
        from stairs.training.run import load
        from stairs.training.selection import Candidate, fit_best
        from stairs.training.tuning import adapt, adapted_folder, build_task, sweep_candidates, tuning_candidates

        transfer = check_sweep(self.options, self.transfer) if self.sweep else self.transfer
        load_source = self.source_loader(example_kind, splits.train)
        source = load_source()
        if not source.has_model:
            raise Unsupported(f"{self.run} is a {source.name} run, which encodes no text; give a run such as bert, or {source.model_name} itself")
        out = self.folder(TUNED_TASKS[example_kind], source.model_name)
        if self.adapt:
            adapted = adapt(source, LabelledSplits(splits.train, splits.dev, source.model), out, self.options, self.adapt)
            if adapted is None:
                return out, Trained(None, {})
            source, load_source = adapted, partial(load, adapted_folder(out))
        is_initialized = self.options.init_from is not None
        ways = tuning_candidates(TASKS[TUNED_TASKS[example_kind]], source, splits.train, splits.dev, transfer, self.head, is_initialized)
        new_task = partial(build_task, load_source=load_source, train=splits.train, metric=metric)
        candidates = [Candidate(way.name, way.cost, partial(new_task, way)) for way in ways]
        if self.sweep:
            candidates = sweep_candidates(ways, source.model, self.options, new_task)
        metrics = fit_best(candidates, LabelledSplits(splits.train, splits.dev, source.model), out, self.options)
        return out, Trained(load(out) if metrics else None, metrics)  # the best of it, not the last

    @property
    def transfer(self) -> TransferOptions:
        return replace(self.transfer_options, transfer="scratch") if self.is_untrained else self.transfer_options

    def source_loader(self, example_kind: str, train: list[Example]) -> "Callable[[], Task]":
        """Gives the run, with new weights if nothing of its training is wanted, or a new encoder for the words of the examples."""
        from stairs.training.new_encoder import encoder_of_words, with_new_weights
        from stairs.training.run import load

        transfer, seed = self.transfer, self.options.seed
        if self.is_untrained:
            width = {} if transfer.word_width is None else {"word_width": transfer.word_width}
            settings = {**self.settings, **width}
            return encoder_of_words(self.run, self.size or "mini", settings, train, example_kind, transfer.word_vectors, seed)
        if transfer.transfer == "scratch":
            return lambda: with_new_weights(load(self.run), seed)
        return partial(load, self.run)

    def fit_counts(self, example_kind: str, splits: Splits, metric: str) -> tuple[Path, Trained]:
        """In one pass, without an encoder: the models that need no run, and word senses."""
        from stairs.tasks import TASKS, Sense, TfidfClassifier
        from stairs.tasks.classifier import word_tokenizer
        from stairs.training.run import fit_once, load

        floors = BASELINE_TASKS.get(example_kind, {})
        if self.needs_no_run and self.run not in floors:
            *first, last = (kind for kind, models in BASELINE_TASKS.items() if self.run in models)
            kinds = f"{', '.join(first)} and {last}" if first else last
            others = f"{', '.join(floors)} or " if floors else ""
            raise Unsupported(f"{self.run} learns {kinds} only; for {example_kind} give {others}a run whose model encodes")
        layers = self.transfer_options.layers
        settings = {"seed": self.options.seed, "data": {"corpus": labelled_splits(splits).fingerprint}, "task": example_kind, "source": self.run}
        settings |= {"layers": layers, **({"metric": metric} if metric else {})}

        examples: list[Any] = splits.train  # of one kind

        def train() -> "Task":
            if example_kind == "sense":
                return Sense.train(examples, load(self.run), layers)
            task_class: Any = TASKS[floors[self.run]]
            sources = [word_tokenizer(examples)] if example_kind == "classify" else []
            validation = {"validation": splits.dev} if task_class is TfidfClassifier else {}
            task: Task = task_class.train(examples, *sources, **validation)
            return task

        out = self.folder(example_kind, Path(self.run).name)
        metrics = fit_once(out, settings, train, lambda task: task.evaluate_examples(splits.dev))
        return out, Trained(load(out), metrics)

    def index_texts(self, texts: list[str]) -> Path:
        """The vectors of all texts of a file, to search in."""
        from stairs.tasks import Similar
        from stairs.training.run import fit_once, load

        out = self.folder("similar", Path(self.run).name)
        corpus = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        settings = {"seed": self.options.seed, "data": {"corpus": corpus}, "task": "similar", "source": self.run}
        fit_once(out, settings, lambda: Similar(load(self.run), texts), lambda task: {"texts": len(texts)})
        return out

    def texts(self) -> list[str]:
        """Of a file of labelled examples, or its lines; each once."""
        if Path(self.labels).suffix.lower() in TABLES:
            from stairs.tasks.parts.adapt import unique_texts

            return unique_texts(self.read(self.labels, "classify").examples)[: self.limit]
        from stairs.text.input_lines import read_lines

        return list(dict.fromkeys(read_lines(self.labels)))[: self.limit]


def keep_evaluation(folder: Path, evaluation: dict[str, Measurements]) -> TunedRun:
    write_json(folder / EVALUATION_FILE, evaluation)
    return TunedRun(folder, evaluation)


def labelled_splits(splits: Splits) -> "LabelledSplits":
    from stairs.tasks.parts.labelled_splits import LabelledSplits

    return LabelledSplits(splits.train, splits.dev)
