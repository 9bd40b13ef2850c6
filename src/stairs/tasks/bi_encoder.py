"""BiEncoder: how alike two texts are, as the cosine of their vectors, each read by itself.

Reimers & Gurevych 2019, "Sentence-BERT", section 3, the regression objective:

    u, v  = the mean of the token vectors of each text, or that of [CLS]
    score = slope cos(u, v) + offset          learnt by least squares, on the scale of the training file

The tuned encoder gives vectors like the one it began as: `embed`, `nearest_ids` by texts and the folder of sentence-transformers use them as they
are.

Departures: in the paper slope is 1 and offset 0. Ours begin with the least squares of the untuned cosines, so that training begins where the untuned
encoder stands instead of first spreading its cosines over the scale.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from stairs.errors import BadInput
from stairs.models.bert import BERT
from stairs.models.transfer_options import Pooling
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.parts.encoder_features import ROWS_TO_STANDARDIZE, concatenate
from stairs.tasks.parts.rows import LabelledRows
from stairs.text.batch import Batch


class BiEncoder(Compare):
    """Scores of pairs through the cosine of an encoder that is a sentence encoder afterwards, too."""

    name = "bi-encoder"
    head: "Cosine"

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
        return Cosine()

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        found = self.text_vector(hidden, batch)
        return found if batch.source is None else torch.cat([found, self.text_vector(self.encode(batch.source), batch.source)], -1)

    def text_vector(self, hidden: Tensor, batch: Batch) -> Tensor:
        """(B, D), as a sentence encoder makes it: that of [CLS] without the pooler, which is for labels."""
        return hidden[:, 0] if self.pooling == "cls" else super().pool(hidden, replace(batch, source=None))

    def combine(self, vectors: Tensor, batch: Batch) -> Tensor:
        return vectors

    def examples(self, shards: Any, split: str = "train") -> LabelledRows:
        found = super().examples(shards, split)
        if split == "train" and self.transfer.trains_encoder and hasattr(self.model, "blocks"):  # the others are brought to scale in any case
            self.fit_scales(found)
        return found

    def fit_scales(self, given: LabelledRows) -> None:
        """The slope and the offset of the untuned cosines."""
        step = max(len(given.rows) // ROWS_TO_STANDARDIZE, 1)
        rows = given.rows[::step]
        vectors = self.compute_vectors(rows) if given.vectors is None else given.vectors[::step]
        self.feature_extractor.fit_to(concatenate(vectors))
        features = concatenate(self.run_rows(rows, self.features, vectors=vectors))
        self.head.fit_to(features, torch.tensor([row.target for row in rows]))

    @property
    def training_defaults(self) -> dict[str, Any]:  # type: ignore[override]
        if self.transfer.trains_encoder:
            return super().training_defaults
        return {**super().training_defaults, "epochs": 1.0, "min_updates": 0}  # the two numbers of the head are right to begin with

    @functools.cached_property
    def sentence_encoder(self) -> Encode:
        """The same encoder as a task of its own."""
        return Encode(self.model, self.tokenizer, pooling="cls" if self.pooling == "cls" else "mean", max_length=self.transfer.max_length)

    def vectors(self, texts: list[str], encode: Callable[[Batch], Tensor] | None = None) -> np.ndarray:
        if isinstance(self.model, BERT) and self.feature_extractor.is_plain:
            return self.sentence_encoder.vectors(texts, encode)
        form = self.input_format
        rows = [form.encode_one(ids, number) for number, ids in enumerate(self.encode_texts(texts, [""] * len(texts)))]
        return np.stack(self.run_rows(rows, self.features)) if rows else np.zeros((0, 0), np.float32)


class Cosine(nn.Module):
    """slope cos(u, v) + offset, of (..., 2 D) to (..., 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(()))
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, both: Tensor) -> Tensor:
        return (self.slope * self.cosine(both) + self.offset)[..., None]

    def cosine(self, both: Tensor) -> Tensor:
        first, second = both.chunk(2, -1)
        return cosine_similarity(first, second, dim=-1)

    @torch.no_grad()
    def fit_to(self, both: Tensor, scores: Tensor) -> None:
        """Least squares; a slope below 0 would turn the encoder round, and one of 0 teach it nothing."""
        cosines = self.cosine(both).double()
        spread = (cosines - cosines.mean()).square().sum()
        slope = float(((cosines - cosines.mean()) * scores).sum() / spread) if spread > 0 else 1.0
        self.slope.fill_(slope if slope > 0 else 1.0)
        self.offset.fill_(float(scores.mean() - self.slope * cosines.mean()))
