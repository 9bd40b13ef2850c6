"""The loop: learn, judge, save, and go on from where a run stands. Everything that happens at a step follows from its number."""

import math
import struct
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stairs.errors import BadInput, EnvironmentFault, StairsError
from stairs.files import manifest_of, megabytes, new_folder
from stairs.progress import say, short, track
from stairs.tasks.task import WEIGHTS, Task, weights
from stairs.text.shards import Shards
from stairs.training import checkpoint
from stairs.training.board import Board
from stairs.training.checkpoint import State
from stairs.training.distributed import Workers
from stairs.training.leaving import Wish
from stairs.training.options import TrainingOptions
from stairs.training.run import MODEL, TOKENIZER, Run
from stairs.training.teacher import Teacher

EVALUATIONS = 12  # in a run, unless told otherwise
JUDGED_AT_ONCE = 65_536  # positions of held-out text looked at while training; the finished model is judged on all
LINES = 10_000  # of metrics, at most, for the steps of a run
SILENCE = 30.0  # seconds without a word


class Loop:
    """One training on one run folder. The first worker writes; the others only compute."""

    def __init__(self, task: Task, shards: Shards, run: Run, options: TrainingOptions, teacher: Teacher, wish: Wish) -> None:
        self.task, self.shards, self.run, self.options = task, shards, run, options
        self.teacher, self.workers, self.wish = teacher, teacher.workers, wish
        self.state = State()
        self.judged_at_once = JUDGED_AT_ONCE
        self.judged_last: int | None = None  # positions at the end; all if not said
        self.saved: int | None = None  # the step of the newest checkpoint
        self.tried = 0  # the step of the last attempt to write one
        self.complained = False  # about metrics that cannot be written
        self.board: Board | None = None
        self.seen = 0  # tokens, since the process began
        self.heard = self.began = time.monotonic()

    @property
    def round(self) -> int:
        """After so many steps it judges and saves in any case; 0 if there is no such number."""
        return self.teacher.epoch if self.task.usual else 0

    @property
    def bar(self) -> tuple[float, str]:
        """What a step moves the progress bar by."""
        return 1, "steps"

    def resume(self) -> None:
        """Take up the newest checkpoint, or begin with the weights the seed gives, or those of another run."""
        found = checkpoint.newest(self.run.folder) if self.workers.leads else None
        known = self.workers.share(asdict(found[0]) if found else None)
        learner = self.teacher.learner
        if known is None:
            if self.options.fork:
                other = newest_weights(Path(self.options.fork), self.task) if self.workers.leads else None
                checkpoint.restore(self.workers, learner, other)
            return
        self.state = State(**known)
        self.saved = self.tried = self.state.step
        checkpoint.restore(self.workers, learner, weights(found[1] / WEIGHTS) if found else None)
        self.teacher.recall(weights(found[1] / checkpoint.OPTIMIZER) if found else None)
        if self.workers.leads:
            self.run.rewind(self.state.step, self.state.judged)

    def train(self, steps: int) -> None:
        """Until `steps` are made, or the held-out text has had enough, or somebody wishes to leave."""
        state, options, leaving = self.state, self.options, False
        every = options.evaluate_every or self.round or max(steps // EVALUATIONS, 1)
        note_every = -(-steps // LINES)
        spent = state.seconds
        self.began = time.monotonic()
        if options.tensorboard and self.workers.leads:
            self.board = Board(self.run.folder, state.step)
        size, unit = self.bar
        with track("training", total=steps * size, unit=unit) as advance:
            advance(state.step * size)
            while True:
                last = state.step >= steps
                if (state.step % every == 0 or last) and state.judged < state.step and not leaving:
                    self.judge(steps)
                    leaving = self.wished
                enough = 0 < options.patience <= state.waited
                if leaving or last or enough or state.step % options.save_every == 0 or (self.round and state.step % self.round == 0):
                    self.save(must=leaving)
                if leaving:
                    say(f"saved at {self.place(steps)}; the same command goes on from there")
                    self.wish.leave()
                if last or enough:
                    break
                learned = self.teacher.update(state.step, steps, int(self.wish.signal is not None))
                leaving = learned.leaving or self.wished
                state.step += 1
                state.seconds = spent + time.monotonic() - self.began
                if state.step % note_every == 0 or state.step == steps:
                    bits = struct.pack(">d", learned.loss).hex()
                    self.note(step=state.step, loss=learned.loss, bits=bits, targets=learned.targets, **learned.also)
                advance(size)
                self.seen += learned.tokens
                self.tell(steps, learned.loss)
        if enough:
            say(f"{self.place(steps)}: {options.patience} evaluations brought nothing better than step {state.best_step}; stopping early")

    @property
    def wished(self) -> bool:
        """Whether to leave now; many workers agree on it in a step."""
        return self.workers.count == 1 and self.wish.signal is not None

    def judge(self, steps: int) -> None:
        """Look at held-out text; the best weights so far are kept aside."""
        learner, measured = self.teacher.learner.eval(), None
        with self.wish.abandoning(self.workers.count == 1):
            measured = self.workers.share(self.task.evaluate_shards(self.shards, most=self.judged_at_once))
            said = printable(self.task.sample(self.state.step)) if not self.options.shard and self.workers.leads else ""
        learner.train()
        if measured is None:
            return
        state, value = self.state, measured[self.task.watched]["value"]
        state.judged = state.step
        if state.best is None or value < state.best:
            state.best, state.best_step, state.waited = value, state.step, 0
            model = checkpoint.whole(checkpoint.held(learner))
            self.attempt(lambda: checkpoint.write_best(self.run.folder, model, state.step), "the best weights so far")
        else:
            state.waited += 1
        self.note(step=state.step, seconds=round(state.seconds, 3), **measured)
        words = self.task.watched.replace("_", " ")
        ahead = f"{self.pace()}, {self.left(steps)} left" if self.round else f"{self.left(steps)} left"
        say(f"{self.place(steps)}: {value:.4f} {words} on held-out text, {ahead}" + (f"; it says: {said}" if said else ""))
        self.heard = time.monotonic()

    def save(self, must: bool = False) -> None:
        """A checkpoint of this step, unless there is one or it was just tried in vain."""
        state = self.state
        if self.saved == state.step or (self.tried == state.step and not must) or state.step == 0:
            return
        self.tried = state.step
        model, memory = checkpoint.whole(checkpoint.held(self.teacher.learner)), checkpoint.whole(self.teacher.memory())
        size = sum(tensor.nbytes for tensor in (*model.values(), *memory.values()))
        if self.attempt(lambda: checkpoint.write(self.run.folder, model, memory, state), f"a checkpoint of about {megabytes(size)}", must):
            self.saved = state.step
            if self.workers.leads:
                checkpoint.prune(self.run.folder, self.options.keep, state.best_step)

    def attempt(self, write: Callable[[], None], what: str, must: bool = False) -> bool:
        """Write, if this worker does; a full disk ends the training only if it shall."""

        def work() -> bool:
            try:
                if not self.run.still_there():
                    say(f"{self.run.folder} was deleted while it was trained; it is made again, without the measurements so far")
                    self.keep_tokenizer()
                write()
            except EnvironmentFault as error:
                if must or self.options.on_disk_full == "stop":
                    raise
                say(f"{error} (for {what}); training goes on and tries again in {self.options.save_every} steps")
                return False
            return True

        return self.workers.first(work)

    def finish(self, steps: int, kept: Task) -> dict[str, Any]:
        """Judge the best weights on all held-out text, or on as much as there is time for, and keep them as the run's model. `kept` is the task,
        whole again if it was divided."""
        state = self.state
        chosen = checkpoint.whole(checkpoint.held(self.teacher.learner))
        if not self.workers.leads:
            return {}
        if state.best_step not in (None, state.step):
            best = self.run.folder / checkpoint.best_of(state.best_step)
            try:
                manifest_of(best)
                chosen = weights(best / WEIGHTS)
            except StairsError as error:
                say(f"{error}: the last weights are kept instead of the best")
        checkpoint.restore(Workers(0, 1, self.workers.device), kept.learner.to(self.workers.device), chosen)
        kept.learner.eval()
        with self.wish.abandoning():
            measured = kept.evaluate_shards(self.shards, most=self.judged_last)
            kept.learner.cpu()
            result = {"step": state.step, "finished": steps, "best_step": state.best_step, "seconds": round(state.seconds, 3), **measured}
            self.run.log(**result)  # first the measurement, then the model: a finished run has both
            self.run.keep(kept, finished=steps)
            return result
        self.wish.leave()

    def keep_tokenizer(self) -> None:
        if not (self.run.folder / TOKENIZER).exists():
            with new_folder(self.run.folder / TOKENIZER) as folder:
                self.task.tokenizer.save(folder)

    def note(self, **measured: Any) -> None:
        """A line of metrics; training goes on without it if it must."""
        if not self.workers.leads:
            return
        if self.board is not None:
            self.board.draw(**measured)
        try:
            self.run.log(durably=False, **measured)
        except EnvironmentFault as error:
            if not self.complained:
                say(f"{error}: training goes on without measurements")
            self.complained = True

    def tell(self, steps: int, loss: float) -> None:
        now = time.monotonic()
        if now - self.heard < SILENCE:
            return
        self.heard = now
        say(f"{self.place(steps)}: loss {loss:.3f}, {self.pace()}, {self.left(steps)} left")

    def place(self, steps: int) -> str:
        return f"step {self.state.step} of {steps}"

    def pace(self) -> str:
        return f"{short(self.seen / max(time.monotonic() - self.began, 1e-9))} tokens/s"

    def left(self, steps: int) -> str:
        return remaining(steps - self.state.step, self.state.seconds / max(self.state.step, 1))


def printable(text: str) -> str:
    """What a model says may hold anything its text held."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def remaining(steps: int, seconds_each: float) -> str:
    seconds = max(steps * seconds_each, 0.0)
    return f"{seconds:.0f} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"


def newest_weights(folder: Path, task: Task) -> dict[str, Any]:
    """Of another run: its finished model, or else its newest checkpoint."""
    run = Run(folder)
    if run.settings["data"]["tokenizer"] != task.tokenizer.hash:
        raise BadInput(f"{folder} cuts its text otherwise than this run, so its weights mean other tokens; use its tokenizer, or no --fork")
    if run.finished:
        manifest_of(folder / MODEL)
        return weights(folder / MODEL / WEIGHTS)
    found = checkpoint.newest(folder)
    if found is None:
        raise BadInput(f"{folder} has no weights yet to --fork from; wait for its first checkpoint")
    return weights(found[1] / WEIGHTS)
