"""What comes next in a training: an update, a look at validation data, or the end. By counting updates, or by the clock.

By the clock, at least three quarters of a budget are for updates. Looks on the way and the judgement at the end have shares of the time; how much
they look at follows from what a look is seen to cost. All that is decided here stands in the log of the clock, so that it need not be decided again.
"""

import statistics
from collections import deque
from itertools import pairwise
from typing import Protocol

from stairs.training.checkpoint import TrainingState
from stairs.training.clock import Action, Clock, ClockLog
from stairs.training.options import TrainingOptions
from stairs.training.schedule import DECAY_SHARE, lr_factor_by_steps, lr_factor_by_time

MAX_EVALUATIONS = 8  # in a budget, at the most
EVALUATION_SHARE = 0.06  # of a budget, for the looks on the way
FINAL_SHARE = 0.08  # and for the judgement at the end, with saving; the less is needed, the more goes to updates
SAFETY_FACTOR = 1.25  # what is estimated may take so many times as long: others use the machine, too
SAVING_SHARE = 0.01  # of a budget, for writing the model
MIN_SAVING_SECONDS = 0.2  # seconds
TRIAL_POSITIONS = 1024  # positions on which judging is timed
TRIAL_SENTENCES = 8
MAX_SENTENCES = 500  # that are generated at the end
MAX_EVALUATION_POSITIONS = 65_536  # of validation data looked at while training, at the most
TRIAL_UPDATES = 3  # updates with all threads, and as many with one, before the faster way is chosen


class Budget(Protocol):
    def next(self, state: TrainingState) -> Action:
        """What to do when the training stands at `state`."""

    def done(self, state: TrainingState) -> tuple[float, float, str]:
        """How much of how much, in which unit."""

    def sync(self) -> None:
        """Put on the disk what a checkpoint of now relies on."""


class StepBudget:
    """A number of updates that is known before."""

    def __init__(self, steps: int, options: TrainingOptions, every: int, positions: int) -> None:
        self.steps, self.options, self.every, self.positions = steps, options, every, positions

    def next(self, state: TrainingState) -> Action:
        last = state.step >= self.steps
        if (state.step % self.every == 0 or last) and state.evaluated_step < state.step:
            return Action("evaluate", state.step, positions=self.positions)
        if last or is_impatient(state, self.options):
            return Action("end", state.step)
        return Action("update", state.step, rate=lr_factor_by_steps(state.step, self.steps, *schedule_arguments(self.options)))

    def done(self, state: TrainingState) -> tuple[float, float, str]:
        return state.step, self.steps, "steps"

    def sync(self) -> None:
        """It relies on nothing."""


class TimeBudget:
    """As many updates as there is time for, in the one process that reads the clock."""

    def __init__(
        self, log: ClockLog, options: TrainingOptions, *, steps: int | None = None, threads: tuple[int, ...] = (1,), positions: int = 1,
        positions_at_end: int | None = None, generates: bool = False, spent: float = 0.0,
    ) -> None:  # fmt: skip
        """`checkpoint_steps` is the most there may be, `cpu_threads` what may be chosen from, `positions` how many there are to judge on the way and
        at the end, `generates` whether sentences are generated at the end, `spent` the seconds that are gone."""
        self.log, self.options, self.steps, self.threads, self.generates = log, options, steps, threads, generates
        self.positions, self.positions_at_end = positions, positions if positions_at_end is None else positions_at_end
        self.budget = options.budget_seconds
        self.clock = Clock()
        self.clock.start(spent)
        self.progress = 0.0
        self.decay: Action | None = None
        self.evaluations: list[Action] = []
        self.first_updates: list[tuple[Action, float]] = []  # on which threads are chosen
        self.late_updates: deque[float] = deque(maxlen=20)  # seconds
        self.costs: dict[str, float] = {}  # seconds to judge a position, to generate a sentence
        for turn, after in pairwise(log.actions):
            self.observe(turn, after.spent - turn.spent)
        self.last: Action | None = None  # the turn in hand, if time counts
        self.replays = bool(log.actions)

    def next(self, state: TrainingState) -> Action:
        if state.actions_taken < len(self.log.actions):
            return self.log.actions[state.actions_taken]
        if self.replays:  # all that was done before is done again; from now on time counts
            self.observe(self.log.actions[-1], 0.0)
            self.clock.start(self.log.actions[-1].spent)
            self.replays = False
        spent = self.clock.read(self.typical_seconds())
        if self.last is not None:
            self.observe(self.last, spent - self.last.spent)
        self.last = self.decide(state, spent)
        self.log.add(self.last)
        return self.last

    def observe(self, turn: Action, seconds: float) -> None:
        """What a turn that was taken tells: what it was, and, unless that is 0, how long it took."""
        if turn.kind == "decay":
            self.decay = turn
        if turn.kind == "evaluate":
            self.evaluations.append(turn)
        if turn.kind == "update":
            self.late_updates.append(seconds)
            if len(self.first_updates) <= 2 * TRIAL_UPDATES:
                self.first_updates.append((turn, seconds))
        elif turn.sentences and seconds:
            self.costs["sentences"] = seconds / turn.sentences
        elif turn.kind in ("evaluate", "time_evaluation") and seconds:
            self.costs["positions"] = seconds / min(turn.positions or self.positions, self.positions)

    def typical_seconds(self) -> float | None:
        """How long what was done last usually takes."""
        known = self.last is not None and self.last.kind == "update" and len(self.late_updates) >= TRIAL_UPDATES
        return statistics.median(self.late_updates) if known else None

    def done(self, state: TrainingState) -> tuple[float, float, str]:
        return state.seconds, self.budget, "s"

    def sync(self) -> None:
        self.log.sync()

    # Deciding

    def decide(self, state: TrainingState, spent: float) -> Action:
        threads = self.choose_threads()

        def turn(do: str, **more: float) -> Action:
            return Action(do, state.step, spent, threads=threads, **more)  # type: ignore[arg-type]

        self.progress = self.progress_at(state, spent)
        over = state.step > 0 and self.progress >= 1
        if over or self.evaluation_is_due(state):
            if "positions" not in self.costs and max(self.positions, self.positions_at_end) > TRIAL_POSITIONS:
                return turn("time_evaluation", positions=TRIAL_POSITIONS)
            if state.evaluated_step < state.step:
                return turn("evaluate", positions=self.evaluation_positions())
        if over:
            if self.generates and "sentences" not in self.costs:
                return turn("time_evaluation", sentences=TRIAL_SENTENCES)
            return turn("end", **self.final_evaluation(spent))
        rate = lr_factor_by_time(state.step, self.progress, *schedule_arguments(self.options))
        if self.decay is not None:
            return turn("update", rate=self.decay.rate * (1 - self.progress) / DECAY_SHARE)
        held = self.options.schedule == "hold" and self.progress >= 1 - DECAY_SHARE
        if state.step and (held or is_impatient(state, self.options)):  # what brings nothing any more may still gain from a rate that falls
            return turn("decay", rate=1.0 if held else rate)
        return turn("update", rate=rate)

    def progress_at(self, state: TrainingState, spent: float) -> float:
        """The share of the training that is done: it never goes back, and half an update before the end there is no time for another."""
        horizon = max(self.budget - self.reserve(), self.budget / 2)
        ahead = spent + statistics.median(self.late_updates or [0.0]) / 2
        by_steps = state.step / self.steps if self.steps else 0.0
        if self.decay is not None:  # it may have begun early, when nothing got better any more
            length = min(DECAY_SHARE / (1 - DECAY_SHARE) * self.decay.spent, max(horizon - self.decay.spent, 1e-9))
            return max(1 - DECAY_SHARE + DECAY_SHARE * (ahead - self.decay.spent) / length, 1 - DECAY_SHARE, by_steps)
        return max(self.progress, ahead / horizon, by_steps)

    def reserve(self) -> float:
        """Seconds kept for the last look, the judgement at the end and saving."""
        most, cost = FINAL_SHARE * self.budget, self.costs.get("positions")
        if self.generates or (cost is None and max(self.positions, self.positions_at_end) > TRIAL_POSITIONS):
            return most
        judging = (cost or 0.0) * (self.positions_at_end + self.evaluation_positions()) * SAFETY_FACTOR
        return min(most, judging + max(SAVING_SHARE * self.budget, MIN_SAVING_SECONDS))

    def evaluation_is_due(self, state: TrainingState) -> bool:
        if self.options.evaluate_every:
            return state.step > 0 and state.step % self.options.evaluate_every == 0 and state.evaluated_step < state.step
        return state.step > 0 and (len(self.evaluations) + 1) / self.evaluation_count() <= self.progress < 1

    def evaluation_count(self) -> int:
        one = self.costs.get("positions", 0.0) * min(TRIAL_POSITIONS, self.positions)
        return max(1, min(MAX_EVALUATIONS, int(EVALUATION_SHARE * self.budget / max(one, 1e-9))))

    def evaluation_positions(self) -> int:
        """As many in every look, or no two could be compared; 0 for all."""
        if self.evaluations:
            return self.evaluations[0].positions
        fits = int(EVALUATION_SHARE * self.budget / self.evaluation_count() / self.costs.get("positions", 1e-9))
        fits = max(min(fits, MAX_EVALUATION_POSITIONS), TRIAL_POSITIONS)
        return 0 if fits >= self.positions else fits

    def final_evaluation(self, spent: float) -> dict[str, int]:
        left = max(self.budget - spent - max(SAVING_SHARE * self.budget, MIN_SAVING_SECONDS), 0.02 * self.budget) / SAFETY_FACTOR
        sentences = 0
        if self.generates:
            sentences = max(min(int(left / 2 / self.costs.get("sentences", 1.0)), MAX_SENTENCES), TRIAL_SENTENCES)
            left /= 2
        fits = max(int(left / self.costs.get("positions", 1e-9)), TRIAL_POSITIONS)
        return {"positions": 0 if fits >= self.positions_at_end else fits, "sentences": sentences}

    def choose_threads(self) -> int:
        """All or one, whichever made the first updates faster; chosen once."""
        count = len(self.first_updates)
        if len(self.threads) == 1 or count < TRIAL_UPDATES:
            return self.threads[0]
        if count < 2 * TRIAL_UPDATES:
            return self.threads[1]
        if count > 2 * TRIAL_UPDATES:
            return self.first_updates[-1][0].threads
        times = [seconds for _, seconds in self.first_updates]  # the first of either way finds its memory and its threads, and does not count
        several, one = statistics.median(times[1:TRIAL_UPDATES]), statistics.median(times[TRIAL_UPDATES + 1 :])
        return self.threads[0] if several < one else self.threads[1]


def is_impatient(state: TrainingState, options: TrainingOptions) -> bool:
    return 0 < options.patience <= state.evaluations_since_best


def schedule_arguments(options: TrainingOptions) -> tuple[str, float, int | None]:
    """What the schedule is told."""
    return options.schedule, options.warmup, options.warmup_steps
