"""What models with a softmax over the vocabulary share: `LanguageModel`, and `EncoderDecoder` for those that read a source first."""

from typing import Self, cast

import torch
from torch import Tensor, nn

from stairs.fast.decode_state import DecodeState
from stairs.fast.int8 import Int8Linear
from stairs.fast.packed_linear import PackedLinear, for_inference
from stairs.fast.precision import Precision
from stairs.layers.vocabulary import linear_cross_entropy, linear_nll
from stairs.models.base import Model
from stairs.text.batch import IGNORE_INDEX, Batch


class LanguageModel(Model):
    """A hidden vector for each position, and an output layer that may be the table of token vectors."""

    predicts = True
    generates = True
    tokens: nn.Embedding
    output: nn.Module | None  # None: the table of token vectors
    label_smoothing = 0.0  # see `linear_cross_entropy`; in training only

    def hidden(self, batch: Batch) -> Tensor:
        """What the output layer reads, (B, T, D)."""
        raise NotImplementedError

    def logits(self, hidden: Tensor) -> Tensor:
        return nn.functional.linear(hidden, self.tokens.weight) if self.output is None else self.output(hidden)

    @property
    def output_weight(self) -> Tensor:
        return self.tokens.weight if self.output is None else cast(Tensor, self.output.weight)

    def predict(self, batch: Batch) -> Tensor:
        return self.logits(self.hidden(batch))

    def loss(self, batch: Batch, hidden: Tensor | None = None) -> Tensor:
        """`hidden`: what `self.hidden` gives for the batch, if it is known."""
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        smoothing = self.label_smoothing if self.training else 0.0
        hidden = self.hidden(batch) if hidden is None else hidden
        return linear_cross_entropy(hidden[has_target], self.output_weight, None, batch.targets[has_target], smoothing) / has_target.sum()

    @torch.no_grad()
    def log_likelihood(self, batch: Batch) -> Tensor:
        assert batch.targets is not None
        has_target = batch.targets != IGNORE_INDEX
        nll = linear_nll(self.hidden(batch)[has_target], self.output_weight, None, batch.targets[has_target])
        return torch.zeros(has_target.shape, device=has_target.device).masked_scatter(has_target, -nll)

    def decode_step(self, ids: Tensor, state: DecodeState | None = None) -> tuple[Tensor, DecodeState]:
        return self.prefill(ids[:, None], state)

    def for_inference(self, precision: Precision = "fp32") -> Self:
        """A copy that gives the same answers faster: weights laid out anew, and in bf16 or int8 rounded. The output layer, most of the work,
        gains most."""
        copy = for_inference(self, precision)
        if self.output is None:
            copy.output = (Int8Linear if precision == "int8" else PackedLinear)(copy.tokens.weight)
        return copy


class EncoderDecoder(LanguageModel):
    """A language model of targets that reads a source first: `batch.source`."""

    is_encoder_decoder = True
    encodes = True
    reads_context = True
    pretrains_with = "translate"
    adds_end_token = True

    def initial_state(self, source: Batch, beam_size: int = 1, length: int | None = None) -> DecodeState:
        """The state before the first token, one row for each source, with room for `beam_size` hypotheses of `length` tokens each: the first
        `reorder` repeats the rows."""
        raise NotImplementedError

    def alignment(self, batch: Batch) -> Tensor | None:
        """How much each target position attends to each token of the source, (B, T, S); None for a model without attention."""
        return None
