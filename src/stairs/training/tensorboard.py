"""TensorBoard's logs of a training, where they are asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stairs.errors import BadInput

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard:
    """The numbers of metrics.jsonl as curves; those after the step that a run resumes from are drawn again."""

    def __init__(self, folder: Path, step: int) -> None:
        self.writer = require_tensorboard()(str(folder / "tensorboard"), purge_step=step + 1)

    def add_scalars(self, step: int, row: Mapping[str, object]) -> None:
        for name, value in row.items():
            number = value.get("value") if isinstance(value, dict) else value
            if isinstance(number, float):
                is_validation = name == "loss" and isinstance(value, dict)  # the loss of the updates is another curve
                self.writer.add_scalar("validation_loss" if is_validation else name, number, step)
        self.writer.flush()


def require_tensorboard() -> "type[SummaryWriter]":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise BadInput("--tensorboard needs the package tensorboard; install it with pip install tensorboard, or leave the flag out") from None
    return SummaryWriter
