"""Classify: one label for a text.

P(label | text) = softmax(W v + b),   v the vector of the text: BERT's pooler of [CLS], a GPT's last token, the mean for the others
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from stairs.errors import BadInput
from stairs.models.transfer_options import Pooling
from stairs.tasks.classification_report import classification_report
from stairs.tasks.metrics import label_metrics
from stairs.tasks.parts.encoder_features import pool_tokens
from stairs.tasks.parts.fine_tuning import LinearHead
from stairs.tasks.parts.rows import EncodedInput
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch
from stairs.text.examples import LabelledText


class Classify(Supervised):
    """Pooled token vectors, then a linear layer. `labels` are the names, `counts` how often each was seen in training."""

    name = "classify"
    example_kind = "classify"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        """What the labels decide."""
        counts = Counter(example.label for example in examples)
        if len(counts) < 2:
            raise BadInput(f"{examples[0].where}: all {len(examples)} examples have the label {next(iter(counts))!r}; at least two are needed")
        return {"labels": sorted(counts), "counts": [counts[label] for label in sorted(counts)]}

    @property
    def labels(self) -> list[str]:
        return self.settings["labels"]

    @property
    def pooling(self) -> Pooling:
        usual = self.model.default_pooling if self.transfer.trains_encoder and self.transfer.insert == "head" else "mean"
        return self.transfer.pooling or usual

    def new_head(self) -> nn.Module:
        return LinearHead(self.width, len(self.labels), self.transfer)

    def rows(self, examples: Sequence[LabelledText]) -> list[EncodedInput]:
        form = self.input_format
        texts = self.encode_texts([example.text for example in examples], [example.where for example in examples])
        found = [form.encode_one(ids, number) for number, ids in enumerate(texts)]
        self.note_truncation(form, len(found))
        return self.add_targets(found, examples)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        known = {label: number for number, label in enumerate(self.labels)}
        for row in rows:
            label = examples[row.example].label
            if label and label not in known:
                came = f"the label {label!r} was not in the training file, which had {', '.join(self.labels[:8])}"
                raise BadInput(f"{examples[row.example].where}: {came}; correct it, or train with it")
            row.target = known.get(label, 0)
        return rows

    def encode(self, batch: Batch) -> Tensor:
        alone = self.pooling == "cls" and self.feature_extractor.is_plain
        return self.model.encode_cls(batch) if alone else super().encode(batch)

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.pooling == "cls" and (self.feature_extractor.reads_words or self.feature_extractor.mixes):
            return hidden[:, 0]  # the pooler knows the last layer only
        return pool_tokens(hidden, batch, self.model, self.pooling, self.tokenizer.special_ids)

    def targets(self, rows: Sequence[EncodedInput], length: int) -> dict[str, Tensor]:
        return {"labels": torch.tensor([row.target for row in rows])}

    def summed_loss(self, said: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None
        return cross_entropy(said, batch.labels, self.weights(said), reduction="sum"), len(batch.labels)

    def weights(self, like: Tensor) -> Tensor | None:
        """Of each label, if rare ones shall count as much as frequent ones; on the whole of all examples their mean is 1."""
        if self.transfer.class_weights != "balanced":
            return None
        counts = torch.tensor(self.settings["counts"], dtype=torch.float32, device=like.device)
        return counts.sum() / (len(counts) * counts)

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        probabilities = softmax(np.stack(said))
        truth = [examples[row.example].label for row in rows]
        right = np.array([probabilities[i, self.labels.index(label)] for i, label in enumerate(truth)])
        surprise = float(-np.log(np.maximum(right, 1e-12)).mean())
        return {**label_metrics(truth, self.predictions(examples, rows, said)), "nll": surprise}

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> list[Any]:
        return [self.labels[i] for i in np.stack(said).argmax(1)]

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], said: list[np.ndarray]) -> dict[str, Any]:
        return classification_report([examples[row.example].label for row in rows], softmax(np.stack(said)), self.labels)

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """What the linear layer sees of each text, (N, D)."""
        rows = self.rows([LabelledText(text, "") for text in texts])
        return np.stack(self.run_rows(rows, lambda batch: self.head.standardize(self.features(batch))))  # type: ignore[operator]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """P(label | text), (N, labels)."""
        return softmax(np.stack(self.logits(self.rows([LabelledText(text, "") for text in texts]))))

    def answer(self, text: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        return {"text": text, **self.label_answer(self.probabilities([text])[0])}

    def label_answer(self, probabilities: np.ndarray) -> dict[str, Any]:
        ranked = np.argsort(-probabilities, kind="stable")
        return {"label": self.labels[ranked[0]], "probabilities": {self.labels[i]: float(probabilities[i]) for i in ranked}}


def softmax(logits: np.ndarray) -> np.ndarray:
    grown = np.exp(logits - logits.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)
