"""The front door: train, load, tune, climb and adopt, for a program or a notebook; the commands call the same.

    import stairs

    bert = stairs.train("bert", "corpus.txt", budget="10m")
    reviews = stairs.tune("runs/corpus-bert", "reviews.csv")
    reviews.answer("what a film")["label"]
    stairs.climb("corpus.txt", labels="reviews.csv", budget="1h")["recommendation"]

Each verb is a job: `TrainJob`, `TuneJob` and `ClimbJob` hold what it is asked for, and put corpus, shards, task and `fit` together. The
keywords of each verb are the flags of the command of that name, with `_` for `-`. What can be refused is refused before torch is imported.
"""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stairs.climb_job import ClimbJob
from stairs.files import write_json, write_lock
from stairs.tasks import SUPERVISED_TASKS
from stairs.tasks.measurements import EVALUATION_FILE, Measurements
from stairs.train_job import TrainJob
from stairs.tune_job import TuneJob

if TYPE_CHECKING:
    from stairs.comparison.schema import Report
    from stairs.tasks import Task

Paths = str | Path | Sequence[str | Path]


class TunedRun(NamedTuple):
    folder: Path
    evaluation: dict[str, Measurements]  # by split, "dev" and "test"; empty for a worker that only computes


def load(run: str | Path) -> "Task":
    """The task that a run holds, ready to answer.

    >>> stairs.load("runs/corpus-gpt").answer("once upon")["continuation"]
    """
    from stairs.training.run import load

    return load(run)


def train(model: str, corpus: Paths = (), **options: object) -> "Task":
    """Train a model on text, or with `pairs` on translations, and return its task.

    >>> gpt = stairs.train("gpt", "corpus.txt", size="micro", budget="10m", out="runs/gpt")

    Keywords: those of `TrainingOptions`, such as `steps`, `budget` and `learning_rate`; of the tokenizer, such as `vocab_size`; the model's own
    settings, such as `width`; and `size`, `pairs`, `dev`, `backwards`, `out`. A run that exists is resumed, or left alone if it is finished.
    """
    return load(TrainJob.from_keywords(model, corpus, options).train().folder)


def tune(run: str | Path, labels: str | Path, **options: object) -> "Task":
    """Fine-tune a run on labelled examples, and return the new task; its evaluation lies beside it, in evaluation.json.

    >>> reviews = stairs.tune("runs/corpus-bert", "reviews.csv", task="classify", epochs=3)

    In place of a run, "tfidf" and "ngram" learn to classify from the examples alone. Keywords: those of `TrainingOptions` and `TransferOptions`, and
    `task`, `columns`, `group`, `dev`, `test`, `limit`, `head`, `adapt`, `metric`, `encoding`, `out`.
    """
    return load(tune_run(TuneJob.from_keywords(run, labels, options)).folder)


def tune_run(job: TuneJob) -> TunedRun:
    """Examples, splits, fit, and an evaluation beside the cheapest alternatives."""
    if job.task == "similar":
        return index_run(job)
    example_kind, splits = job.read_splits()
    from stairs.tasks.baselines import train_baselines
    from stairs.tasks.metric_table import choose_metric
    from stairs.tasks.outcomes import evaluate_with_baselines

    metric = choose_metric(example_kind, splits.train, job.metric) if example_kind in SUPERVISED_TASKS else ""
    folder, (task, metrics) = job.fit(example_kind, splits, metric)
    if task is None:
        return TunedRun(folder, {})
    baselines = train_baselines(splits.train, task if job.needs_no_run else load(job.run)) if metric else {}
    dev, test = (evaluate_with_baselines(task, examples, baselines, metric) for examples in (splits.dev, splits.test))
    evaluation: dict[str, Measurements] = {"dev": {**metrics, **dev}, "test": test}
    write_json(folder / EVALUATION_FILE, evaluation)
    return TunedRun(folder, evaluation)


def index_run(job: TuneJob) -> TunedRun:
    """The texts of a file, to search in."""

    job.check_task("similar")
    texts = job.texts()
    folder = job.index_texts(texts)
    evaluation: dict[str, Measurements] = {"dev": {"texts": len(texts)}}
    if job.test:
        evaluation["test"] = load(folder).evaluate_examples(job.read(job.test, "compare").examples)
    write_json(folder / EVALUATION_FILE, evaluation)
    return TunedRun(folder, evaluation)


def climb(corpus: Paths = (), labels: str | Path | None = None, **options: object) -> "Report":
    """Train all models on the same text and labels within a budget, and recommend the cheapest that is as good as the best.

    >>> stairs.climb("corpus.txt", labels="reviews.csv", budget="1h")["recommendation"]["models"]

    Without a corpus, it climbs on the prose of the Python installation. Keywords: `task`, `columns`, `budget`, `models`, `adopted`, `group`, `limit`,
    `metric`, `cost`, `order`, `plans_from`, `out`, `seed`, and those of corpus and tokenizer. A climb that was stopped is resumed.
    """
    return climb_run(ClimbJob.from_keywords(corpus, {"labels": None if labels is None else str(labels), **options}))


def climb_run(job: ClimbJob, command: str = "", on_terminal: bool = False) -> "Report":
    """`on_terminal` shows how it goes, as the command does."""
    began = time.monotonic()
    example_kind, examples = job.examples()
    out = job.folder(example_kind)
    experiment = job.experiment(example_kind, examples, out)
    from stairs.comparison.compilation import compile_kernels, warm_up
    from stairs.comparison.report import write_report
    from stairs.comparison.runner import run_climb
    from stairs.comparison.table import observe

    with write_lock(out), observe(job.budget_seconds) if on_terminal else nullcontext() as observer:
        adopted = job.adopted_runs(example_kind, out)
        warming = time.monotonic()
        compile_kernels()  # once for this machine
        warm_up(job.models)
        began += time.monotonic() - warming  # which no budget is to pay for
        report = run_climb(
            experiment, budget=job.budget_seconds, models=job.models, adopted=adopted, command=command, observer=observer, began=began, cost=job.cost
        )
        write_report(report, out)
    return {**report, "folder": str(out)}


def adopt(source: str | Path, out: str | Path | None = None, *, encoder_only: bool = False) -> "Task":
    """Another tool's model as a run: a folder of transformers or sentence-transformers, an ARPA file, word vectors, or an installed package.

    >>> minilm = stairs.adopt("all-MiniLM-L6-v2", out="runs/minilm")
    """
    from stairs.adopt_job import adopt_run, default_folder

    folder = Path(out) if out else default_folder(str(source))
    adopt_run(str(source), folder, encoder_only)
    return load(folder)
