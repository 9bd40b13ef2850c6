"""The training loop: update, evaluate, save, resume. Everything that happens at a step follows from its number.

SIGTERM and Ctrl-C let the current step finish and be saved; a second Ctrl-C stops at once.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import torch

from stairs import progress
from stairs.data import TrainingData
from stairs.errors import StairsError
from stairs.files import verified_manifest
from stairs.progress import say, track
from stairs.tasks.metrics import without_intervals
from stairs.tasks.task import WEIGHTS, Task, load_weights
from stairs.training.budgets import Budget, is_impatient
from stairs.training.checkpoint import Checkpointer, TrainingState, best_name, gather_tensors, named_tensors, restore
from stairs.training.clock import Action
from stairs.training.distributed import Workers
from stairs.training.options import TrainingOptions
from stairs.training.reporting import Reporter, printable
from stairs.training.run import Run
from stairs.training.snapshots import write_snapshot
from stairs.training.updater import Updater


class Abandon(BaseException):
    """Raised out of work that changes nothing, such as an evaluation, so that a stop need not wait for it."""


class StopRequest:
    """Whether a signal asked the training to stop, and which."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.may_abandon = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if self.may_abandon:
            raise Abandon

    @contextmanager
    def abandonable(self, allowed: bool = True) -> Iterator[None]:
        """Around work that may be abandoned half-way. Not allowed with several workers, since the others would wait for ever."""
        self.may_abandon = allowed
        try:
            if allowed and self.signal is not None:
                raise Abandon
            yield
        except Abandon:
            pass
        finally:
            self.may_abandon = False

    def exit(self) -> NoReturn:
        """End as the signal would have ended the process; a worker that got no signal follows the others."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + signal.SIGTERM)


@contextmanager
def catch_signals() -> Iterator[StopRequest]:
    """SIGTERM and SIGINT become a stop request inside the `with`; only the main thread receives signals."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    handlers = {number: signal.signal(number, request.on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield request
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Loop:
    """One training in one run folder. Rank 0 writes and reads the clock; the other ranks only compute."""

    def __init__(
        self, task: Task, data: TrainingData, run: Run, options: TrainingOptions, updater: Updater, stop_request: StopRequest, cpu_started: float,
    ) -> None:  # fmt: skip
        """`cpu_started` is the CPU time of the process when the work for this training began."""
        self.task, self.data, self.run, self.options = task, data, run, options
        self.updater, self.workers, self.stop_request = updater, updater.workers, stop_request
        self.state = TrainingState()
        self.checkpoints = Checkpointer(run, task, options, updater)
        self.reporter: Reporter
        self.budget: Budget
        self.seconds_before = 0.0  # of training, in earlier processes
        self.cpu_seconds_before, self.cpu_started = 0.0, cpu_started  # CPU time, in which other processes do not count
        self.started = time.monotonic()

    def resume(self) -> None:
        """Load the newest checkpoint, if there is one."""
        self.state = self.checkpoints.resume()
        self.seconds_before, self.cpu_seconds_before = self.state.seconds, self.state.cpu_seconds
        self.updater.start(self.state.step)

    def train(self, budget: Budget) -> Action:
        """Until the budget is spent, early stopping, or a stop signal."""
        state, self.budget = self.state, budget
        self.started = self.checkpoints.saved_at = time.monotonic()
        self.reporter = Reporter(self.run, self.options, self.updater, budget, state)
        if state.step:
            say(f"{self.run.folder}: resuming from {self.reporter.position()}")
        shown, total, unit = budget.amount_done(state)
        with track("training", total=total, unit=unit) as advance:
            advance(shown)
            while True:
                action, saves = self.next_action()
                if action.threads and action.threads != torch.get_num_threads():
                    torch.set_num_threads(action.threads)
                if action.kind == "decay":
                    state.decay = action.step
                if saves or action.kind in ("decay", "end"):
                    self.save()
                if action.kind == "end":
                    if is_impatient(state, self.options):
                        patience = f"{self.options.patience} evaluations without improvement since step {state.best_step}"
                        say(f"{self.reporter.position()}: stopping early after {patience}")
                    return action
                if self.perform(action):
                    self.save(must=True)
                    say(f"saved at {self.reporter.position()}; the same command resumes from there")
                    self.stop_request.exit()
                done = budget.amount_done(state)[0]
                advance(done - shown)
                shown = done

    def next_action(self) -> tuple[Action, bool]:
        """What rank 0 decides for all: what to do next, and whether to write a checkpoint before."""
        decision: tuple[Action, bool] | None = None
        if self.workers.is_rank_zero:
            action = self.budget.next(self.state)
            if action.spent:
                self.state.seconds = action.spent
            decision = action, action.kind == "update" and self.is_time_to_save()  # not before an evaluation, which belongs into the checkpoint
        decision = self.workers.broadcast(decision)
        assert decision is not None
        return Action(*decision[0]), decision[1]

    def is_time_to_save(self) -> bool:
        ends_epoch = self.updater.is_sweeping and self.state.step % self.updater.steps_per_epoch == 0
        return ends_epoch or self.checkpoints.is_due(self.state.step)

    def save(self, must: bool = False) -> None:
        """Write a checkpoint and, after an epoch of a training by sweeps, a snapshot of the word vectors."""
        self.state.cpu_seconds = round(self.cpu_seconds, 3)
        self.checkpoints.save(self.state, self.budget.sync, must)
        epoch, rest = divmod(self.state.step, self.updater.steps_per_epoch)
        if self.updater.is_sweeping and not rest:
            self.checkpoints.try_write(lambda: write_snapshot(self.task, self.run.folder, epoch), "a snapshot")

    def perform(self, action: Action) -> bool:
        """Whether to stop now. An evaluation that was abandoned half-way does not count, and is repeated after a resume."""
        state, started = self.state, time.monotonic()
        if action.kind == "update":
            result = self.updater.update(action, int(self.stop_request.signal is not None))
            state.step += 1
            state.actions_taken += 1
            state.seconds_by_phase["updates"] += time.monotonic() - started
            if not action.spent:
                state.seconds = self.seconds_before + time.monotonic() - self.started
            self.reporter.add_update(result)
            return result.stop_requested or self.stop_requested
        evaluated_step = state.evaluated_step
        if action.kind == "evaluate":
            self.evaluate(action.positions)
        elif action.kind == "time_evaluation":
            self.time_evaluation(action)
        state.seconds_by_phase["evaluation"] += time.monotonic() - started
        state.actions_taken += action.kind != "evaluate" or state.evaluated_step != evaluated_step
        return self.stop_requested

    @property
    def cpu_seconds(self) -> float:
        """Of this training, in all processes that had a part in it."""
        return self.cpu_seconds_before + time.process_time() - self.cpu_started

    @property
    def stop_requested(self) -> bool:
        """Whether to stop now; several workers agree on it in an update."""
        return self.workers.world_size == 1 and self.stop_request.signal is not None

    def time_evaluation(self, action: Action) -> None:
        """Evaluate only to see how long it takes."""
        module = self.updater.trained_module.eval()
        with self.stop_request.abandonable(self.workers.world_size == 1), without_intervals():
            if action.sentences:
                self.task.generate_for_timing(self.data, action.sentences)
            else:
                self.task.evaluate_split(self.data, limit=action.positions)
        module.train()

    def evaluate(self, positions: int) -> None:
        """Evaluate on validation data; the best weights so far are kept."""
        module, measurements, sample = self.updater.trained_module.eval(), None, ""
        with self.stop_request.abandonable(self.workers.world_size == 1), without_intervals():
            measurements = self.workers.broadcast(self.task.evaluate_split(self.data, limit=positions or None))
            if progress.verbose and not self.options.shard and self.workers.is_rank_zero:
                sample = printable(self.task.sample(self.state.step))
        module.train()
        if measurements is None:
            return
        state, value = self.state, measurements[self.task.monitor]["value"]
        state.evaluated_step = state.step
        if state.validation_fingerprint != self.data.fingerprint:  # with --accept-new-corpus: two texts cannot be compared
            state.best, state.best_step, state.evaluations_since_best, state.validation_fingerprint = None, None, 0, self.data.fingerprint
        if state.best is None or value < state.best:
            state.best, state.best_step, state.evaluations_since_best = value, state.step, 0
            self.checkpoints.save_best(state.step)
        else:
            state.evaluations_since_best += 1
        self.reporter.add_row(step=state.step, seconds=round(state.seconds, 3), **measurements)
        self.reporter.say(f"{value:.4f} {self.task.monitor.replace('_', ' ')} on validation data", sample)

    def finish(self, end: Action, task: Task, **metadata: Any) -> dict[str, Any]:
        """Evaluate the best weights on the final split, or on as much of it as there is time for, and save them as the run's model. `task` has
        complete weights, even where the trained ones are sharded; `metadata` goes into the manifest."""
        state, started, cpu_seconds = self.state, time.monotonic(), round(self.cpu_seconds, 3)
        best = gather_tensors(named_tensors(self.updater.trained_module))
        if not self.workers.is_rank_zero:
            return {}
        validation = {task.monitor: {"value": state.best}}  # by which the weights were chosen
        if state.best_step not in (None, state.step):
            folder = self.run.folder / best_name(state.best_step)
            try:
                verified_manifest(folder)
                best = load_weights(folder / WEIGHTS)
            except StairsError as error:
                say(f"{error}: the last weights are kept instead of the best")
                validation = {}
        restore(Workers(0, 1, self.workers.device), task.trained_module.to(self.workers.device), best)
        task.trained_module.eval()
        with self.stop_request.abandonable():
            generation: dict[str, Any] = {"sentences": end.sentences} if end.sentences else {}
            measurements = task.evaluate_split(self.data, self.data.final_split, limit=end.positions or None, **generation)
            task.trained_module.cpu()
            state.seconds_by_phase["evaluation"] += time.monotonic() - started
            seconds = {phase: round(seconds, 3) for phase, seconds in state.seconds_by_phase.items()}
            result: dict[str, Any] = {"step": state.step, **metadata, "best_step": state.best_step, "seconds": round(state.seconds, 3)}
            result |= {"cpu_seconds": cpu_seconds, "seconds_by_phase": seconds, "validation": validation, **measurements}
            self.run.log(**result)  # the measurement before the model: a finished run has both
            self.run.save_model(task, **metadata, corpus=self.data.fingerprint)
            return result
        self.stop_request.exit()
