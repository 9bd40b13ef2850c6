"""TensorBoard's files beside the run's own metrics, for those who ask for them."""

from pathlib import Path
from typing import Any

from stairs.errors import BadInput


class TensorBoard:
    """The numbers of metrics.jsonl as curves; those after the step a run goes on from are drawn again."""

    def __init__(self, folder: Path, step: int) -> None:
        self.writer: Any = require_tensorboard()(str(folder / "tensorboard"), purge_step=step + 1)

    def add_scalars(self, step: int, **measured: Any) -> None:
        for name, value in measured.items():
            number = value.get("value") if isinstance(value, dict) else value
            if isinstance(number, float):
                judged = name == "loss" and isinstance(value, dict)  # on validation text, where the loss of the steps is another curve
                self.writer.add_scalar("validation_loss" if judged else name, number, step)
        self.writer.flush()


def require_tensorboard() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise BadInput("--tensorboard needs the package tensorboard; install it with pip install tensorboard, or leave the flag out") from None
    return SummaryWriter
