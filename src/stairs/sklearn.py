"""Stairs in scikit-learn: a classifier of texts, and a vectorizer, that stand in a Pipeline, a GridSearchCV or a ColumnTransformer.

    from stairs.sklearn import TextClassifier, TextVectorizer

    TextClassifier("tfidf").fit(texts, labels).predict(["what a film"])
    cross_val_score(TextClassifier("runs/corpus-bert"), texts, labels)
    make_pipeline(TextVectorizer("runs/corpus-bert"), LogisticRegression())

Training is that of `stairs.train` and `stairs.tune`. It happens in a temporary folder, and nothing stays on the disk unless `out` is given.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from stairs import progress
from stairs.cache import temporary_cache
from stairs.errors import BadInput, preview
from stairs.models.settings import DEFAULT_TOKENIZER, SIZES
from stairs.text.estimator_data import class_array, column_texts, label_list
from stairs.text.examples import LabelledText, Splits
from stairs.train_job import TrainJob
from stairs.tune_job import NEEDS_NO_RUN, TuneJob

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from stairs.tasks import Task

DEFAULT_SIZES = ("micro", "mini")  # word vectors have no micro
# Options with which two fits give the same bits: otherwise a probe of the machine's speed chooses.
REPEATABLE: dict[str, dict[str, object]] = {"gradient": {"precision": "fp32"}, "sweeping": {"deterministic": True}, "counting": {}}
DURATIONS = ("steps", "epochs", "budget")  # options that say how long to train
TEXTS_PER_BLOCK = 1024


class LabelTask(Protocol):
    """A task that gives labels to texts."""

    labels: list[str]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, labels)."""


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A label for each text.

    >>> TextClassifier("tfidf").fit(["good soup", "bad rain"], [1, 0]).predict(["good bread"]).tolist()
    [1]

    model: "tfidf" and "ngram" learn from the labelled texts alone; another model's name, such as "skipgram" or "bert", is pretrained on the texts,
        or on `corpus`, and then tuned; a run, as a folder or as the task that `stairs.load` and `stairs.train` give, is tuned
    corpus: what a model is pretrained on, as a path or as texts; the texts given to `fit` if None
    size, pretrain_epochs: of the model that is pretrained, micro or else mini if None, and passes over its corpus
    epochs, learning_rate, transfer: of the tuning, as in `stairs.tune`; its own defaults if None
    train_options, tune_options: further keywords of `stairs.train` and `stairs.tune`. With a `budget` in time two fits differ
    validation_fraction: of the texts, on which a model that is trained by gradients selects its best weights
    random_state: seed of everything random
    out: folder in which the run is kept; none is kept if None
    verbose: say what happens
    """

    def __init__(
        self, model: "str | Path | Task" = "tfidf", *, corpus: object = None, size: str | None = None, pretrain_epochs: float = 10,
        epochs: float | None = None, learning_rate: float | None = None, transfer: str = "auto", train_options: Mapping[str, object] | None = None,
        tune_options: Mapping[str, object] | None = None, validation_fraction: float = 0.1, random_state: object = 0, out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:  # fmt: skip
        self.model, self.corpus, self.size, self.pretrain_epochs = model, corpus, size, pretrain_epochs
        self.epochs, self.learning_rate, self.transfer = epochs, learning_rate, transfer
        self.train_options, self.tune_options = train_options, tune_options
        self.validation_fraction, self.random_state, self.out, self.verbose = validation_fraction, random_state, out, verbose

    def fit(self, X: object, y: object) -> Self:
        """Learn the labels `y` of the texts `X`: a list, an array, a column, or a frame of one column."""
        texts, labels = column_texts(X), label_list(y)
        if len(texts) != len(labels):
            raise BadInput(f"X has {len(texts)} texts and y has {len(labels)} labels; give one label for each text")
        classes = class_array(labels, getattr(y, "dtype", None))
        if len(classes) < 2:
            raise BadInput(f"all {len(texts)} labels in y are {preview(classes[0])}; at least two are needed")
        numbers = {label: str(number) for number, label in enumerate(classes.tolist())}
        examples = [LabelledText(text, numbers[label], f"X[{i}]") for i, (text, label) in enumerate(zip(texts, labels, strict=True))]
        with workspace(self.verbose) as folder:
            self.task_: LabelTask = self._train(examples, folder)
        self.classes_ = classes
        return self

    def _train(self, examples: list[LabelledText], folder: Path) -> LabelTask:
        """The tuned task; `folder` is for all that is only needed meanwhile."""
        seed = seed_from(self.random_state)
        given: dict[str, object] = {"epochs": self.epochs, "learning_rate": self.learning_rate, "transfer": self.transfer}
        given |= {"seed": seed, "out": str(self.out or folder / "tuned"), **REPEATABLE["gradient"]}
        source = self._source(examples, folder, seed)
        job = TuneJob.from_keywords(source, "X", with_duration(given, self.tune_options))
        from stairs.tasks.metrics import choose_metric

        splits = Splits([*examples], [*examples[:1]], []) if job.needs_no_run else self._split(examples, seed)
        _, trained = job.fit("classify", splits, choose_metric("classify", examples, job.metric))
        if trained.task is None:
            raise BadInput("this process is a worker of torchrun and has no model of its own; fit a TextClassifier in one process")
        return cast(LabelTask, trained.task)

    def _split(self, examples: list[LabelledText], seed: int) -> Splits:
        from stairs.text.labelled.split import split

        share = self.validation_fraction
        if not 0 < share < 1:
            raise BadInput(f"validation_fraction is {share}; give a number between 0 and 1")
        held_out = max(len(examples) * share, 1)
        found = split(examples, {"train": len(examples) - held_out, "dev": held_out}, seed, source="X")
        return Splits(list(found["train"]), list(found["dev"]), [])

    def _source(self, examples: list[LabelledText], folder: Path, seed: int) -> str:
        """The run to tune, or the name of a model that needs none."""
        model = self.model
        if not isinstance(model, str | Path):
            return save_run(model, folder / "source")
        if str(model) not in DEFAULT_TOKENIZER or model in NEEDS_NO_RUN or Path(model).is_dir():
            return str(model)
        size = self.size or next(size for size in DEFAULT_SIZES if size in SIZES[str(model)])
        from stairs.models.registry import MODELS

        given = {"size": size, "epochs": self.pretrain_epochs, "seed": seed, "out": str(folder / "pretrained")}
        given |= REPEATABLE[MODELS[str(model)].learns_by]
        options = with_duration(given, self.train_options)
        corpus = self.corpus
        if not isinstance(corpus, str | Path):
            texts = [example.text for example in examples] if corpus is None else column_texts(corpus, "corpus")
            corpus, options["text"] = write_texts(texts, folder / "corpus.jsonl"), "text"
        return str(TrainJob.from_keywords(str(model), corpus, options).train().folder)

    def predict_proba(self, X: object) -> np.ndarray:
        """The probability of each of `classes_` for each text, (texts, classes)."""
        check_is_fitted(self)
        texts = column_texts(X)
        blocks = [self.task_.probabilities(texts[i : i + TEXTS_PER_BLOCK]) for i in range(0, len(texts), TEXTS_PER_BLOCK)]
        probabilities = np.zeros((len(texts), len(self.classes_)))
        probabilities[:, [int(label) for label in self.task_.labels]] = np.concatenate(blocks)
        return probabilities / probabilities.sum(1, keepdims=True)  # in double precision, as scikit-learn's own

    def predict(self, X: object) -> np.ndarray:
        """The most probable label of each text."""
        best: np.ndarray = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> "Tags":
        return text_tags(super().__sklearn_tags__())


class TextVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The vector of each text, from a run whose model encodes.

    >>> TextVectorizer("runs/corpus-bert").fit_transform(["a cat", "a dog"]).shape[0]
    2

    run: the folder of a run, or the task that `stairs.load` and `stairs.train` give
    normalize: scale each vector to length 1
    """

    def __init__(self, run: "str | Path | Task", *, normalize: bool = False) -> None:
        self.run, self.normalize = run, normalize

    def fit(self, X: object, y: object = None) -> Self:
        """Load the run; the texts teach it nothing."""
        from stairs.embeddings import Embeddings

        column_texts(X)
        self.encoder_ = Embeddings(self.run)
        self._n_features_out = self.encoder_.get_embedding_dimension()
        return self

    def transform(self, X: object) -> np.ndarray:
        """(texts, width)."""
        check_is_fitted(self)
        vectors: np.ndarray = self.encoder_.encode(column_texts(X), normalize_embeddings=self.normalize)
        return vectors

    def __sklearn_tags__(self) -> "Tags":
        tags = text_tags(super().__sklearn_tags__())
        tags.requires_fit = True
        return tags


def text_tags(tags: "Tags") -> "Tags":
    """What an estimator tells scikit-learn of a column of texts as its input."""
    tags.input_tags.string = tags.input_tags.one_d_array = True
    tags.input_tags.two_d_array = False
    return tags


def seed_from(random_state: object) -> int:
    if random_state is None or isinstance(random_state, int | np.integer):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(1 << 31))


def with_duration(given: Mapping[str, object], options: Mapping[str, object] | None) -> dict[str, object]:
    """The keywords given, then the `options`; how long to train is what the options say, if they do."""
    options = dict(options or {})
    if any(name in options for name in DURATIONS):
        given = {name: value for name, value in given.items() if name not in DURATIONS}
    return {name: value for name, value in {**given, **options}.items() if value is not None}


def save_run(task: "Task", folder: Path) -> str:
    """A task as a run, which can be tuned."""
    from stairs.tasks import Task
    from stairs.training.run import fit_once

    if not isinstance(task, Task):
        raise BadInput(f"{preview(task)} is neither the name of a model nor a run; give a folder, or what stairs.load returns")
    fit_once(folder, {"seed": 0, "data": {}}, lambda: task, lambda saved: {})
    return str(folder)


def write_texts(texts: Sequence[str], path: Path) -> Path:
    """As a corpus whose documents they are."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return path


@contextmanager
def workspace(verbose: bool) -> Iterator[Path]:
    """A folder that is gone afterwards, with a cache of its own; quiet unless `verbose`."""
    before = progress.messages_enabled
    shows_messages = before or progress.bars_enabled or progress.listener is not None
    progress.messages_enabled = before or verbose
    try:
        silence = progress.quiet() if shows_messages and not verbose else nullcontext()
        with silence, tempfile.TemporaryDirectory(prefix="stairs-") as name, temporary_cache(Path(name) / "cache"):
            yield Path(name)
    finally:
        progress.messages_enabled = before
