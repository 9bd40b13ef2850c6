"""Which layers of an encoder a task reads, how they are mixed and brought to one scale, and the linear head on top.

Peters et al. 2018, "Deep contextualized word representations", section 3:

    mixed_k = gamma * sum over layers j of softmax(s)_j h_k,j          s and gamma are learnt with the task; lambda |s|^2 is added to the loss

s starts at 0 and gamma at 1. Their learning rate is `mix_lr_scale` times the head's: they are few, and at the head's rate they would hardly move.
With `mix_norm` each h_k,j is layer-normalized first, as the paper does where it helps. The layers of a frozen encoder are always standardized before
they are mixed.

The mix goes to the head as it is, or to a BiLSTM over word vectors:

    --insert input     [w_k, mixed_k] -> BiLSTM -> head
    --insert output    w_k -> BiLSTM, [h_k, mixed_k] -> head
    --insert both      both, each with a mix of its own
    --insert none      w_k -> BiLSTM -> head: the BiLSTM alone, for comparison

Features are brought to one scale, so that one learning rate fits all: mean 0 and deviation 1, or whitened.

    standardized = (x - mean) / deviation                 fitted once to examples, and stored with the run
    whitened     = standardized V (S + ridge)^-1/2 V^T    with V S V^T their covariance (Kessy, Lewin & Strimmer 2018: ZCA-cor)

The last V^T rotates the whitened features back, so that those of several layers can be added.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from stairs.errors import BadInput
from stairs.layers.dropout import Dropout
from stairs.layers.recurrent import Bidirectional
from stairs.models.base import Model
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.measurements import LayerMixWeights
from stairs.text.batch import Batch

WORD_WIDTH = 100  # of the BiLSTM's word vectors, if they do not come from a run
MIN_DEVIATION = 1e-6
RIDGE = 1e-3  # as a share of the mean eigenvalue: directions with much less variance than this are not amplified to 1
MIN_VARIANCE = 1e-6  # where all features are alike, as of texts that have unknown words only


class Standardize(nn.Module):
    mean: Tensor
    deviation: Tensor
    whitening: Tensor | None

    def __init__(self, width: int, whiten: bool) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))
        self.register_buffer("whitening", torch.eye(width) if whiten else None)

    def forward(self, features: Tensor) -> Tensor:
        standardized = (features - self.mean) / self.deviation
        return standardized if self.whitening is None else standardized @ self.whitening

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.mean.copy_(features.mean(0))
        self.deviation.copy_(features.std(0).clamp(min=MIN_DEVIATION))
        if self.whitening is not None:
            eigenvalues, eigenvectors = torch.linalg.eigh(torch.cov(((features - self.mean) / self.deviation).double().T))
            self.whitening.copy_((eigenvectors / (eigenvalues + RIDGE * eigenvalues.mean()).clamp(min=MIN_VARIANCE).sqrt()) @ eigenvectors.T)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Weight and bias of a linear layer that does the same to features that are not standardized."""
        weight = (weight if self.whitening is None else weight @ self.whitening.T) / self.deviation
        return weight.detach(), (bias - weight @ self.mean).detach()


def select_layers(layers: str | None, model: Model) -> list[int] | None:
    """The numbers of the layers that are read; None for the output of `model.encode`."""
    layers = layers or model.default_layers
    if layers is None or (layers == "last" and not model.depth):
        return None
    numbers = {"all": list(range(model.depth)), "last": [model.depth - 1]}.get(layers)
    if numbers is None:
        parts = layers.split(",")
        if not all(part.strip().lstrip("-").isdecimal() for part in parts):
            raise BadInput(f"--layers {layers} names no layers; give all, last, or numbers as in 1 or 0,2")
        numbers = [int(part) for part in parts]
    return [model.check_layer(number) for number in numbers or [0]]


class ScalarMix(nn.Module):
    """gamma * sum softmax(s)_j h_j of (..., layers, D). With a `width`, D, each layer is standardized first, see `fit_to`."""

    def __init__(self, layers: int, transfer: TransferOptions, width: int | None = None) -> None:
        super().__init__()
        self.s = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()), requires_grad=not transfer.fix_gamma)
        self.scales = nn.ModuleList() if width is None else nn.ModuleList(Standardize(width, transfer.whiten) for _ in range(layers))

    def forward(self, vectors: Tensor) -> Tensor:
        layers = vectors.unbind(-2)
        layers = tuple(scale(layer) for scale, layer in zip(self.scales, layers, strict=True)) if self.scales else layers
        weights = self.s.softmax(0)
        total = weights[0] * layers[0]
        for weight, layer in zip(weights[1:], layers[1:], strict=True):
            total = total + weight * layer
        return self.gamma * total

    def fit_to(self, vectors: Tensor) -> None:
        """`vectors` (N, layers, D)."""
        for scale, layer in zip(self.scales, vectors.unbind(1), strict=True):
            scale.fit_to(layer)  # type: ignore[operator]


class FeatureExtractor(nn.Module):
    """From a batch to what a head reads of each token, (B, T, `width`). `words` are those that the BiLSTM has vectors for, `token_text` spells an id.

    Where a head reads a mix, the layers come side by side, (B, T, layers * `width`). The task pools each, and `mix_layers` adds them up; pooling is
    linear, so the order does not matter, and pooled layers can be cached. A BiLSTM reads tokens, so for it those of each layer are cached."""

    def __init__(self, model: Model, transfer: TransferOptions, words: Sequence[str], token_text: Callable[[int], str]) -> None:
        super().__init__()
        self.layers, self.insert = select_layers(transfer.layers, model), transfer.insert
        self.rows = {word: number for number, word in enumerate(words, 1)}  # 0 is a word without a vector
        self.token_text = token_text
        self.mix_norm, self.vector_width = transfer.mix_norm, token_vector_width(model, self.layers)
        count = {"none": 0, "both": 2}.get(transfer.insert, 1) if self.layers is not None and len(self.layers) > 1 else 0
        standardizes = not (transfer.trains_encoder and model.is_transformer)
        self.mixes = nn.ModuleList(
            ScalarMix(len(self.layers or ()), transfer, self.vector_width if standardizes else None) for _ in range(count)
        )
        input_width = 0 if transfer.insert in ("none", "output") else self.vector_width
        output_width = self.vector_width if transfer.insert in ("output", "both") else 0
        self.dropout = Dropout(transfer.head_dropout)
        self.width = input_width
        if self.reads_words:
            self.words = nn.Embedding(len(words) + 1, transfer.word_width or WORD_WIDTH)
            self.bilstm = Bidirectional("lstm", self.words.embedding_dim + input_width, transfer.bilstm_width)
            self.width = transfer.bilstm_width + output_width

    @property
    def reads_words(self) -> bool:
        return self.insert != "head"

    @property
    def mixes_for_head(self) -> bool:
        return bool(self.mixes) and not self.reads_words

    @property
    def is_plain(self) -> bool:
        """Whether it gives the output of `model.encode` as it is."""
        return self.layers is None and not self.reads_words

    def forward(self, batch: Batch, model: Model) -> Tensor:
        vectors = self.encoder_vectors(batch, model)
        return self.read(vectors, batch) if self.reads_words else vectors

    def encoder_vectors(self, batch: Batch, model: Model) -> Tensor:
        """What the encoder alone gives, those of mixed layers side by side."""
        if self.insert == "none":
            return torch.zeros(*batch.ids.shape, 0)
        if self.mixes:
            return self.stack_layers(batch, model).flatten(-2)
        return model.encode(batch) if self.layers is None else model.hidden_states(batch)[self.layers[0]]

    def read(self, vectors: Tensor, batch: Batch) -> Tensor:
        """What the BiLSTM makes of the words and of what the encoder gives for them."""
        mixed = [mix(self.split_layers(vectors)).flatten(-2) for mix in self.mixes] or [vectors.float()]
        x = self.words(self.word_rows(batch))
        if self.insert in ("input", "both"):
            x = torch.cat([x, self.dropout(mixed[0])], -1)
        hidden: Tensor = self.bilstm(self.dropout(x), batch.real)
        return torch.cat([hidden, self.dropout(mixed[-1])], -1) if self.insert in ("output", "both") else hidden

    def stack_layers(self, batch: Batch, model: Model) -> Tensor:
        """The selected layers, (B, T, layers, D), normalized with `mix_norm`."""
        layers = model.hidden_states(batch)
        stacked = torch.stack([layers[number] for number in self.layers or ()], -2)
        return layer_norm(stacked, stacked.shape[-1:]) if self.mix_norm else stacked

    def mix_layers(self, vectors: Tensor) -> Tensor:
        """Layers side by side, (..., n * layers * D), to their mix, (..., n * D); other vectors stay as they are."""
        return self.mixes[0](self.split_layers(vectors)).flatten(-2) if self.mixes_for_head else vectors

    def split_layers(self, vectors: Tensor) -> Tensor:
        """(..., n, layers, D)"""
        return vectors.float().reshape(*vectors.shape[:-1], -1, len(self.layers or ()), self.vector_width)

    def fit_to(self, vectors: Tensor) -> None:
        """Standardize each layer that is mixed by such vectors, (N, n * layers * D)."""
        for mix in self.mixes:
            if mix.scales:
                mix.fit_to(self.split_layers(vectors).flatten(0, 1))  # type: ignore[operator]

    def word_rows(self, batch: Batch) -> Tensor:
        """The row of each token in the table of word vectors."""
        ids, positions = torch.unique(batch.ids, return_inverse=True)
        rows = [self.rows.get(self.token_text(number), 0) for number in ids.tolist()]
        return torch.tensor(rows, device=positions.device)[positions]

    def penalty(self) -> Tensor:
        """|s|^2 of all mixes."""
        return sum((mix.s.square().sum() for mix in self.mixes), torch.zeros(()))  # type: ignore[operator]

    @torch.no_grad()
    def reset(self, vectors: np.ndarray | None) -> None:
        """Equal weights, and initial word vectors if there are some."""
        for mix in self.mixes:
            nn.init.zeros_(mix.s)  # type: ignore[arg-type]
            nn.init.ones_(mix.gamma)  # type: ignore[arg-type]
        if vectors is not None:
            self.words.weight.copy_(torch.from_numpy(vectors))

    @torch.no_grad()
    def weights(self) -> list[LayerMixWeights]:
        """The weights of the layers for people; a mix whose weights are still equal is not trained."""
        weights: list[LayerMixWeights] = []
        for mix in self.mixes:
            shares = dict(zip(self.layers or [], mix.s.softmax(0).tolist(), strict=True))  # type: ignore[operator]
            weights.append({"gamma": mix.gamma.item(), "layers": shares, "is_trained": bool(mix.s.any())})  # type: ignore[operator]
        return weights


@torch.no_grad()
def token_vector_width(model: Model, layers: list[int] | None = None) -> int:
    """D of the token vectors of a model, or of one of its layers."""
    ids = torch.zeros(1, 2, dtype=torch.int64)
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), characters=torch.ones(1, 2, 3, dtype=torch.int64))
    if model.needs_trees:
        batch = replace(batch, tree_distances=torch.zeros(1, 2, 2, dtype=torch.int64), tree_depths=ids)
    return (model.encode(batch) if layers is None else model.hidden_states(batch)[layers[0]]).shape[-1]


class LinearHead(nn.Module):
    """Dropout, then one linear layer. The features of a frozen encoder, or of a mere table of vectors, come in any scale: `fit_to` standardizes them,
    so that one learning rate fits all. With little pretraining, vectors vary in a few directions only; whitened ones vary equally in all."""

    def __init__(self, width: int, outputs: int, transfer: TransferOptions) -> None:
        super().__init__()
        self.dropout = Dropout(transfer.head_dropout)
        self.linear = nn.Linear(width, outputs)
        self.standardize = Standardize(width, transfer.whiten)

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.linear(self.dropout(self.standardize(features)))
        return logits

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.standardize.fit_to(features)

    def fold(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of a linear layer that does the same to features that are not standardized."""
        return self.standardize.fold(self.linear.weight, self.linear.bias)
