"""Compare: how two texts relate, as a label or as a score.

P(label | first, second) = softmax(W v + b),   v what the head reads of the two texts, see `parts/pair_features.py`

A score is learnt by least squares, on the scale of the training file.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from stairs.errors import BadInput
from stairs.tasks.answers import Answer
from stairs.tasks.classifier import softmax
from stairs.tasks.classify import Classify
from stairs.tasks.measurements import Measurements
from stairs.tasks.metrics import correlation_metrics
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.layer_mix import LinearHead
from stairs.tasks.parts.pair_features import PairFeatures
from stairs.text.batch import Batch
from stairs.text.examples import TextPair


class Compare(PairFeatures, Classify):
    """Its settings are the names of the labels, or none if the examples have scores: then `low` and `high` are the ends of the scale."""

    name = "compare"
    example_kind = "compare"
    takes_pairs = True
    gives_labels = False
    has_text_features = False

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        if examples[0].score is None:
            return super().settings_from(examples)
        scores = [example.score for example in examples]
        if min(scores) == max(scores):
            raise BadInput(f"{examples[0].where}: all {len(scores)} pairs have the score {scores[0]:g}; there is nothing to learn")
        return {"labels": [], "low": min(scores), "high": max(scores)}

    def new_head(self) -> nn.Module:
        return LinearHead(self.feature_width, len(self.labels) or 1, self.transfer)

    def rows(self, examples: Sequence[Any]) -> list[EncodedInput]:
        first, second = [example.first for example in examples], [example.second for example in examples]
        return self.add_targets(self.pair_rows(first, second, [example.where for example in examples], range(len(examples))), examples)

    def add_targets(self, rows: list[EncodedInput], examples: Sequence[Any]) -> list[EncodedInput]:
        if self.labels:
            return super().add_targets(rows, examples)
        low, high = self.settings["low"], self.settings["high"]
        for row in rows:
            score = examples[row.example].score
            row.target = 0.0 if score is None else (score - low) / (high - low)
        return rows

    def summed_loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, int]:
        if self.labels:
            return super().summed_loss(logits, batch)
        assert batch.labels is not None
        return mse_loss(logits[:, 0], batch.labels.float(), reduction="sum"), len(batch.labels)

    def metrics_from(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        if self.labels:
            return super().metrics_from(examples, rows, logits)
        gold = np.array([examples[row.example].score for row in rows])
        return correlation_metrics(gold, np.array(self.predictions(examples, rows, logits)))

    def predictions(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> list[Any]:
        if self.labels:
            return super().predictions(examples, rows, logits)
        low, high = self.settings["low"], self.settings["high"]
        scores: list[float] = (low + (high - low) * np.stack(logits)[:, 0].astype(np.float64)).tolist()
        return scores

    def details(self, examples: Sequence[Any], rows: list[EncodedInput], logits: list[np.ndarray]) -> Measurements:
        return super().details(examples, rows, logits) if self.labels else {}

    def answer(self, text: str, *, second: str | None = None) -> Answer:
        """Of two texts; within one text, a tab separates them."""
        first, tab, after = text.partition("\t")
        if second is None and not tab:
            raise BadInput("only one text was given and two are compared; give the other with --second, or after a tab")
        pair = TextPair(first, second if second is not None else after)
        logits = self.logits(self.rows([pair]))[0]
        texts = {"first": pair.first, "second": pair.second}
        if self.labels:
            return {**texts, **self.label_answer(softmax(logits))}
        return {**texts, "score": self.predictions([pair], [], [logits])[0]}

    def summary(self, answer: Answer) -> str:
        return str(answer["label"]) if self.labels else f"{answer['score']:.4f}"
