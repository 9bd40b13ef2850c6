"""What the loop asks of whatever changes the weights: `Gradients`, batch by batch, or `Sweeps`, stretch by stretch."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from stairs.training.clock import Turn
from stairs.training.distributed import Workers


class Learned(NamedTuple):
    """What came of one step."""

    loss: float  # nats per target
    targets: int  # over all workers
    tokens: int  # read by all of them
    leaving: bool  # whether a worker wishes to leave
    also: Mapping[str, float] = {}  # for the metrics


class Teacher(Protocol):
    trained_module: nn.Module
    workers: Workers

    @property
    def epoch(self) -> int:
        """Steps in which all of the text is read once."""

    def agree(self, known: dict[str, Any]) -> None:
        """Take over what was decided when the run began."""

    def update(self, turn: Turn, wishes: int = 0) -> Learned:
        """Make the update with the number `turn.step`, counted from 0."""

    def memory(self) -> dict[str, Tensor]:
        """What must be known to go on, besides the weights and the number of the step."""

    def recall(self, found: dict[str, Tensor] | None) -> None:
        """Take back what `memory` gave; only the first worker has it."""
