"""What the transfer options mean for an encoder: which of its weights are trained, how fast and for how long; and the linear head on top."""

import re

from torch import Tensor, nn

from stairs.errors import BadInput, Unsupported
from stairs.layers.dropout import Dropout
from stairs.models.base import Model
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.standardize import Standardize

OUTPUT_LAYERS = ("word_head.", "next_head.", "output.", "output_", "contexts", "decoder")  # they predict words and take no part in encoding
MIN_LENGTH = 8  # tokens of a row
REFERENCE_WIDTH = 768  # of the model that the learning rates below were found for
FULL_RATE, TABLE_RATE, HEAD_RATE = 5e-5, 1e-3, 2e-3
MIN_UPDATES = 200  # 500 tagged sentences and MiniLM: accuracy 0.772 after 45 updates, 0.921 after 150, 0.932 after 300, 0.929 after 345
RANGES = (("layer_decay", 0, 1), ("auxiliary_weight", 0, 100), ("head_dropout", 0, 0.99), ("mix_penalty", 0, 1e6), ("mix_lr_scale", 0, 1000))


def check_transfer(transfer: TransferOptions, model: Model) -> None:
    """Refuse options that contradict one another or the model."""
    if not model.encodes:
        raise Unsupported(f"{model.name} has no token vectors to learn a task from; try {model.models_that_encode}")
    for name, low, high in RANGES:
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
    """All weights that may be trained, under the names that checkpoints store them by. A frozen encoder has no dropout either."""

    def __init__(self, model: Model, head: nn.Module, transfer: TransferOptions) -> None:
        super().__init__()
        self.head = head
        self.is_frozen = not transfer.trains_encoder
        self.has_encoder = transfer.transfer != "features"
        if self.has_encoder:
            self.model = model
        for name, weight in model.named_parameters():
            weight.requires_grad_(is_trained(name, model, transfer))

    def train(self, mode: bool = True) -> "TrainedModule":
        super().train(mode)
        if self.is_frozen and self.has_encoder:
            self.model.eval()
        return self


def is_trained(name: str, model: Model, transfer: TransferOptions) -> bool:
    """Whether a weight of the encoder is trained."""
    if not transfer.trains_encoder or (name.startswith(OUTPUT_LAYERS) and not (model.has_auxiliary_loss and transfer.auxiliary_weight)):
        return False
    depth, deepest = layer_depth(name, model)
    return transfer.transfer == "full" or depth > deepest - transfer.top_layers


def layer_depth(name: str, model: Model) -> tuple[int, int]:
    """The layer of a weight, counted from the embeddings, and that of the last block; what comes after the blocks counts as the last."""
    deepest = model.block_count
    block = re.match(r"blocks\.(\d+)\.", name)
    if block:
        return int(block[1]) + 1, deepest
    return 0 if name.startswith(model.embedding_layers) else deepest, deepest


def encoder_lr_scales(model: Model, transfer: TransferOptions) -> dict[str, float]:
    """The learning rate of each weight of the encoder as a share of the head's, by its name in the trained module."""
    scales = {}
    for name, _ in model.named_parameters():
        depth, deepest = layer_depth(name, model)
        scales[f"model.{name}"] = transfer.layer_decay ** (deepest - depth + 1)
    return scales


def default_learning_rate(model: Model, transfer: TransferOptions) -> float:
    """The peak learning rate: the paper's for an encoder as wide as the paper's, larger for a narrower one."""
    if not transfer.trains_encoder:
        return HEAD_RATE
    if not model.is_transformer:
        return TABLE_RATE
    return FULL_RATE * REFERENCE_WIDTH / float(model.config.width)


def epochs_for_updates(updates_per_epoch: int, default: float = 3.0, minimum: int = MIN_UPDATES) -> float:
    """How many epochs to train: the default, or more where the examples are so few that it would make less than `minimum` updates. Early stopping on
    validation examples ends what needs fewer."""
    return max(default, round(minimum / max(updates_per_epoch, 1), 1))


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
