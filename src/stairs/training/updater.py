"""What the loop asks of whatever changes the weights: `GradientUpdater`, batch by batch, or `SweepUpdater`, stretch by stretch."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from stairs.training.clock import Action
from stairs.training.distributed import Workers


class StepResult(NamedTuple):
    """What came of one step."""

    loss: float  # nats per target
    targets: int  # over all workers
    tokens: int  # read by all of them
    stop_requested: bool  # whether a worker wishes to leave
    extra_metrics: Mapping[str, float] = {}  # for the metrics


class Updater(Protocol):
    trained_module: nn.Module
    workers: Workers

    @property
    def epoch(self) -> int:
        """Steps in which all of the text is read once."""

    def apply_plan(self, known: dict[str, Any]) -> None:
        """Take over what was decided when the run began."""

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        """Make the update with the number `turn.step`, counted from 0."""

    def optimizer_state(self) -> dict[str, Tensor]:
        """What must be known to go on, besides the weights and the number of the step."""

    def load_optimizer_state(self, found: dict[str, Tensor] | None) -> None:
        """Take back what `optimizer_state` gave; only the first worker has it."""
