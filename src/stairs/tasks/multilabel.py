"""MultiLabel: any number of labels for a text.

P(label l | text) = sigmoid(w_l v + b_l),   v the vector of the text, see `parts/text_vector.py`;  the labels of a text are those above a threshold

Each label is a question of its own, whose loss is its cross-entropy. Biases start at the log-odds of the labels in training, so that nothing has to
be unlearnt. The threshold is chosen on the validation examples, see `multilabel_metrics.py`, and stored with the head.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from stairs.models.transfer_options import TransferOptions
from stairs.tasks.answers import Answer, LabelSetAnswer
from stairs.tasks.classify import Classify
from stairs.tasks.label_sets import count_labels, label_set_answer, labels_summary, sigmoid, unknown_label
from stairs.tasks.measurements import Measurements
from stairs.tasks.multilabel_metrics import DEFAULT_THRESHOLD, best_threshold, labels_above, multilabel_metrics, multilabel_report
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.task import TrainingExamples
from stairs.text.batch import Batch

MIN_PROBABILITY = 1e-12


class LabelSetHead(LinearHead):
    """A linear layer, and the probability from which on a label is given."""

    threshold: Tensor

    def __init__(self, width: int, outputs: int, transfer: TransferOptions) -> None:
        super().__init__(width, outputs, transfer)
        self.register_buffer("threshold", torch.tensor(DEFAULT_THRESHOLD))


class MultiLabel(Classify):
    """Its settings are the names of the labels, `counts`, how often each occurs in training, and `texts`, the number of training examples."""

    name = "multilabel"
    example_kind = "multilabel"
    gives_labels = False
    has_text_features = False
    has_confusion = False
    head: LabelSetHead

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        counts = count_labels(examples)
        return {"labels": sorted(counts), "counts": [counts[label] for label in sorted(counts)], "texts": len(examples)}

    def new_head(self) -> nn.Module:
        return LabelSetHead(self.width, len(self.labels), self.transfer)

    @torch.no_grad()
    def start(self, seed: int, examples: TrainingExamples | None = None) -> None:
        super().start(seed, examples)
        self.head.threshold.fill_(DEFAULT_THRESHOLD)
        counts = torch.tensor(self.settings["counts"], dtype=torch.float32)
        self.head.linear.bias.copy_(((counts + 0.5) / (self.settings["texts"] - counts + 0.5)).log())

    @property
    def threshold(self) -> float:
        return float(self.head.threshold)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        """1 for each label that an example has; a text without an example behind it has none."""
        label_ids = {label: number for number, label in enumerate(self.labels)}
        for row in rows:
            own = getattr(examples[row.example], "labels", ())
            for label in own:
                if label not in label_ids:
                    raise unknown_label(examples[row.example], label, self.labels)
            row.target = np.zeros(len(self.labels), np.float32)
            row.target[[label_ids[label] for label in own]] = 1.0
        return rows

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"labels": torch.from_numpy(np.stack([row.target for row in rows]))}

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None
        loss = binary_cross_entropy_with_logits(logits, batch.labels, pos_weight=self.class_weights(logits.device), reduction="sum")
        return loss, len(batch.labels)

    def class_weights(self, device: torch.device) -> Tensor | None:
        """With `--class-weights balanced`, the texts that have a label count as much as those that have it not."""
        if self.transfer.class_weights != "balanced":
            return None
        counts = torch.tensor(self.settings["counts"], dtype=torch.float32, device=device)
        weights: Tensor = (self.settings["texts"] - counts).clamp(min=1) / counts
        return weights

    def fit_to_validation(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> None:
        gold = [examples[row.example].labels for row in rows]
        self.head.threshold.fill_(best_threshold(gold, sigmoid(np.stack(logits)), self.labels))

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        gold, probabilities = np.stack([row.target for row in rows]), sigmoid(np.stack(logits).astype(np.float64))
        of_gold = np.maximum(np.where(gold > 0, probabilities, 1 - probabilities), MIN_PROBABILITY)
        predictions = self.predictions(examples, rows, logits)
        return {**multilabel_metrics([example.labels for example in examples], predictions), "nll": float(-np.log(of_gold).sum(1).mean())}

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        return labels_above(sigmoid(np.stack(logits)), self.labels, self.threshold)

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        predictions = self.predictions(examples, rows, logits)
        return {**multilabel_report([example.labels for example in examples], predictions, self.labels), "threshold": self.threshold}

    def example_probabilities(self, examples: Sequence[Any]) -> np.ndarray:
        return sigmoid(np.stack(self.logits(self.rows(examples))))

    def answer(self, text: str) -> LabelSetAnswer:
        return label_set_answer(text, self.probabilities([text])[0], self.labels, self.threshold)

    def summary(self, answer: Answer) -> str:
        return labels_summary(answer)
