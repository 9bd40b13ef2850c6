"""What the parts of a training ask of one another: `Updater` changes the weights, `Budget` says what is done next, `Workers` are the processes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict, TypeVar

import torch
from torch import Tensor, nn

from stairs.tasks.measurements import Measurements
from stairs.tasks.task import Task
from stairs.training.clock import Action
from stairs.training.options import TrainingOptions
from stairs.training.records import SweepSpeed

if TYPE_CHECKING:
    from stairs.training.checkpoint import TrainingState

Data = TypeVar("Data")  # plain data: what JSON can hold
Evaluate = Callable[[int | None], Measurements]  # evaluates about this many positions of validation data, or all of it


class StepResult(NamedTuple):
    """What one update gave."""

    loss: float  # nats per target
    targets: int  # over all workers
    tokens: int  # read by all of them
    stop_requested: bool  # whether a worker was asked to stop
    speed: SweepSpeed | None = None


class ProbedPlan(TypedDict, total=False):
    """What a probe decided once, in run.json: a resumed run keeps to it."""

    precision: str  # "fp32" or "bf16"
    steps: int  # updates, if their number is known in advance
    steps_per_epoch: int  # of a training by sweeps


class Workers(Protocol):
    """The processes that train together. Rank 0 writes and decides; the others follow."""

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def is_rank_zero(self) -> bool: ...

    def all_reduce(self, *numbers: float) -> list[float]:
        """Each number summed over the workers."""

    def all_reduce_tensor(self, tensor: Tensor) -> Tensor:
        """A tensor summed over the workers."""

    def broadcast(self, data: Data) -> Data:
        """Plain data of rank 0, on every rank."""

    def on_rank_zero(self, work: Callable[[], Data]) -> Data:
        """What `work` returns on rank 0, on every rank; if it raises there, every rank raises."""

    def broadcast_tensor(self, target: Tensor, source: Tensor | None) -> None:
        """Copy what rank 0 has into every rank's tensor, or into its shard of it."""


class Updater(Protocol):
    """`GradientUpdater`, batch by batch, or `SweepUpdater`, one slice of the corpus after another. It encodes the training data and gives the task
    new weights when it is made."""

    trained_module: nn.Module
    complete_task: Task  # whose model is saved: not that of sharded weights
    options: TrainingOptions  # with the number of epochs, if the task has a default
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


class Budget(Protocol):
    def next(self, state: "TrainingState") -> Action:
        """What to do when the training is at `state`."""

    def amount_done(self, state: "TrainingState") -> tuple[float, float, str]:
        """How much of how much, and the unit."""

    def sync(self) -> None:
        """Flush to the disk what a checkpoint of now relies on."""
