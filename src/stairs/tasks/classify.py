"""Classify: one label for a text.

P(label | text) = softmax(W v + b),   v the vector of the text, see `parts/text_vector.py`
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from stairs.errors import BadInput
from stairs.tasks.answers import Answer
from stairs.tasks.classifier import softmax
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import label_metrics
from stairs.tasks.outcomes import classification_report
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.parts.text_vector import TextVector
from stairs.text.batch import Batch
from stairs.text.examples import LabelledText


class Classify(TextVector):
    """Pooled token vectors, then a linear layer. Its settings are the names of the labels and `counts`, how often each occurs in training."""

    name = "classify"
    example_kind = "classify"
    gives_labels = True
    has_text_features = True
    has_confusion = True

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        counts = Counter(example.label for example in examples)
        if len(counts) < 2:
            raise BadInput(f"{examples[0].where}: all {len(examples)} examples have the label {next(iter(counts))!r}; at least two are needed")
        return {"labels": sorted(counts), "counts": [counts[label] for label in sorted(counts)]}

    @property
    def labels(self) -> list[str]:
        labels: list[str] = self.settings["labels"]
        return labels

    def new_head(self) -> nn.Module:
        return LinearHead(self.width, len(self.labels), self.transfer)

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        form = self.input_format
        texts = self.encode_texts([example.text for example in examples], [example.where for example in examples])
        rows = [form.encode_one(ids, number) for number, ids in enumerate(texts)]
        self.note_truncation(form, len(rows))
        return self.add_targets(rows, examples)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        label_ids = {label: number for number, label in enumerate(self.labels)}
        for row in rows:
            label = examples[row.example].label
            if label and label not in label_ids:
                unknown = f"the label {label!r} is not in the training file, which has {', '.join(self.labels[:8])}"
                raise BadInput(f"{examples[row.example].where}: {unknown}; correct it, or train with it")
            row.target = label_ids.get(label, 0)
        return rows

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"labels": torch.tensor([row.target for row in rows])}

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None
        return cross_entropy(logits, batch.labels, self.class_weights(logits.device), reduction="sum"), len(batch.labels)

    def class_weights(self, device: torch.device) -> Tensor | None:
        """With `--class-weights balanced`, rare labels count as much as frequent ones; the mean weight of an example is 1."""
        if self.transfer.class_weights != "balanced":
            return None
        counts = torch.tensor(self.settings["counts"], dtype=torch.float32, device=device)
        return counts.sum() / (len(counts) * counts)

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        probabilities = softmax(np.stack(logits))
        gold = [examples[row.example].label for row in rows]
        of_gold = np.array([probabilities[i, self.labels.index(label)] for i, label in enumerate(gold)])
        nll = float(-np.log(np.maximum(of_gold, 1e-12)).mean())
        return {**label_metrics(gold, self.predictions(examples, rows, logits)), "nll": nll}

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        return [self.labels[i] for i in np.stack(logits).argmax(1)]

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        return classification_report([examples[row.example].label for row in rows], softmax(np.stack(logits)), self.labels)

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """What the linear layer reads of each text, (N, D)."""
        rows = self.rows([LabelledText(text, "") for text in texts])
        return np.stack(self.run_rows(rows, lambda batch: self.head.standardize(self.features(batch))))  # type: ignore[operator]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """P(label | text), (N, labels)."""
        return self.example_probabilities([LabelledText(text, "") for text in texts])

    def example_probabilities(self, examples: Sequence[Any]) -> np.ndarray:
        """The same for examples, whose labels do not matter."""
        return softmax(np.stack(self.logits(self.rows(examples))))

    def answer(self, text: str) -> Answer:
        return {"text": text, **self.label_answer(self.probabilities([text])[0])}

    def label_answer(self, probabilities: np.ndarray) -> dict[str, object]:
        """The most probable label, and the probability of each."""
        order = np.argsort(-probabilities, kind="stable")
        return {"label": self.labels[order[0]], "probabilities": {self.labels[i]: float(probabilities[i]) for i in order}}

    def summary(self, answer: Answer) -> str:
        return str(answer["label"])
