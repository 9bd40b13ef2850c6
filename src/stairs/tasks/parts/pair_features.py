"""What a head reads of two texts.

    BERT and GPT read both at once:       v = the vector of [CLS] first [SEP] second [SEP]
    the others read them apart:           (u, v, |u - v|, u v), as Conneau et al. 2017 ("InferSent")
    GPT with `--both-orders`:             v(first, second) + v(second, first)

A GPT reads from left to right, so its vector depends on which text comes first. Radford et al. 2018, section 3.3, read two similar texts in both
orders and add the two vectors before the linear layer.

Departures: the language-model loss that a GPT is trained on besides is that of the first order alone.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from stairs.errors import BadInput
from stairs.models.base import Model
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.encoder_features import EncodedInput
from stairs.tasks.parts.text_vector import TextVector
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer


class PairFeatures(TextVector):
    """Rows of two texts, and how their vectors become what the head reads."""

    def __init__(self, model: Model, tokenizer: Tokenizer, transfer: TransferOptions | None = None, **settings: Any) -> None:
        check_both_orders(transfer or TransferOptions(), model)
        super().__init__(model, tokenizer, transfer, **settings)

    @property
    def is_cross_encoder(self) -> bool:
        """Whether the encoder reads both texts at once."""
        return self.model.takes_pairs and self.transfer.trains_encoder

    @property
    def feature_width(self) -> int:
        """How many numbers the head reads."""
        return self.width * (1 if self.is_cross_encoder else 4)

    def pair_rows(self, first: Sequence[str], second: Sequence[str], where: Sequence[str], numbers: Sequence[int]) -> list[EncodedInput]:
        """A row for each two texts; `numbers` are those of the examples that they are from."""
        form = self.input_format
        encode = form.encode_pair if self.is_cross_encoder else form.encode_apart
        pairs = zip(self.encode_texts(first, where), self.encode_texts(second, where), numbers, strict=True)
        rows = []
        for a, b, number in pairs:
            row = encode(a, b, number)
            if self.transfer.both_orders:
                row.second = form.encode_pair(b, a).ids
            rows.append(row)
        self.note_truncation(form, len(rows))
        return rows

    def pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        u = super().pool(hidden, batch)
        return u if batch.source is None else torch.cat([u, super().pool(self.encode(batch.source), batch.source)], -1)

    def combine(self, vectors: Tensor, batch: Batch) -> Tensor:
        if batch.source is None:
            return vectors
        u, v = vectors.chunk(2, -1)
        return u + v if self.transfer.both_orders else torch.cat([u, v, (u - v).abs(), u * v], -1)


def check_both_orders(transfer: TransferOptions, model: Model) -> None:
    """Refuse `--both-orders` where the order of two texts says nothing, or where they are not read in one row."""
    if not transfer.both_orders:
        return
    if not model.takes_pairs or model.default_pooling != "last":
        raise BadInput(f"--both-orders is for models that read two texts from left to right, such as gpt, and this is {model.name}; leave it out")
    if not transfer.trains_encoder:
        raise BadInput(f"--both-orders needs --transfer full or top, and with --transfer {transfer.transfer} each text is read alone")
