"""What a transfer means for an encoder: which of its weights learn, and how fast. `models/transfer_options.py` says which ways there are."""

import re

from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.layers.dropout import Dropout
from stairs.models.base import Model
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.standardize import Standardize

OUTPUT_LAYERS = ("word_head.", "next_head.", "output.", "output_", "contexts", "decoder")  # parts that name words and take no part in encoding
MIN_LENGTH = 8  # tokens of a row
REFERENCE_WIDTH = 768  # of the model that the rates below were found for
FULL_RATE, TABLE_RATE, HEAD_RATE = 5e-5, 1e-3, 2e-3


def check_transfer(transfer: TransferOptions, model: Model) -> None:
    """Refuse what cannot be."""
    if not model.encodes:
        raise Unsupported(f"{model.name} has no token vectors to learn a task from; try {model.models_that_encode}")
    for name, low, high in (("layer_decay", 0, 1), ("auxiliary_weight", 0, 100), ("head_dropout", 0, 0.99), ("mix_penalty", 0, 1e6), ("mix_lr_scale",
        0, 1000)):
        if not low <= getattr(transfer, name) <= high:
            raise BadInput(f"--{name.replace('_', '-')} {getattr(transfer, name)} is not between {low} and {high}")
    if transfer.transfer == "auto":
        raise BadInput("--transfer auto chooses among trained tasks, and this is one of them; give full, top, frozen or features")
    if transfer.max_length is not None and transfer.max_length < MIN_LENGTH:
        raise BadInput(f"--max-length {transfer.max_length} is below {MIN_LENGTH}")
    if transfer.whiten and transfer.transfer != "features":
        raise BadInput(f"--whiten is for --transfer features, and this is --transfer {transfer.transfer}")
    if transfer.transfer == "features" and transfer.insert != "head":
        raise BadInput(f"--insert {transfer.insert} trains a BiLSTM over words, and --transfer features trains only a head; use --transfer frozen")
    blocks = model.block_count
    if transfer.transfer == "top" and not 1 <= transfer.top_layers <= blocks:
        has = f"it has {blocks} blocks" if blocks else "it has no blocks; use --transfer full or features"
        raise BadInput(f"--top-layers {transfer.top_layers} of {model.name}: {has}")


class TrainedModule(nn.Module):
    """All that may learn, under the names in which checkpoints keep it. An encoder that does not learn does not drop out either."""

    def __init__(self, model: Model, head: nn.Module, transfer: TransferOptions) -> None:
        super().__init__()
        self.head = head
        self.is_frozen = not transfer.trains_encoder
        if transfer.transfer != "features":
            self.model = model
        for name, weight in model.named_parameters():
            weight.requires_grad_(is_trained(name, model, transfer))

    def train(self, mode: bool = True) -> "TrainedModule":
        super().train(mode)
        if self.is_frozen and hasattr(self, "model"):
            self.model.eval()
        return self


def is_trained(name: str, model: Model, transfer: TransferOptions) -> bool:
    if not transfer.trains_encoder or (name.startswith(OUTPUT_LAYERS) and not (model.name == "gpt" and transfer.auxiliary_weight)):
        return False
    depth, deepest = layer_depth(name, model)
    return transfer.transfer == "full" or depth > deepest - transfer.top_layers


def layer_depth(name: str, model: Model) -> tuple[int, int]:
    """How far above the table of tokens a weight stands, and how far the last block does; what comes after the blocks stands with it."""
    deepest = model.block_count
    block = re.match(r"blocks\.(\d+)\.", name)
    if block:
        return int(block[1]) + 1, deepest
    below = name.startswith(("tokens.", "positions.", "segments.", "vectors", "ngrams")) or (model.name == "bert" and name.startswith("norm."))
    return 0 if below else deepest, deepest


def encoder_lr_scales(model: Model, transfer: TransferOptions) -> dict[str, float]:
    """How many times as fast as the head each weight of the encoder learns, by its name in the learner."""
    found = {}
    for name, _ in model.named_parameters():
        depth, deepest = layer_depth(name, model)
        found[f"model.{name}"] = transfer.layer_decay ** (deepest - depth + 1)
    return found


def default_learning_rate(model: Model, transfer: TransferOptions) -> float:
    """The highest learning rate: the paper's for an encoder as wide as the paper's, larger for a narrower one."""
    if not transfer.trains_encoder:
        return HEAD_RATE
    if not model.is_transformer:
        return TABLE_RATE
    return FULL_RATE * REFERENCE_WIDTH / model.config.width


class LinearHead(nn.Module):
    """The usual head: dropout, then one linear layer. Features of an encoder that does not learn, or is but a table, come in any size; `fit_to`
    standardizes them, so that one learning rate fits all. The vectors of an encoder that has read little differ in a few directions only; `whiten`
    ones differ as much in all."""

    def __init__(self, width: int, outputs: int, transfer: TransferOptions) -> None:
        super().__init__()
        self.dropout = Dropout(transfer.head_dropout)
        self.linear = nn.Linear(width, outputs)
        self.standardize = Standardize(width, transfer.whiten)

    def forward(self, features: Tensor) -> Tensor:
        return self.linear(self.dropout(self.standardize(features)))

    def fit_to(self, features: Tensor) -> None:
        """`features` (N, D)."""
        self.standardize.fit_to(features)

    def fold(self) -> tuple[Tensor, Tensor]:
        """Weight and bias that do the same to features as they come."""
        return self.standardize.fold(self.linear.weight, self.linear.bias)
