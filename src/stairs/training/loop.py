"""The training loop: update, evaluate, save, resume, report. Everything that happens at a step follows from its number.

It reports rows of metrics.jsonl, messages about its progress, and TensorBoard's logs where they are asked for.
"""

import math
import struct
import time
from collections.abc import Callable

import torch

from stairs import progress
from stairs.data import TrainingData
from stairs.errors import EnvironmentFault
from stairs.progress import StopRequest, format_count, say, say_verbose, track
from stairs.tasks.measurements import Interval, Measurements, interval
from stairs.tasks.task import Task
from stairs.training.checkpoint import Checkpointer, TrainingState, gather_tensors, named_tensors, restore
from stairs.training.clock import Action
from stairs.training.options import TrainingOptions
from stairs.training.records import EvaluationRow, FinalRow, UpdateRow
from stairs.training.run import Run
from stairs.training.snapshots import write_snapshot
from stairs.training.tensorboard import TensorBoard
from stairs.training.updater import Budget, StepResult, Updater, Workers

ALL_ROWS = 5_000  # updates at the start of a run with a row each; after them, every tenth has one
MESSAGE_SECONDS = 30.0  # between two messages about the loss


class Loop:
    """One training in one run folder. Rank 0 writes and reads the clock; the other ranks only compute."""

    def __init__(
        self, task: Task, data: TrainingData, run: Run, options: TrainingOptions, workers: Workers, new_updater: Callable[..., Updater]
    ) -> None:
        """`new_updater` is the class of the updater, which encodes the training data."""
        self.task, self.data, self.run, self.options, self.workers = task, data, run, options, workers
        self.seconds_before = 0.0  # of training, in earlier processes
        self.cpu_seconds_before, self.cpu_started = 0.0, time.process_time()  # CPU time, in which other processes do not count
        self.stop_request = StopRequest()
        self.state = TrainingState()
        self.checkpoints = Checkpointer(run, task, options, workers)
        self.updater = new_updater(task, data, options, workers)
        self.reporter: Reporter
        self.budget: Budget
        self.started = time.monotonic()

    def resume(self) -> None:
        """Load the newest checkpoint, if there is one."""
        self.state = self.checkpoints.resume(self.updater)
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
                    if state.is_impatient(self.options.patience):
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
        self.checkpoints.save(self.updater, self.state, self.budget.sync, must)
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
        with self.stop_request.abandonable(self.workers.world_size == 1):
            if action.sentences:
                self.task.generate_for_timing(self.data, action.sentences)
            else:
                self.task.validate(self.data, action.positions)
        module.train()

    def evaluate(self, positions: int) -> None:
        """Evaluate on validation data; the best weights so far are kept."""
        module, measurements, sample = self.updater.trained_module.eval(), None, ""
        with self.stop_request.abandonable(self.workers.world_size == 1):
            measurements = self.workers.broadcast(self.task.validate(self.data, positions or None))
            if progress.verbose and not self.options.shard and self.workers.is_rank_zero:
                sample = printable(self.task.sample(self.state.step))
        module.train()
        if measurements is None:
            return
        state, value = self.state, interval(measurements, self.task.monitor)["value"]
        state.evaluated_step = state.step
        if state.validation_fingerprint != self.data.fingerprint:  # with --accept-new-corpus: two texts cannot be compared
            state.best, state.best_step, state.evaluations_since_best, state.validation_fingerprint = None, None, 0, self.data.fingerprint
        if state.best is None or value < state.best:
            state.best, state.best_step, state.evaluations_since_best = value, state.step, 0
            self.checkpoints.save_best(self.updater, state.step)
        else:
            state.evaluations_since_best += 1
        self.reporter.add_evaluation(measurements)
        self.reporter.say(f"{value:.4f} {self.task.monitor.replace('_', ' ')} on validation data", sample)

    def finish(self, end: Action, trained_steps: int, budget: float | None = None) -> dict[str, object]:
        """Evaluate the best weights on the final split, or on as much of it as there is time for, and save them as the run's model."""
        state, task, started, cpu_seconds = self.state, self.updater.complete_task, time.monotonic(), round(self.cpu_seconds, 3)
        best = gather_tensors(named_tensors(self.updater.trained_module))
        if not self.workers.is_rank_zero:
            return {}
        validation: dict[str, Interval] = {} if state.best is None else {task.monitor: {"value": state.best}}  # by which the weights were chosen
        if state.best_step not in (None, state.step):
            found = self.checkpoints.best_weights(state)
            best, validation = (found, validation) if found is not None else (best, {})
        restore(task.trained_module.to(self.workers.device), best)
        task.trained_module.eval()
        with self.stop_request.abandonable():
            generation: dict[str, object] = {"sentences": end.sentences} if end.sentences else {}
            measurements = task.evaluate_split(self.data, self.data.final_split, limit=end.positions or None, **generation)
            task.trained_module.cpu()
            state.seconds_by_phase["evaluation"] += time.monotonic() - started
            seconds = {phase: round(seconds, 3) for phase, seconds in state.seconds_by_phase.items()}
            row: FinalRow = {
                "step": state.step, "trained_steps": trained_steps, "best_step": state.best_step, "seconds": round(state.seconds, 3),
                "cpu_seconds": cpu_seconds, "seconds_by_phase": seconds, "validation": validation,
            }  # fmt: skip
            if budget is not None:
                row["budget"] = budget
            self.run.log({**row, **measurements})  # the measurement before the model: a finished run has both
            self.run.save_model(task, corpus=self.data.fingerprint, trained_steps=trained_steps, **({} if budget is None else {"budget": budget}))
            return {**row, **measurements}
        self.stop_request.exit()


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
            row: UpdateRow = {"step": step, "loss": result.loss, "loss_hex": exact, "targets": result.targets, **(result.speed or {})}
            self.add_row(**row)
        self.tokens += result.tokens
        if time.monotonic() - self.message_at >= MESSAGE_SECONDS:
            self.say(f"loss {result.loss:.3f}")

    def add_evaluation(self, measurements: Measurements) -> None:
        row: EvaluationRow = {"step": self.state.step, "seconds": round(self.state.seconds, 3)}
        self.add_row(**row, **measurements)

    def add_row(self, *, step: int, **row: object) -> None:
        """A row of metrics.jsonl; training continues without it if it cannot be written."""
        if not self.is_writing:
            return
        if self.tensorboard is not None:
            self.tensorboard.add_scalars(step, row)
        try:
            self.run.log({"step": step, **row}, durably=False)
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


def printable(text: str) -> str:
    """A generated text without control characters, which the training text may have held."""
    return "".join(character if character.isprintable() else " " for character in text)


def format_remaining(seconds: float) -> str:
    seconds = max(seconds, 0.0)
    return f"{seconds:.0f} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"
