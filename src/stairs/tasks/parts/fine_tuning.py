"""How fast and for how long a task is learnt on top of an encoder, if nobody says."""

from typing import TYPE_CHECKING, TypedDict

from stairs.models.transfer_options import TransferOptions

if TYPE_CHECKING:
    from stairs.models.base import Model

REFERENCE_WIDTH = 768  # of the model that the learning rates below were found for
FULL_RATE, TABLE_RATE, HEAD_RATE = 5e-5, 1e-3, 2e-3
MIN_UPDATES = 200  # 500 tagged sentences and MiniLM: accuracy 0.772 after 45 updates, 0.921 after 150, 0.932 after 300, 0.929 after 345


class TrainingDefaults(TypedDict):
    """Of a task that learns from labelled examples."""

    epochs: float
    batch_examples: int
    min_updates: int  # where so few examples would give fewer, there are more epochs


def default_learning_rate(model: "Model", transfer: TransferOptions) -> float:
    """The peak learning rate: the paper's for an encoder as wide as the paper's, larger for a narrower one."""
    if not transfer.trains_encoder:
        return HEAD_RATE
    if transfer.transfer == "scratch" and model.learns_by == "gradient":
        return model.learning_rate
    if not model.is_transformer:
        return TABLE_RATE
    return FULL_RATE * REFERENCE_WIDTH / float(model.config.width)


def epochs_for_updates(updates_per_epoch: int, default: float = 3.0, minimum: int = MIN_UPDATES) -> float:
    """How many epochs to train: the default, or more where the examples are so few that it would make less than `minimum` updates. Early stopping on
    validation examples ends what needs fewer."""
    return max(default, round(minimum / max(updates_per_epoch, 1), 1))
