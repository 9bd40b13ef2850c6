"""What a training reports while it runs: rows of metrics.jsonl, messages about its progress, and TensorBoard's logs where they are asked for."""

import math
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stairs.errors import BadInput, EnvironmentFault
from stairs.progress import format_count, say, say_verbose
from stairs.training.budgets import Budget
from stairs.training.checkpoint import TrainingState
from stairs.training.options import TrainingOptions
from stairs.training.run import Run
from stairs.training.updater import StepResult, Updater

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

ALL_ROWS = 5_000  # updates at the start of a run with a row each; after them, every tenth has one
MESSAGE_SECONDS = 30.0  # between two messages about the loss


class Reporter:
    """Reports of one process; only rank 0 writes."""

    def __init__(self, run: Run, options: TrainingOptions, updater: Updater, budget: Budget, state: TrainingState) -> None:
        self.run, self.updater, self.budget, self.state = run, updater, budget, state
        self.is_writing = updater.workers.is_rank_zero
        self.tensorboard = TensorBoard(run.folder, state.step) if options.tensorboard and self.is_writing else None
        self.has_warned = False  # about rows that cannot be written
        self.tokens = 0  # since the process started
        self.started = self.message_at = time.monotonic()

    def add_update(self, result: StepResult) -> None:
        step = self.state.step
        if step <= ALL_ROWS or step % 10 == 0:
            exact = struct.pack(">d", result.loss).hex()
            self.add_row(step=step, loss=result.loss, loss_hex=exact, targets=result.targets, **result.extra_metrics)
        self.tokens += result.tokens
        if time.monotonic() - self.message_at >= MESSAGE_SECONDS:
            self.say(f"loss {result.loss:.3f}")

    def add_row(self, *, step: int, **row: object) -> None:
        """A row of metrics.jsonl; training continues without it if it cannot be written."""
        if not self.is_writing:
            return
        if self.tensorboard is not None:
            self.tensorboard.add_scalars(step, row)
        try:
            self.run.log(durably=False, step=step, **row)
        except EnvironmentFault as error:
            if not self.has_warned:
                say(f"{error}: training continues without measurements")
            self.has_warned = True

    def say(self, text: str, sample: str = "") -> None:
        """What was measured, how fast the training is and how long it will take."""
        self.message_at = time.monotonic()
        speed = f"{format_count(self.tokens / max(self.message_at - self.started, 1e-9))} {self.updater.unit}/s"
        done, total, unit = self.budget.amount_done(self.state)
        remaining = format_remaining((total - done) * (1.0 if unit == "s" else self.state.seconds / max(self.state.step, 1)))
        say_verbose(f"{self.position()}: {text}, {speed}, {remaining} left" + (f"; a sample: {sample}" if sample else ""))

    def position(self) -> str:
        """How far the training is: 'step 3 of 40'."""
        step, epoch = self.state.step, self.updater.steps_per_epoch
        done, total, unit = self.budget.amount_done(self.state)
        if unit == "s":
            return f"step {step}, {done:.0f} of {total:.0f} s"
        steps = f"step {step} of {total:.0f}"
        return f"epoch {step / epoch:.3g} of {total / epoch:.3g} ({steps})" if self.updater.is_sweeping else steps


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


def printable(text: str) -> str:
    """A generated text without control characters, which the training text may have held."""
    return "".join(character if character.isprintable() else " " for character in text)


def format_remaining(seconds: float) -> str:
    seconds = max(seconds, 0.0)
    return f"{seconds:.0f} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"
