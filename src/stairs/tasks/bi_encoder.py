"""BiEncoder: how similar two texts are, as the cosine of their vectors, each read by itself.

Reimers & Gurevych 2019, "Sentence-BERT", section 3, the regression objective:

    u, v  = the mean of the token vectors of each text, or that of [CLS]
    score = slope cos(u, v) + offset          learnt by least squares, on the scale of the training file

The tuned encoder is a sentence encoder: `embed`, `near` and the export to sentence-transformers use its vectors as they are.

Departures: in the paper slope is 1 and offset 0. Ours start from a least-squares fit of the untuned cosines, so that training does not first have to
spread the cosines over the scale.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from stairs.data import TrainingData
from stairs.errors import BadInput
from stairs.models.transfer_options import Pooling
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.parts.encoder_features import ROWS_TO_STANDARDIZE, LabelledRows, concatenate
from stairs.tasks.parts.fine_tuning import TrainingDefaults
from stairs.tasks.task import Encoder
from stairs.text.batch import Batch


class BiEncoder(Compare):
    """Scores of pairs through the cosine of two vectors; afterwards the encoder is a sentence encoder."""

    name = "bi-encoder"
    has_confusion = False
    head: "CosineHead"

    @classmethod
    def settings_from(cls, examples: Sequence[Any]) -> dict[str, Any]:
        if examples[0].score is None:
            raise BadInput(f"{examples[0].where}: the pairs have labels, and --head bi-encoder learns scores; leave --head out")
        return super().settings_from(examples)

    @property
    def is_cross_encoder(self) -> bool:
        return False

    @property
    def pooling(self) -> Pooling:
        return self.transfer.pooling or "mean"

    def new_head(self) -> nn.Module:
        return CosineHead()

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        u = self.text_vector(hidden, batch)
        return u if batch.source is None else torch.cat([u, self.text_vector(self.encode(batch.source), batch.source)], -1)

    def text_vector(self, hidden: Tensor, batch: Batch) -> Tensor:
        """(B, D), as a sentence encoder makes it: that of [CLS] without the pooler, which is for labels."""
        return hidden[:, 0] if self.pooling == "cls" else super().pool(hidden, replace(batch, source=None))

    def combine(self, vectors: Tensor, batch: Batch) -> Tensor:
        return vectors

    def examples(self, data: TrainingData, split: str = "train") -> LabelledRows:
        labelled = super().examples(data, split)
        if split == "train" and not self.needs_scales:  # the others are fitted already
            self.fit_scales(labelled)
        return labelled

    def fit_scales(self, labelled: LabelledRows) -> None:
        """The slope and the offset that fit the untuned cosines best."""
        step = max(len(labelled.rows) // ROWS_TO_STANDARDIZE, 1)
        rows = labelled.rows[::step]
        vectors = self.compute_vectors(rows) if labelled.vectors is None else labelled.vectors[::step]
        self.feature_extractor.fit_to(concatenate(vectors))
        features = concatenate(self.run_rows(rows, self.features, vectors=vectors))
        self.head.fit_to(features, torch.tensor([row.target for row in rows]))

    @property
    def training_defaults(self) -> TrainingDefaults:  # type: ignore[override]
        if self.transfer.trains_encoder:
            return super().training_defaults
        return {**super().training_defaults, "epochs": 1.0, "min_updates": 0}  # the two weights of the head are fitted before training

    @functools.cached_property
    def sentence_encoder(self) -> Encode:
        """The same encoder as a task of its own."""
        return Encode(self.model, self.tokenizer, pooling="cls" if self.pooling == "cls" else "mean", max_length=self.transfer.max_length)

    def vectors(self, texts: list[str], encode: Encoder | None = None) -> np.ndarray:
        if self.model.pools_special_tokens and self.model.adds_end_token and self.feature_extractor.is_plain:  # it reads a text as `encode` does
            return self.sentence_encoder.vectors(texts, encode)
        form = self.input_format
        rows = [form.encode_one(ids, number) for number, ids in enumerate(self.encode_texts(texts, [""] * len(texts)))]
        return np.stack(self.run_rows(rows, self.features)) if rows else np.zeros((0, 0), np.float32)


class CosineHead(nn.Module):
    """slope cos(u, v) + offset, of [u, v] (..., 2 D) to (..., 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(()))
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, vectors: Tensor) -> Tensor:
        return (self.slope * self.cosine(vectors) + self.offset)[..., None]

    def cosine(self, vectors: Tensor) -> Tensor:
        first, second = vectors.chunk(2, -1)
        return cosine_similarity(first, second, dim=-1)

    @torch.no_grad()
    def fit_to(self, vectors: Tensor, scores: Tensor) -> None:
        """Least squares. A negative slope would reverse the encoder, and one of 0 has no gradient: both become 1."""
        cosines = self.cosine(vectors).double()
        variance = (cosines - cosines.mean()).square().sum()
        slope = float(((cosines - cosines.mean()) * scores).sum() / variance) if variance > 0 else 1.0
        self.slope.fill_(slope if slope > 0 else 1.0)
        self.offset.fill_(float(scores.mean() - self.slope * cosines.mean()))
