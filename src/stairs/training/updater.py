"""What the loop asks of whatever changes the weights: `GradientUpdater`, batch by batch, or `SweepUpdater`, one slice of the corpus after another."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypedDict

from torch import Tensor, nn

from stairs.tasks.measurements import Measurements
from stairs.training.clock import Action
from stairs.training.distributed import Workers

Evaluate = Callable[[int | None], Measurements]  # evaluates about this many positions of validation data, or all of it


class StepResult(NamedTuple):
    """What one update gave."""

    loss: float  # nats per target
    targets: int  # over all workers
    tokens: int  # read by all of them
    stop_requested: bool  # whether a worker was asked to stop
    extra_metrics: Mapping[str, float] = {}


class ProbedPlan(TypedDict, total=False):
    """What a probe decided once, in run.json: a resumed run keeps to it."""

    precision: str  # "fp32" or "bf16"
    steps: int  # updates, if their number is known in advance
    steps_per_epoch: int  # of a training by sweeps


class Updater(Protocol):
    trained_module: nn.Module
    workers: Workers
    is_sweeping: bool  # whether it reads the text from end to end, and is evaluated and saved after every epoch
    unit: str  # what its speed is counted in

    @property
    def steps_per_epoch(self) -> int:
        """Updates in which all of the training data is read once."""

    def apply_plan(self, plan: ProbedPlan) -> None:
        """Train as the plan of the run says."""

    def start(self, step: int) -> None:
        """Get ready for the first update of this process, once the weights of `step` are loaded."""

    def update(self, action: Action, stop_requests: int = 0) -> StepResult:
        """Make the update with the number `action.step`, counted from 0."""

    def optimizer_state(self) -> dict[str, Tensor]:
        """What a resumed training needs besides the weights and the step."""

    def load_optimizer_state(self, tensors: dict[str, Tensor] | None) -> None:
        """Load what `optimizer_state` returned; only rank 0 has it."""
