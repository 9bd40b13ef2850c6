"""What a training under --budget does next: an update with its learning rate, an evaluation, the start of the decay, the end.

Of the time at least three quarters are for updates. The evaluations on the way and the final one have shares of it; how many positions they cover
follows from what an evaluation is seen to cost. Every decision stands in the log of the clock, so that a resumed run does not decide again.
"""

import shutil
import statistics
from collections import deque
from itertools import pairwise
from pathlib import Path

import torch

from stairs.data import TrainingData
from stairs.errors import BadInput
from stairs.progress import say
from stairs.tasks.task import Task
from stairs.training import clock
from stairs.training.checkpoint import TrainingState, best_folders, checkpoint_name, checkpoint_steps, newest_checkpoint
from stairs.training.clock import Action, Clock, ClockLog, read_log
from stairs.training.options import DECAY_SHARE, TrainingOptions, lr_factor_by_time
from stairs.training.run import Run
from stairs.training.stacking import joined_blocks
from stairs.training.updater import Workers

MAX_EVALUATIONS = 8  # on the way, in a time budget
EVALUATION_SHARE = 0.06  # of a budget, for the evaluations on the way
FINAL_SHARE = 0.08  # of a budget, at most, for the final evaluation and saving
SAFETY_FACTOR = 1.25  # estimates may be wrong by this much: other processes use the machine, too
SAVING_SHARE = 0.01  # of a budget, for writing the model
MIN_SAVING_SECONDS = 0.2
TRIAL_POSITIONS = 1024  # on which an evaluation is timed
TRIAL_SENTENCES = 8
MAX_SENTENCES = 500  # generated in the final evaluation
MAX_EVALUATION_POSITIONS = 65_536  # in an evaluation on the way
TRIAL_UPDATES = 3  # with all threads, and as many with one, before the faster is chosen


class TimeBudget:
    """As many updates as there is time for, in the one process that reads the clock."""

    def __init__(
        self, log: ClockLog, options: TrainingOptions, *, steps: int | None = None, threads: tuple[int, ...] = (1,), positions: int = 1,
        final_positions: int | None = None, generates: bool = False, spent: float = 0.0, layers: int = 0,
    ) -> None:  # fmt: skip
        """`steps` is the maximum number of updates, `threads` the numbers to choose from, `positions` and `final_positions` how many there are to
        evaluate on the way and at the end, `generates` whether the final evaluation generates sentences, `spent` the seconds spent already, `layers`
        the number of blocks, for a training that stacks them."""
        self.log, self.options, self.steps, self.threads, self.generates, self.layers = log, options, steps, threads, generates, layers
        self.positions, self.final_positions = positions, positions if final_positions is None else final_positions
        self.budget = options.budget_seconds
        self.clock = Clock()
        self.clock.start(spent)
        self.progress = 0.0
        self.decay: Action | None = None
        self.evaluations: list[Action] = []
        self.first_updates: list[tuple[Action, float]] = []  # on which the number of threads is chosen
        self.late_updates: deque[float] = deque(maxlen=20)  # seconds
        self.costs: dict[str, float] = {}  # seconds to evaluate a position, to generate a sentence
        for action, following in pairwise(log.actions):
            self.observe(action, following.spent - action.spent)
        self.last: Action | None = None  # the action being performed, once time counts
        self.is_replaying = bool(log.actions)

    def next(self, state: TrainingState) -> Action:
        if state.actions_taken < len(self.log.actions):
            return self.log.actions[state.actions_taken]
        if self.is_replaying:  # the log is replayed; from now on time counts
            self.observe(self.log.actions[-1], 0.0)
            self.clock.start(self.log.actions[-1].spent)
            self.is_replaying = False
        spent = self.clock.read(self.typical_seconds())
        if self.last is not None:
            self.observe(self.last, spent - self.last.spent)
        self.last = self.decide(state, spent)
        self.log.add(self.last)
        return self.last

    def observe(self, action: Action, seconds: float) -> None:
        """Learn from an action that was performed: what it was and, unless 0, how long it took."""
        if action.kind == "decay":
            self.decay = action
        if action.kind == "evaluate":
            self.evaluations.append(action)
        if action.kind == "update":
            self.late_updates.append(seconds)
            if len(self.first_updates) <= 2 * TRIAL_UPDATES:
                self.first_updates.append((action, seconds))
        elif action.sentences and seconds:
            self.costs["sentences"] = seconds / action.sentences
        elif action.kind in ("evaluate", "time_evaluation") and seconds:
            self.costs["positions"] = seconds / min(action.positions or self.positions, self.positions)

    def typical_seconds(self) -> float | None:
        """How long an action like the last one usually takes."""
        is_known = self.last is not None and self.last.kind == "update" and len(self.late_updates) >= TRIAL_UPDATES
        return statistics.median(self.late_updates) if is_known else None

    def amount_done(self, state: TrainingState) -> tuple[float, float, str]:
        return state.seconds, self.budget, "s"

    def sync(self) -> None:
        self.log.sync()

    def decide(self, state: TrainingState, spent: float) -> Action:
        threads = self.choose_threads()

        def action(kind: str, **values: float) -> Action:
            return Action(kind, state.step, spent, threads=threads, **values)  # type: ignore[arg-type]

        self.progress = self.progress_at(state, spent)
        is_over = state.step > 0 and self.progress >= 1
        if is_over or self.evaluation_is_due(state):
            if "positions" not in self.costs and max(self.positions, self.final_positions) > TRIAL_POSITIONS:
                return action("time_evaluation", positions=TRIAL_POSITIONS)
            if state.evaluated_step < state.step:
                return action("evaluate", positions=self.evaluation_positions())
        if is_over:
            if self.generates and "sentences" not in self.costs:
                return action("time_evaluation", sentences=TRIAL_SENTENCES)
            return action("end", **self.final_evaluation(spent))
        factor = lr_factor_by_time(state.step, self.progress, self.options)
        blocks = joined_blocks(self.progress, self.layers, self.options.stacking)
        if self.decay is not None:
            return action("update", lr_factor=self.decay.lr_factor * (1 - self.progress) / DECAY_SHARE, blocks=blocks)
        hold_ends = self.options.schedule == "hold" and self.progress >= 1 - DECAY_SHARE
        is_impatient = state.is_impatient(self.options.patience)  # without improvement, a falling learning rate may still gain something
        if state.step and (hold_ends or is_impatient):
            return action("decay", lr_factor=1.0 if hold_ends else factor)
        return action("update", lr_factor=factor, blocks=blocks)

    def progress_at(self, state: TrainingState, spent: float) -> float:
        """The share of the training that is done: it never decreases, and half an update before the end there is no time for another."""
        horizon = max(self.budget - self.reserve(), self.budget / 2)
        ahead = spent + statistics.median(self.late_updates or [0.0]) / 2
        by_steps = state.step / self.steps if self.steps else 0.0
        if self.decay is not None:  # it may have started early, when nothing improved any more
            length = min(DECAY_SHARE / (1 - DECAY_SHARE) * self.decay.spent, max(horizon - self.decay.spent, 1e-9))
            return max(1 - DECAY_SHARE + DECAY_SHARE * (ahead - self.decay.spent) / length, 1 - DECAY_SHARE, by_steps)
        return max(self.progress, ahead / horizon, by_steps)

    def reserve(self) -> float:
        """Seconds kept for the last evaluation on the way, the final one and saving."""
        maximum, cost = FINAL_SHARE * self.budget, self.costs.get("positions")
        if self.generates or (cost is None and max(self.positions, self.final_positions) > TRIAL_POSITIONS):
            return maximum
        evaluation = (cost or 0.0) * (self.final_positions + self.evaluation_positions()) * SAFETY_FACTOR
        return min(maximum, evaluation + max(SAVING_SHARE * self.budget, MIN_SAVING_SECONDS))

    def evaluation_is_due(self, state: TrainingState) -> bool:
        if self.options.evaluate_every:
            return state.step > 0 and state.step % self.options.evaluate_every == 0 and state.evaluated_step < state.step
        return state.step > 0 and (len(self.evaluations) + 1) / self.evaluation_count() <= self.progress < 1

    def evaluation_count(self) -> int:
        cheapest = self.costs.get("positions", 0.0) * min(TRIAL_POSITIONS, self.positions)
        return max(1, min(MAX_EVALUATIONS, int(EVALUATION_SHARE * self.budget / max(cheapest, 1e-9))))

    def evaluation_positions(self) -> int:
        """The same number in every evaluation on the way, so that they can be compared; 0 for all."""
        if self.evaluations:
            return self.evaluations[0].positions
        affordable = int(EVALUATION_SHARE * self.budget / self.evaluation_count() / self.costs.get("positions", 1e-9))
        affordable = max(min(affordable, MAX_EVALUATION_POSITIONS), TRIAL_POSITIONS)
        return 0 if affordable >= self.positions else affordable

    def final_evaluation(self, spent: float) -> dict[str, int]:
        remaining = max(self.budget - spent - max(SAVING_SHARE * self.budget, MIN_SAVING_SECONDS), 0.02 * self.budget) / SAFETY_FACTOR
        sentences = 0
        if self.generates:
            sentences = max(min(int(remaining / 2 / self.costs.get("sentences", 1.0)), MAX_SENTENCES), TRIAL_SENTENCES)
            remaining /= 2
        affordable = max(int(remaining / self.costs.get("positions", 1e-9)), TRIAL_POSITIONS)
        return {"positions": 0 if affordable >= self.final_positions else affordable, "sentences": sentences}

    def choose_threads(self) -> int:
        """All or one, whichever made the first updates faster; chosen once."""
        count = len(self.first_updates)
        if len(self.threads) == 1 or count < TRIAL_UPDATES:
            return self.threads[0]
        if count < 2 * TRIAL_UPDATES:
            return self.threads[1]
        if count > 2 * TRIAL_UPDATES:
            return self.first_updates[-1][0].threads
        times = [seconds for _, seconds in self.first_updates]  # the first with either number allocates memory and starts threads: it does not count
        several, one = statistics.median(times[1:TRIAL_UPDATES]), statistics.median(times[TRIAL_UPDATES + 1 :])
        return self.threads[0] if several < one else self.threads[1]


def time_budget(task: Task, data: TrainingData, run: Run, options: TrainingOptions, workers: Workers, limit: int | None, spent: float) -> TimeBudget:
    """Only rank 0 asks it, and only rank 0 writes its log."""
    threads = torch.get_num_threads()
    may_choose = options.threads is None and threads > 1 and workers.world_size == 1 and workers.device.type == "cpu"
    return TimeBudget(
        ClockLog(run.folder if workers.is_rank_zero else None), options, steps=limit, threads=(threads, 1) if may_choose else (threads,),
        positions=task.count_positions(data), final_positions=task.count_positions(data, data.final_split),
        generates=task.evaluates_generation, spent=spent, layers=task.model.block_count,
    )  # fmt: skip


def compile_seconds(task: Task, data: TrainingData) -> float:
    """Compile the kernels that the evaluation will call, if they are not compiled yet: how long that takes."""
    started = clock.now()
    task.trained_module.eval()
    task.generate_for_timing(data, 1)
    task.trained_module.train()
    return clock.now() - started


def extend_run(run: Run) -> None:
    """Go back to where the learning rate began to fall: a run with a longer budget resumes there."""
    log = ClockLog(run.folder)
    index, action = next(((i, action) for i, action in enumerate(log.actions) if action.kind == "decay"), (None, None))
    if index is None or action is None:
        return
    drop_checkpoints_after(run.folder, action.step)
    if newest_checkpoint(run.folder) is None:
        raise BadInput(f"{run.folder} has lost the checkpoint from before its decay, so it cannot be extended; use --init-from {run.folder}")
    run.rewind(action.step, action.step)
    log.truncate(index)
    say(f"{run.folder}: extended from step {action.step}, where its learning rate began to fall")


def drop_checkpoints_after(folder: Path, step: int) -> None:
    """Delete the checkpoints after this step, and the best weights, which will be found again."""
    for path in [folder / checkpoint_name(later) for later in checkpoint_steps(folder) if later > step] + list(best_folders(folder)):
        shutil.rmtree(path, ignore_errors=True)


def copy_clock(run: Run, plans_from: Run) -> None:
    """Take over the clock of another run, so that this one does the same at the same time."""
    log = ClockLog(run.folder)
    log.actions = read_log(plans_from.folder / clock.CLOCK_LOG)
    if log.actions:
        log.truncate(len(log.actions))
