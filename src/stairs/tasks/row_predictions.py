"""The columns that a task adds to rows of texts: its prediction, how probable that is and, if they are asked for, more.

prediction    the label, the labels with ; between them, the number, the tags, the translation, the continuation: whatever the task answers
probability   of that label; of several labels, that of the decision that is least certain: a label given, or not given
unsure        yes or no: whether the probability is below `unsure_below`
p_LABEL       the probability of each label
why           the words that spoke for the label and against it, as a caller explains them
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, Protocol, TypedDict, cast

import numpy as np

from stairs.errors import BadInput, Unsupported
from stairs.tasks.answers import Answer
from stairs.tasks.prediction_options import PredictionOptions
from stairs.text.examples import Example

if TYPE_CHECKING:
    from stairs.tasks.task import Task

DIGITS = 4  # of a probability in a table
LABELS_JOINED_BY = ";"
LABEL_CHUNK, ANSWER_CHUNK = 4096, 128  # rows that are predicted at once
Cells = list[str | float | None]  # of one row
Explain = Callable[[list[str]], list[str]]  # from texts to the words behind their labels
Second = str | Sequence[str]  # the second text of a row, or its choices


class PredictionColumn(NamedTuple):
    name: str
    is_number: bool = False


class PredictionSummary(TypedDict):
    """What was predicted."""

    out: str
    rows: int
    without_text: int
    seconds: float
    unsure: NotRequired[int]
    predictions: NotRequired[dict[str, int]]  # how often each label was predicted


class PredictsExamples(Protocol):
    """A task that predicts labels or numbers of many examples at once."""

    def examples_of(self, texts: list[str], second: Sequence[str] | None) -> list[Example]: ...

    def example_probabilities(self, examples: list[Example]) -> np.ndarray: ...

    def predict_examples(self, examples: list[Example]) -> list[float]: ...


class GivesLabelSets(Protocol):
    """A task that gives any number of labels."""

    @property
    def threshold(self) -> float: ...


class Decisions(NamedTuple):
    """The predictions of several texts, from the probabilities of their labels."""

    predictions: list[str]
    probabilities: np.ndarray  # of the decisions


class RowPredictor:
    """Predictions for chunks of rows. `answer_options` are keywords of the task's `answer`."""

    def __init__(
        self, task: "Task", options: PredictionOptions, answer_options: dict[str, object] | None = None, explain: Explain | None = None
    ) -> None:
        self.task, self.options, self.answer_options, self.explain = task, options, dict(answer_options or {}), explain
        options.check()
        self.labels: list[str] = list(getattr(task, "labels", None) or []) if predicts_examples(task) else []
        self.gives_numbers = predicts_examples(task) and not self.labels
        self.chunk_size = LABEL_CHUNK if predicts_examples(task) else ANSWER_CHUNK
        self.answer_columns: list[PredictionColumn] = []
        if not self.labels:
            self.refuse_label_options()
        self.positive = self.positive_label()

    @property
    def columns(self) -> list[PredictionColumn]:
        """The new columns; those of an answer are known when there has been one."""
        if self.gives_numbers:
            return [PredictionColumn("prediction", True)]
        if not self.labels:
            return self.answer_columns or [PredictionColumn("prediction")]
        columns = [PredictionColumn("prediction"), PredictionColumn("probability", True)]
        columns += [PredictionColumn("unsure")] if self.options.unsure_below is not None else []
        columns += [PredictionColumn(f"p_{label}", True) for label in self.labels] if self.options.all_labels else []
        return columns + ([PredictionColumn("why")] if self.explain else [])

    def refuse_label_options(self) -> None:
        for flag in ("threshold", "unsure_below", "all_labels", "why"):
            if getattr(self.options, flag) not in (None, False):
                raise Unsupported(f"--{flag.replace('_', '-')} is for runs that give labels, and this is a {self.task.name} run; leave it out")

    def positive_label(self) -> int | None:
        """The number of the label that the threshold is about; None where it is about each, or where there is none."""
        options, labels = self.options, self.labels
        if options.threshold is None or (gives_label_sets(self.task) and options.positive is None):
            return None
        if options.positive is not None:
            if gives_label_sets(self.task):
                raise Unsupported("--positive chooses between labels, and this run gives any number of them; --threshold alone is for each of them")
            if options.positive not in labels:
                raise BadInput(f"--positive {options.positive} is none of the labels {', '.join(labels[:8])}")
            return labels.index(options.positive)
        if len(labels) != 2:
            raise BadInput(f"--threshold is about one label, and this run has {len(labels)}; say which with --positive, or use --unsure-below")
        return 1

    def predict(self, texts: list[str], seconds: Sequence[Second] | None, locations: Sequence[str]) -> list[Cells]:
        """The cells of each row, in the order of `columns`; empty for a text without tokens. `locations` say where each row stands."""
        if not texts:
            return []
        if self.labels or self.gives_numbers:
            return self.predict_examples(texts, cast("Sequence[str] | None", seconds))
        return self.answer_rows(texts, seconds, locations)

    def predict_examples(self, texts: list[str], seconds: Sequence[str] | None) -> list[Cells]:
        compute = self.number_cells if self.gives_numbers else self.label_cells
        try:
            return compute(texts, seconds)
        except BadInput:
            rows = zip(texts, seconds, strict=True) if seconds is not None else ((text,) for text in texts)
            known = [all(self.task.tokenizer.encode(text) for text in row) for row in rows]
            if all(known):
                raise
        numbers = [number for number, is_known in enumerate(known) if is_known]
        cells: list[Cells] = [[None] * len(self.columns) for _ in texts]
        if numbers:
            rest = compute([texts[number] for number in numbers], None if seconds is None else [seconds[number] for number in numbers])
            for number, own in zip(numbers, rest, strict=True):
                cells[number] = own
        return cells

    def number_cells(self, texts: list[str], seconds: Sequence[str] | None) -> list[Cells]:
        task = cast(PredictsExamples, self.task)
        return [[float(f"{number:.6g}")] for number in task.predict_examples(task.examples_of(texts, seconds))]

    def label_cells(self, texts: list[str], seconds: Sequence[str] | None) -> list[Cells]:
        task = cast(PredictsExamples, self.task)
        probabilities = np.asarray(task.example_probabilities(task.examples_of(texts, seconds)), np.float64)
        decisions = self.decide(probabilities)
        columns: list[Sequence[str | float]] = [decisions.predictions, np.round(decisions.probabilities, DIGITS).tolist()]
        if self.options.unsure_below is not None:
            columns.append(np.where(decisions.probabilities < self.options.unsure_below, "yes", "no").tolist())
        if self.options.all_labels:
            columns += np.round(probabilities.T, DIGITS).tolist()
        if self.explain:
            columns.append(self.explain(texts))
        return [list(row) for row in zip(*columns, strict=True)]

    def decide(self, probabilities: np.ndarray) -> Decisions:
        """The label, or the labels, of each row of probabilities (N, labels)."""
        threshold = self.options.threshold
        if gives_label_sets(self.task):
            given = probabilities >= (cast(GivesLabelSets, self.task).threshold if threshold is None else threshold)
            names = [LABELS_JOINED_BY.join([label for label, own in zip(self.labels, row, strict=True) if own]) for row in given.tolist()]
            return Decisions(names, np.where(given, probabilities, 1 - probabilities).min(1))
        best = probabilities.argmax(1)
        if self.positive is not None:
            others = probabilities.copy()
            others[:, self.positive] = -1
            best = np.where(probabilities[:, self.positive] >= threshold, self.positive, others.argmax(1))
        return Decisions([self.labels[number] for number in best.tolist()], probabilities[np.arange(len(best)), best])

    def decide_answer(self, answer: Answer) -> Answer:
        """An answer with the label that the options say; with `unsure_below`, also whether it is unsure."""
        if not self.labels:
            return answer
        own = cast(dict[str, float], answer["probabilities"])
        decisions = self.decide(np.array([[own[label] for label in self.labels]]))
        changed: dict[str, object] = {"label": decisions.predictions[0]}
        if gives_label_sets(self.task):
            given = decisions.predictions[0].split(LABELS_JOINED_BY)
            changed = {"labels": [label for label in own if label in given]}
        if self.options.unsure_below is not None:
            changed["unsure"] = bool(decisions.probabilities[0] < self.options.unsure_below)
        return {**answer, **changed}

    def answer_rows(self, texts: list[str], seconds: Sequence[Second] | None, locations: Sequence[str]) -> list[Cells]:
        """What `answer` gives, row by row."""
        keyword = "choices" if self.task.example_kind == "choose" else "second"
        answer_pair: Callable[..., Answer] = self.task.answer
        answers = iter(self.task.answers(texts, **self.answer_options)) if seconds is None else None
        rows: list[Cells] = []
        for number, location in enumerate(locations):
            try:
                if answers is not None:
                    answer = next(answers)
                else:
                    answer = answer_pair(texts[number], **{keyword: (seconds or [])[number]}, **self.answer_options)
            except BadInput as error:
                raise type(error)(f"{location}: {error}") from None
            cells = answer_cells(self.task, answer)
            self.answer_columns = self.answer_columns or [PredictionColumn(name, isinstance(cell, float)) for name, cell in cells.items()]
            rows.append(list(cells.values()))
        return rows


def predicts_examples(task: "Task") -> bool:
    """Whether it gives labels or numbers to many texts at once."""
    return task.gives_labels or (task.example_kind in ("classify", "multilabel", "regress", "compare") and not task.searches_texts)


def gives_label_sets(task: "Task") -> bool:
    return task.example_kind == "multilabel"


def reads_two_texts(task: "Task") -> bool:
    """Whether a row needs a second text, or choices."""
    return task.example_kind in ("compare", "span", "choose") and not task.searches_texts


def answer_cells(task: "Task", answer: Answer) -> dict[str, str | float]:
    """An answer as cells of a row; of a task with a shape of its own, its summary."""
    own = cast(dict[str, Any], answer)
    if "vector" in own:
        raise Unsupported(f"a {task.name} run of {task.model_name} answers with vectors, not with predictions; use stairs embed")
    if "probabilities" in own:  # of choices
        return {"prediction": own["answer"], "probability": round(float(max(own["probabilities"].values())), DIGITS)}
    if "tags" in own:
        return {"prediction": " ".join(own["tags"]), "words": " ".join(own["words"])}
    if "senses" in own:
        return {"prediction": own["label"], "cosine": round(float(own["senses"][0]["cosine"]), DIGITS)}
    if "blanks" in own:
        best = [blank["words"][0] for blank in own["blanks"]]
        return {"prediction": " ".join(word["word"] for word in best), "probability": round(float(min(word["probability"] for word in best)), DIGITS)}
    if "near" in own:
        nearest: dict[str, Any] = own["near"][0] if own["near"] else {"text": "", "cosine": 0.0}
        return {"prediction": nearest.get("text", nearest.get("word", "")), "cosine": round(float(nearest["cosine"]), DIGITS)}
    for key in ("translation", "new", "margin"):
        if key in own:
            return {"prediction": own["answer"] if key == "margin" else own[key]}
    return {"prediction": task.summary(answer)}
