"""The loop: learn, judge, save, and go on from where a run stands. Everything that happens at a step follows from its number."""

import math
import struct
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from stairs import progress
from stairs.errors import EnvironmentFault, StairsError
from stairs.files import format_megabytes, new_folder, verified_manifest
from stairs.progress import format_count, say, say_verbose, track
from stairs.tasks.metrics import without_intervals
from stairs.tasks.task import WEIGHTS, Task, load_weights
from stairs.text.shards import Shards
from stairs.training import checkpoint
from stairs.training.budgets import Budget, is_impatient
from stairs.training.checkpoint import TrainingState
from stairs.training.clock import Action
from stairs.training.distributed import Workers
from stairs.training.forking import newest_weights
from stairs.training.options import TrainingOptions
from stairs.training.run import TOKENIZER_FOLDER, Run
from stairs.training.signals import StopRequest
from stairs.training.tensorboard import TensorBoard
from stairs.training.updater import Updater

LINES = 5_000  # of metrics for the first updates of a run; behind them, one for every tenth
SILENCE = 30.0  # seconds without a word
SAVING_SECONDS = 20.0  # between checkpoints, unless told otherwise
SAVING_TIMES = 30  # or so many times what one costs, if that is longer


class Loop:
    """One training on one run folder. The first worker writes and reads the clock; the others only compute."""

    def __init__(self, task: Task, shards: Shards, run: Run, options: TrainingOptions, teacher: Updater, wish: StopRequest) -> None:
        self.task, self.shards, self.run, self.options = task, shards, run, options
        self.updater, self.workers, self.stop_request = teacher, teacher.workers, wish
        self.state = TrainingState()
        self.budget: Budget
        self.before = 0.0  # seconds of training before this process
        self.cpu_before, self.cpu_began = 0.0, time.process_time()  # the same of the processor: what other processes do on it does not count
        self.saved: int | None = None  # the step of the newest checkpoint
        self.tried = 0  # the step of the last attempt to write one
        self.saved_at, self.save_seconds = time.monotonic(), 0.0
        self.complained = False  # about metrics that cannot be written
        self.board: TensorBoard | None = None
        self.seen = 0  # tokens, since the process began
        self.heard = self.began = time.monotonic()

    @property
    def steps_per_round(self) -> int:
        """After so many steps it judges in any case, unless the clock says when; 0 if there is no such number."""
        return self.updater.epoch if self.task.training_defaults else 0

    def resume(self) -> None:
        """Take up the newest checkpoint, or begin with the weights the seed gives, or those of another run."""
        found = checkpoint.newest_checkpoint(self.run.folder) if self.workers.is_rank_zero else None
        if found and found[0].best_step is not None and not (self.run.folder / checkpoint.best_name(found[0].best_step)).is_dir():
            # a run that is made longer has left its best weights behind
            found[0].best, found[0].best_step, found[0].evaluations_since_best = None, None, 0
        known = self.workers.broadcast(asdict(found[0]) if found else None)
        learner = self.updater.trained_module
        if known is None:
            if self.options.init_from:
                other = newest_weights(Path(self.options.init_from), self.task) if self.workers.is_rank_zero else None
                checkpoint.restore(self.workers, learner, other)
            return
        self.state = TrainingState(**known)
        self.saved = self.tried = self.state.step
        self.cpu_before = self.state.cpu_seconds
        checkpoint.restore(self.workers, learner, load_weights(found[1] / WEIGHTS) if found else None)
        self.updater.load_optimizer_state(load_weights(found[1] / checkpoint.OPTIMIZER_FILE) if found else None)
        if self.workers.is_rank_zero:
            self.run.rewind(self.state.step, self.state.evaluated_step)

    def train(self, pace: Budget) -> Action:
        """Turn by turn, until the pace says that it is the end, or somebody wishes to leave."""
        state = self.state
        self.budget = pace
        self.began = self.saved_at = time.monotonic()
        self.before = state.seconds
        if self.options.tensorboard and self.workers.is_rank_zero:
            self.board = TensorBoard(self.run.folder, state.step)
        shown, total, unit = pace.done(state)
        with track("training", total=total, unit=unit) as advance:
            advance(shown)
            while True:
                turn, saves = self.next_turn()
                if turn.threads and turn.threads != torch.get_num_threads():
                    torch.set_num_threads(turn.threads)
                if turn.kind == "decay":
                    state.decay = turn.step
                if saves or turn.kind in ("decay", "end"):
                    self.save()
                if turn.kind == "end":
                    if is_impatient(state, self.options):
                        say(f"{self.place()}: {self.options.patience} evaluations brought nothing better than step {state.best_step}; stopping early")
                    return turn
                if self.take(turn):
                    self.save(must=True)
                    say(f"saved at {self.place()}; the same command goes on from there")
                    self.stop_request.exit()
                now = pace.done(state)[0]
                advance(now - shown)
                shown = now

    def next_turn(self) -> tuple[Action, bool]:
        """What the first worker decides, for all: what is done next, and whether a checkpoint is written before."""
        if not self.workers.is_rank_zero:
            turn, saves = self.workers.broadcast(None)
            return Action(*turn), saves
        turn = self.budget.next(self.state)
        if turn.spent:
            self.state.seconds = turn.spent
        saves = turn.kind == "update" and self.is_time_to_save()  # not before a look, of which a checkpoint should know
        self.workers.broadcast((turn, saves))
        return turn, saves

    def is_time_to_save(self) -> bool:
        if self.options.save_every:
            return self.state.step % self.options.save_every == 0
        return time.monotonic() - self.saved_at > max(SAVING_SECONDS, SAVING_TIMES * self.save_seconds)

    def take(self, turn: Action) -> bool:
        """Do it; whether to leave now. A turn that was dropped half way is not counted, and is taken again after a resume."""
        state, started = self.state, time.monotonic()
        if turn.kind == "update":
            learned = self.updater.update(turn, int(self.stop_request.signal is not None))
            state.step += 1
            state.actions_taken += 1
            state.seconds_by_phase["updates"] += time.monotonic() - started
            if not turn.spent:
                state.seconds = self.before + time.monotonic() - self.began
            if state.step <= LINES or state.step % 10 == 0:
                bits = struct.pack(">d", learned.loss).hex()
                self.note(step=state.step, loss=learned.loss, loss_hex=bits, targets=learned.targets, **learned.extra_metrics)
            self.seen += learned.tokens
            self.tell(learned.loss)
            return learned.stop_requested or self.stop_requested
        judged = state.evaluated_step
        if turn.kind == "evaluate":
            self.judge(turn.positions)
        elif turn.kind == "time_evaluation":
            self.try_judging(turn)
        state.seconds_by_phase["evaluation"] += time.monotonic() - started
        state.actions_taken += turn.kind != "evaluate" or state.evaluated_step != judged
        return self.stop_requested

    @property
    def cpu_seconds(self) -> float:
        """Of this training, in all processes that had a part in it."""
        return self.cpu_before + time.process_time() - self.cpu_began

    @property
    def stop_requested(self) -> bool:
        """Whether to leave now; many workers agree on it in a step."""
        return self.workers.world_size == 1 and self.stop_request.signal is not None

    def try_judging(self, turn: Action) -> None:
        """Only to see how long it takes."""
        learner = self.updater.trained_module.eval()
        with self.stop_request.abandonable(self.workers.world_size == 1), without_intervals():
            if turn.sentences:
                self.task.generate_for_timing(self.shards, turn.sentences)
            else:
                self.task.evaluate_split(self.shards, limit=turn.positions)
        learner.train()

    def judge(self, positions: int) -> None:
        """Look at validation data; the best weights so far are kept aside."""
        learner, measured = self.updater.trained_module.eval(), None
        with self.stop_request.abandonable(self.workers.world_size == 1), without_intervals():
            measured = self.workers.broadcast(self.task.evaluate_split(self.shards, limit=positions or None))
            said = printable(self.task.sample(self.state.step)) if progress.verbose and not self.options.shard and self.workers.is_rank_zero else ""
        learner.train()
        if measured is None:
            return
        state, value = self.state, measured[self.task.monitor]["value"]
        state.evaluated_step = state.step
        if state.validation_fingerprint != self.shards.fingerprint:  # with --accept-new-corpus: no two texts can be compared
            state.best, state.best_step, state.evaluations_since_best, state.validation_fingerprint = None, None, 0, self.shards.fingerprint
        if state.best is None or value < state.best:
            state.best, state.best_step, state.evaluations_since_best = value, state.step, 0
            model = checkpoint.gather_tensors(checkpoint.named_tensors(learner))
            self.attempt(lambda: checkpoint.write_best(self.run.folder, model, state.step), "the best weights so far")
        else:
            state.evaluations_since_best += 1
        self.note(step=state.step, seconds=round(state.seconds, 3), **measured)
        words = self.task.monitor.replace("_", " ")
        ahead = f"{self.speed()}, {self.left()} left" if self.steps_per_round else f"{self.left()} left"
        say_verbose(f"{self.place()}: {value:.4f} {words} on validation text, {ahead}" + (f"; it says: {said}" if said else ""))
        self.heard = time.monotonic()

    def save(self, must: bool = False) -> None:
        """A checkpoint of this step, unless there is one or it was just tried in vain."""
        state = self.state
        if self.saved == state.step or (self.tried == state.step and not must) or state.step == 0:
            return
        self.tried, started = state.step, time.monotonic()
        state.cpu_seconds = round(self.cpu_seconds, 3)
        model = checkpoint.gather_tensors(checkpoint.named_tensors(self.updater.trained_module))
        memory = checkpoint.gather_tensors(self.updater.optimizer_state())
        size = sum(tensor.nbytes for tensor in (*model.values(), *memory.values()))

        def write() -> None:
            self.budget.sync()
            checkpoint.write_checkpoint(self.run.folder, model, memory, state)

        if self.attempt(write, f"a checkpoint of about {format_megabytes(size)}", must):
            self.saved = state.step
            if self.workers.is_rank_zero:
                checkpoint.prune_checkpoints(self.run.folder, self.options.keep, state.best_step, state.decay)
        self.saved_at = time.monotonic()
        self.save_seconds = self.saved_at - started
        state.seconds_by_phase["saving"] += self.save_seconds

    def attempt(self, write: Callable[[], None], what: str, must: bool = False) -> bool:
        """Write, if this worker does; a full disk ends the training only if it shall."""

        def work() -> bool:
            try:
                if not self.run.ensure_exists():
                    say(f"{self.run.folder} was deleted while it was trained; it is made again, without the measurements so far")
                    self.keep_tokenizer()
                write()
            except EnvironmentFault as error:
                if must or self.options.on_disk_full == "stop":
                    raise
                later = f"in {self.options.save_every} steps" if self.options.save_every else "soon"
                say(f"{error} (for {what}); training goes on and tries again {later}")
                return False
            return True

        return self.workers.on_rank_zero(work)

    def finish(self, end: Action, kept: Task, **about: Any) -> dict[str, Any]:
        """Judge the best weights on all test data, or on as much as there is time for, and keep them as the run's model. `cached_features` is the
        task, whole again if it was divided; `about` goes into the manifest."""
        state, started, cpu_seconds = self.state, time.monotonic(), round(self.cpu_seconds, 3)
        chosen = checkpoint.gather_tensors(checkpoint.named_tensors(self.updater.trained_module))
        if not self.workers.is_rank_zero:
            return {}
        validation = {kept.monitor: {"value": state.best}}  # that the weights were chosen by
        if state.best_step not in (None, state.step):
            best = self.run.folder / checkpoint.best_name(state.best_step)
            try:
                verified_manifest(best)
                chosen = load_weights(best / WEIGHTS)
            except StairsError as error:
                say(f"{error}: the last weights are kept instead of the best")
                validation = {}
        checkpoint.restore(Workers(0, 1, self.workers.device), kept.trained_module.to(self.workers.device), chosen)
        kept.trained_module.eval()
        with self.stop_request.abandonable():
            generated: dict[str, Any] = {"sentences": end.sentences} if end.sentences else {}
            measured = kept.evaluate_split(self.shards, self.shards.final_split, limit=end.positions or None, **generated)
            kept.trained_module.cpu()
            state.seconds_by_phase["evaluation"] += time.monotonic() - started
            times = {name: round(seconds, 3) for name, seconds in state.seconds_by_phase.items()}
            result: dict[str, Any] = {"step": state.step, **about, "best_step": state.best_step, "seconds": round(state.seconds, 3)}
            result |= {"cpu_seconds": cpu_seconds, "seconds_by_phase": times, "validation": validation, **measured}
            self.run.log(**result)  # first the measurement, then the model: a finished run has both
            self.run.save_model(kept, **about, corpus=self.shards.fingerprint)
            return result
        self.stop_request.exit()

    def keep_tokenizer(self) -> None:
        if not (self.run.folder / TOKENIZER_FOLDER).exists():
            with new_folder(self.run.folder / TOKENIZER_FOLDER) as folder:
                self.task.tokenizer.save(folder)

    def note(self, **measured: Any) -> None:
        """A line of metrics; training goes on without it if it must."""
        if not self.workers.is_rank_zero:
            return
        if self.board is not None:
            self.board.add_scalars(**measured)
        try:
            self.run.log(durably=False, **measured)
        except EnvironmentFault as error:
            if not self.complained:
                say(f"{error}: training goes on without measurements")
            self.complained = True

    def tell(self, loss: float) -> None:
        now = time.monotonic()
        if now - self.heard < SILENCE:
            return
        self.heard = now
        say_verbose(f"{self.place()}: loss {loss:.3f}, {self.speed()}, {self.left()} left")

    def place(self) -> str:
        shown, total, unit = self.budget.done(self.state)
        return f"step {self.state.step} of {total:.0f}" if unit == "steps" else f"step {self.state.step}, {shown:.0f} of {total:.0f} s"

    def speed(self) -> str:
        return f"{format_count(self.seen / max(time.monotonic() - self.began, 1e-9))} tokens/s"

    def left(self) -> str:
        shown, total, unit = self.budget.done(self.state)
        return remaining(total - shown, 1.0 if unit == "s" else self.state.seconds / max(self.state.step, 1))


def printable(text: str) -> str:
    """What a model says may hold anything its text held."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def remaining(steps: float, seconds_each: float) -> str:
    seconds = max(steps * seconds_each, 0.0)
    return f"{seconds:.0f} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"
