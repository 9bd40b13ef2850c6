"""Regress: a number for a text.

value = mean + deviation (w v + b),   v the vector of the text, see `parts/text_vector.py`

The layer learns the standardized numbers of the training file by least squares, so that one learning rate fits stars and prices. A prediction may lie
beyond the numbers of the training file.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from stairs.tasks.answers import Answer, NumberAnswer
from stairs.tasks.classify import Classify
from stairs.tasks.measurements import Measurements
from stairs.tasks.number_targets import mean_and_deviation
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.regression_metrics import regression_metrics
from stairs.text.batch import Batch
from stairs.text.examples import LabelledText


class Regress(Classify):
    """Its settings are the mean and the deviation of the numbers in training."""

    name = "regress"
    example_kind = "regress"
    gives_labels = False
    has_text_features = False
    has_confusion = False

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        mean, deviation = mean_and_deviation(examples)
        return {"mean": mean, "deviation": deviation}

    @property
    def labels(self) -> list[str]:
        return []

    def new_head(self) -> nn.Module:
        return LinearHead(self.width, 1, self.transfer)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        mean, deviation = self.settings["mean"], self.settings["deviation"]
        for row in rows:
            row.target = (getattr(examples[row.example], "value", mean) - mean) / deviation
        return rows

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"labels": torch.tensor([row.target for row in rows], dtype=torch.float32)}

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None
        return mse_loss(logits[:, 0], batch.labels, reduction="sum"), len(batch.labels)

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        gold = np.array([example.value for example in examples])
        return regression_metrics(gold, np.array(self.predictions(examples, rows, logits)))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        outputs = np.stack(logits)[:, 0].astype(np.float64)
        values: list[float] = (self.settings["mean"] + self.settings["deviation"] * outputs).tolist()
        return values

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        return {}

    def answer(self, text: str) -> NumberAnswer:
        return {"text": text, "value": self.predict_examples([LabelledText(text, "")])[0]}

    def summary(self, answer: Answer) -> str:
        return f"{cast(NumberAnswer, answer)['value']:.4g}"
