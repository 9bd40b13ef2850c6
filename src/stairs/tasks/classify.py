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
from stairs.tasks.classification_report import report
from stairs.tasks.metrics import labels_scored
from stairs.tasks.parts.encoder_features import pooled
from stairs.tasks.parts.fine_tuning import Linear
from stairs.tasks.parts.rows import Row
from stairs.tasks.parts.supervised import Supervised
from stairs.text.batch import Batch
from stairs.text.examples import Text


class Classify(Supervised):
    """Pooled token vectors, then a linear layer. `labels` are the names, `counts` how often each was seen in training."""

    name = "classify"
    asks = "classify"

    @classmethod
    def learned_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
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
        usual = self.model.pools if self.transfer.trains_encoder and self.transfer.place == "head" else "mean"
        return self.transfer.pooling or usual  # type: ignore[return-value]

    def new_head(self) -> nn.Module:
        return Linear(self.width, len(self.labels), self.transfer)

    def rows(self, examples: Sequence[Text]) -> list[Row]:
        form = self.form
        texts = self.encoded([example.text for example in examples], [example.where for example in examples])
        found = [form.one(ids, number) for number, ids in enumerate(texts)]
        self.tell(form, len(found))
        return self.targeted(found, examples)

    def targeted(self, rows: list[Row], examples: Sequence[Any]) -> list[Row]:
        known = {label: number for number, label in enumerate(self.labels)}
        for row in rows:
            label = examples[row.example].label
            if label and label not in known:
                came = f"the label {label!r} was not in the training file, which had {', '.join(self.labels[:8])}"
                raise BadInput(f"{examples[row.example].where}: {came}; correct it, or train with it")
            row.target = known.get(label, 0)
        return rows

    def encode(self, batch: Batch) -> Tensor:
        first = getattr(self.model, "encode_first", None)
        alone = self.pooling == "cls" and self.reading.plain
        return first(batch) if first is not None and alone else super().encode(batch)

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        if self.pooling == "cls" and (self.reading.reads_words or self.reading.mixes):
            return hidden[:, 0]  # the pooler knows the last layer only
        return pooled(hidden, batch, self.model, self.pooling, self.tokenizer.special)

    def targets(self, rows: Sequence[Row], length: int) -> dict[str, Tensor]:
        return {"labels": torch.tensor([row.target for row in rows])}

    def surprise(self, said: Tensor, batch: Batch) -> tuple[Tensor, int]:
        assert batch.labels is not None
        return cross_entropy(said, batch.labels, self.weights(said), reduction="sum"), len(batch.labels)

    def weights(self, like: Tensor) -> Tensor | None:
        """Of each label, if rare ones shall count as much as frequent ones; on the whole of all examples their mean is 1."""
        if self.transfer.class_weights != "balanced":
            return None
        counts = torch.tensor(self.settings["counts"], dtype=torch.float32, device=like.device)
        return counts.sum() / (len(counts) * counts)

    def scored(self, examples: Sequence[Any], rows: list[Row], said: list[np.ndarray]) -> dict[str, Any]:
        chances = softmax(np.stack(said))
        truth = [examples[row.example].label for row in rows]
        right = np.array([chances[i, self.labels.index(label)] for i, label in enumerate(truth)])
        surprise = float(-np.log(np.maximum(right, 1e-12)).mean())
        return {**labels_scored(truth, self.predictions(examples, rows, said)), "surprise": surprise}

    def predictions(self, examples: Sequence[Any], rows: list[Row], said: list[np.ndarray]) -> list[Any]:
        return [self.labels[i] for i in np.stack(said).argmax(1)]

    def details(self, examples: Sequence[Any], rows: list[Row], said: list[np.ndarray]) -> dict[str, Any]:
        return report([examples[row.example].label for row in rows], softmax(np.stack(said)), self.labels)

    def text_features(self, texts: Sequence[str]) -> np.ndarray:
        """What the linear layer sees of each text, (N, D)."""
        rows = self.rows([Text(text, "") for text in texts])
        return np.stack(self.of_each(rows, lambda batch: self.head.scaled(self.features(batch))))  # type: ignore[operator]

    def chances(self, texts: Sequence[str]) -> np.ndarray:
        """P(label | text), (N, labels)."""
        return softmax(np.stack(self.said(self.rows([Text(text, "") for text in texts]))))

    def answer(self, text: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        return {"text": text, **self.named(self.chances([text])[0])}

    def named(self, chances: np.ndarray) -> dict[str, Any]:
        ranked = np.argsort(-chances, kind="stable")
        return {"label": self.labels[ranked[0]], "chances": {self.labels[i]: float(chances[i]) for i in ranked}}


def softmax(logits: np.ndarray) -> np.ndarray:
    grown = np.exp(logits - logits.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)
