"""FromExamples: a task that learns from labelled examples alone, without a pretrained encoder, in seconds: the ground floor of its kind of labels."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from stairs.tasks.config_file import CONFIG, WEIGHTS, TaskConfig
from stairs.tasks.measurements import Measurements
from stairs.tasks.outcomes import all_metrics
from stairs.tasks.parts.saved_arrays import load_arrays, save_arrays
from stairs.tasks.task import Task
from stairs.text.examples import Example, example_texts
from stairs.text.tokenizers.tokenizer import TOKENIZERS, Tokenizer

STRINGS = "strings.json"  # words and features, in the order of the rows of the tensors


class FromExamples(Task):
    """Each has its strings and arrays, from which it is built again, and predicts from those."""

    has_model = False
    model_name = ""
    labels: list[str]
    tokenizer: Tokenizer

    @classmethod
    @abstractmethod
    def train(cls, examples: Sequence[Any]) -> Self:
        """Learn from examples of the task's kind; the same examples always give the same weights."""

    @abstractmethod
    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        """The prediction for each example, as the metrics compare it with the gold one."""

    @abstractmethod
    def strings(self) -> dict[str, list[str]]: ...

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]: ...

    @classmethod
    @abstractmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        """Built again from what was saved."""

    def check_examples(self, examples: Sequence[Any]) -> None:
        """Refuse a label that was not in the training file."""

    def evaluate_examples(self, examples: Sequence[Any]) -> Measurements:
        return self.metrics_and_predictions(examples)[0]

    def metrics_and_predictions(self, examples: Sequence[Any]) -> tuple[Measurements, list[Any]]:
        self.check_examples(examples)
        predictions = self.predict_examples(examples)
        return all_metrics(self.example_kind, examples, predictions), predictions

    def describe(self) -> TaskConfig:
        return {"task": self.name, "model": self.model_name, "labels": self.labels}

    def save(self, folder: Path) -> None:
        (folder / CONFIG).write_text(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / STRINGS).write_text(json.dumps(self.strings(), ensure_ascii=False), "utf-8")
        save_arrays(self.arrays(), folder / WEIGHTS)
        self.tokenizer.save(folder)

    @classmethod
    def open(cls, folder: Path, described: TaskConfig) -> Self:
        strings = json.loads((folder / STRINGS).read_text("utf-8"))
        return cls.from_parts(Tokenizer.load(folder), described, strings, load_arrays(folder / WEIGHTS))


def words_tokenizer(examples: Sequence[Example]) -> Tokenizer:
    """The words of the examples."""
    return Tokenizer.train(TOKENIZERS["words"], lambda: (list(example_texts(example)) for example in examples))
