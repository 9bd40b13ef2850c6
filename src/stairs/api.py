"""The front door: train, load, tune, climb and adopt, for a program or a notebook; the commands run the same jobs.

    import stairs

    bert = stairs.train("bert", "corpus.txt", budget="10m")
    reviews = bert.tune("reviews.csv")
    reviews.predict(["what a film"])
    stairs.climb("reviews.csv", corpus="corpus.txt", budget="1h").recommended

Each verb is a job: `TrainJob`, `TuneJob` and `ClimbJob` hold what it is asked for, and put corpus, shards, task and `fit` together. The
keywords of each verb are the flags of the command of that name, with `_` for `-`. What can be refused is refused before torch is imported.
Text and labels may be files, or what Python holds: see `text/python_data.py`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stairs.climb_job import ClimbJob
from stairs.comparison.schema import CostCriterion
from stairs.errors import BadInput
from stairs.run_api import convert, draw, embed, embed_tokens, evaluate, nearest, neighbours, predict_file, run_path
from stairs.session import python_verb
from stairs.tasks import TunedTask
from stairs.text.input_options import Column, as_name, columns_of
from stairs.text.python_data import Data, collection_path, corpus_paths, is_path, labelled_path, pair_paths
from stairs.train_job import TrainJob
from stairs.tune_job import TuneJob

if TYPE_CHECKING:
    from stairs.comparison.climb_report import ClimbReport
    from stairs.models.transfer_options import TransferMode
    from stairs.tasks import Task

__all__ = [
    "adopt", "climb", "convert", "draw", "embed", "embed_tokens", "evaluate", "load", "nearest", "neighbours", "predict_file", "train", "tune",
]  # fmt: skip

Size = Literal["auto", "nano", "micro", "mini", "small", "base", "large", "paper"]


@python_verb
def load(run: str | Path) -> "Task":
    """The task that a run holds, ready to answer; of the folder of a climb, the model that it recommends.

    >>> stairs.load("runs/gpt").generate("the cat", length=2)[:7]
    'the cat'
    """
    from stairs.training.run import load
    from stairs.training.run_folder import run_folder

    folder = run_folder(run)
    task = load(folder)
    task.folder = folder
    return task


@python_verb
def train(
    model: str,
    corpus: Data | None = None,
    *,
    text: Column | None = None,
    pairs: Data | None = None,
    budget: str | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    size: Size = "auto",
    vocab_size: int | None = None,
    learning_rate: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    **settings: object,
) -> "Task":
    """Train a model on text, or with `pairs` on translations, and return its task.

    Arguments:
        model: ngram, nnlm, gpt, bert, elmo, cbow, skipgram, glove, seq2seq, cove or transformer
        corpus: a path or several, or texts: a list, a generator, a data frame, a dataset; each text is a document
        text: the column that holds the text; guessed if it is not given
        pairs: for models that translate: two parallel files, a table with two columns, or a list of (sentence, translation)
        budget: the time to train, such as "90s", "10m" or "2h"; the model's size and schedule are chosen to fit it
        steps, epochs: or the length of the training in updates or in passes over the text
        size: a named set of the model's settings; auto is what fits the budget, else mini
        vocab_size, learning_rate, seed: as in `stairs train --help`
        out: the run folder; runs/CORPUS-MODEL if it is not given. A run that exists is resumed, or left alone if it is finished
        **settings: the other options of `stairs train MODEL --help`, such as width=256, layers=4, precision="bf16" or evaluate_every=100

    Ctrl-C ends the training, and the task is returned as learnt so far; the same call resumes it.

    >>> ngram = stairs.train("ngram", "corpus.txt", order=2, out="runs/corpus-ngram")
    >>> ngram.generate("the cat", length=2)
    'the cat sat on'
    """
    given: dict[str, object] = {"budget": budget, "steps": steps, "epochs": epochs, "vocab_size": vocab_size, "learning_rate": learning_rate}
    given |= {"size": size, "seed": seed, "out": None if out is None else str(out), "text": as_name(text), "pairs": pair_paths(pairs) or None}
    given |= settings
    if "dev" in settings:
        given["dev"] = pair_paths(settings["dev"])
    trained = TrainJob.from_keywords(model, corpus_paths(corpus, as_name(text)), given).train(keep_interrupted=True)
    if trained.metrics:
        return load(trained.folder)
    trained.task.folder = trained.folder
    return trained.task


@python_verb
def tune(
    run: "str | Path | Task",
    data: Data,
    labels: Sequence[object] | None = None,
    *,
    text: Column | None = None,
    label: Column | None = None,
    second_column: Column | None = None,
    group: Column | None = None,
    id: Column | None = None,
    task: TunedTask | None = None,
    dev: Data | None = None,
    test: Data | None = None,
    limit: int | None = None,
    epochs: float | None = None,
    learning_rate: float | None = None,
    transfer: "TransferMode | None" = None,
    metric: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    **settings: object,
) -> "Task":
    """Fine-tune a run on labelled rows, and return the new task; its evaluation lies beside it, in evaluation.json.

    Arguments:
        run: a run folder or a task whose model encodes; or "tfidf", "ngram", "hmm", "crf", "overlap" or "cnn", which learn from the rows alone
        data: labelled rows: a path, a data frame, a dataset, a list of (text, label), or with `labels` a list of texts
        labels: the labels of a list of texts
        text, label, second_column: columns by name or number; guessed if they are not given. The second column is the other text of a pair
        group: the column whose equal values, such as authors, stay in one split
        id: a column that is neither text nor label; of tagged words, the one that numbers the sentences
        task: classify, multilabel, regress, compare, tag, span, choose, sense or similar; guessed if it is not given
        dev, test: rows for validation and for the final test; a tenth of the data each if they are not given
        limit: the maximum number of training rows
        epochs, learning_rate, transfer, metric, seed: as in `stairs tune --help`
        out: the run folder; runs/DATA-TASK-MODEL if it is not given
        **settings: the other options of `stairs tune --help`, such as adapt=10, head="cross-encoder" or budget="5m"

    >>> stairs.tune("tfidf", "reviews.csv", out="runs/reviews-tfidf").predict(["a good film", "a bad film"])
    ['pos', 'neg']
    """
    check_settings(settings)
    given: dict[str, object] = {"group": as_name(group), "task": task, "limit": limit, "epochs": epochs, "learning_rate": learning_rate, **settings}
    given |= {"transfer": transfer, "metric": metric, "seed": seed, "out": None if out is None else str(out)}
    given |= {name: None if rows is None else labelled_path(rows) for name, rows in (("dev", dev), ("test", test))}
    given["columns"] = columns_of(text=text, label=label, second_column=second_column, id=id)
    rows = collection_path(data, as_name(text)) if task == "similar" else labelled_path(data, labels)
    return load(TuneJob.from_keywords(run_path(run), rows, given).tune().folder)


@python_verb
def climb(
    data: Data | None = None,
    *,
    corpus: Data | None = None,
    labels: Data | None = None,
    text: Column | None = None,
    label: Column | None = None,
    second_column: Column | None = None,
    group: Column | None = None,
    id: Column | None = None,
    task: Literal["classify", "multilabel", "regress", "compare", "tag", "span", "choose", "translate"] | None = None,
    budget: str = "10m",
    models: Sequence[str] = (),
    adopted: Sequence[str] = (),
    limit: int | None = None,
    metric: str | None = None,
    cost: CostCriterion = "train",
    seed: int = 0,
    out: str | Path | None = None,
    **settings: object,
) -> "ClimbReport":
    """Train all models on the same rows within a budget, and recommend the cheapest that is as good as the best.

    Arguments:
        data: labelled rows, as for `stairs.tune`; without any, models are compared by their bits per character on the text. A path may also be
            a file of text, as for the command
        corpus: text to pretrain on, as for `stairs.train`; the texts of the training rows if it is not given
        labels: the labels of a list of texts; or the labelled rows, without `data` or where that is a file of text
        text, label, second_column, group, id, task: as for `stairs.tune`
        budget: the time for all models together, such as "90s", "10m" or "2h"
        models: the models to train; all if none are given
        adopted: runs or installed packages of pretrained weights to compare as well
        limit, metric, cost, seed: as in `stairs climb --help`
        out: the folder of the report and the runs. A climb that was stopped is resumed
        **settings: the other options of `stairs climb --help`, such as order=5 or vocab_size=4096

    >>> report = stairs.climb("reviews.csv", budget="2m", models=["tfidf", "ngram"], out="runs/climb")
    >>> report.recommended.predict("a good film")
    'pos'
    """
    from stairs.comparison.climb_report import ClimbReport

    check_settings(settings)
    given: dict[str, object] = {"group": as_name(group), "task": task, "budget": budget, "limit": limit, "metric": metric, "cost": cost, "seed": seed}
    given |= {"models": tuple(models) or None, "adopted": tuple(adopted) or None, "out": None if out is None else str(out), **settings}
    given["columns"] = columns_of(text=text, label=label, second_column=second_column, id=id)
    given |= {"text": as_name(text), "corpus": corpus_paths(corpus, as_name(text)) or None}
    is_file = is_path(data) and (labels is None or is_path(labels))  # of labelled rows, or of text with the labels in another
    rows = labels if is_file or data is None else labelled_path(data, labels)
    given["labels"] = None if rows is None else labelled_path(rows)
    return ClimbReport(ClimbJob.from_keywords((str(data),) if is_file else (), given).climb(on_terminal=True))


def check_settings(settings: Mapping[str, object]) -> None:
    if "columns" in settings:
        raise BadInput("there is no option 'columns'; name each with text=, label=, second_column= or id=")


@python_verb
def adopt(source: str | Path, out: str | Path | None = None, *, encoder_only: bool = False) -> "Task":
    """Another tool's model as a run: a folder of transformers or sentence-transformers, an ARPA file, word vectors, or an installed package.

    >>> stairs.adopt("bert-of-transformers", out="runs/adopted").model_name
    'bert'
    """
    from stairs.adopt_job import adopt_run, default_folder

    folder = Path(out) if out else default_folder(str(source))
    adopt_run(str(source), folder, encoder_only)
    return load(folder)
