"""Training by the clock: most of a budget is spent on updates, and a run that is killed, stopped or asleep still ends with the bits its log says."""

import itertools
import json
import os
import signal
import time

import pytest

from stairs.errors import BadInput
from stairs.training import budgets, checkpoint, clock
from stairs.training.budgets import TimeBudget
from stairs.training.checkpoint import TrainingState
from stairs.training.clock import Action, ClockLog, read_log
from stairs.training.options import TrainingOptions
from stairs.training.run import Run
from tests.training.nursery import outcome

TIMED = {"steps": None, "evaluate_every": None, "save_every": None}


def simulate(log, *, update=0.1, position=1e-5, sentence=0.01, options=None, positions=100_000, stop_after=None, waits=0, **more):
    """Take the turns that a pace gives, on a clock that goes by what each would cost. Returns the turns and the state."""
    options = options or TrainingOptions(budget="60s")
    time_now = [0.0]
    clock.now = lambda: time_now[0]
    try:
        found = TimeBudget(log, options, positions=positions, **more)
        state, turns = TrainingState(), []
        for count in itertools.count():
            turn = found.next(state)
            turns.append(turn)
            if turn.kind == "end" or count == stop_after:
                return turns, state, time_now[0]
            spends = {"update": update(turn) if callable(update) else update, "decay": 0.0}
            judging = (turn.positions or positions) * position if turn.kind in ("evaluate", "time_evaluation") and not turn.sentences else 0.0
            time_now[0] += spends.get(turn.kind, judging + turn.sentences * sentence)
            state.step += turn.kind == "update"
            state.actions_taken += 1
            if turn.kind == "evaluate":
                state.evaluated_step = state.step
                state.evaluations_since_best = waits
    finally:
        clock.now = time.monotonic


@pytest.mark.parametrize("update", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("position", [1e-6, 1e-4, 2e-3])
@pytest.mark.parametrize("generates", [False, True])
def test_three_quarters_of_a_budget_are_updates_whatever_judging_costs(update, position, generates):
    turns, state, spent = simulate(ClockLog(None), update=update, position=position, generates=generates)
    end = turns[-1]
    last = (end.positions or 100_000) * position + end.sentences * 0.01
    assert state.step * update >= 0.75 * 60
    assert 0.85 * 60 <= spent + last <= 1.05 * 60 + update
    looks = [turn for turn in turns if turn.kind == "evaluate"]
    assert 1 <= len(looks) <= 9 and looks[-1].step == state.step and len({turn.positions for turn in looks}) == 1
    assert looks[0].step * update >= 0.1 * 60 or len(looks) == 1  # not before something has been learnt


def test_the_rate_follows_the_clock_when_the_machine_gets_slower():
    turns, _, _ = simulate(ClockLog(None), update=lambda turn: 0.05 if turn.spent < 20 else 0.5)
    rates = [turn for turn in turns if turn.kind == "update"]
    half = min(rates, key=lambda turn: abs(turn.spent - 30))
    assert 0.4 < half.rate < 0.6 and rates[-1].rate < 0.05


def test_a_process_that_was_asleep_does_not_lose_its_training():
    turns, state, _ = simulate(ClockLog(None), update=lambda turn: 3600.0 if turn.step == 100 else 0.1)
    assert state.step > 300
    rates = [turn.rate for turn in turns if turn.kind == "update"]
    assert rates[101] > 0.5 * rates[100]


def test_a_limit_of_steps_ends_it_before_the_time_is_over():
    turns, state, spent = simulate(ClockLog(None), steps=50)
    assert state.step == 50 and spent < 10 and [turn.rate for turn in turns if turn.kind == "update"][-1] < 0.1


@pytest.mark.parametrize(("alone", "together", "chosen"), [(0.1, 0.06, 2), (0.1, 0.3, 1)])
def test_threads_are_chosen_once_by_the_first_updates(alone, together, chosen):
    turns, _, _ = simulate(ClockLog(None), threads=(2, 1), update=lambda turn: together if turn.threads == 2 else alone)
    used = [turn.threads for turn in turns if turn.kind == "update"]
    assert used[:6] == [2, 2, 2, 1, 1, 1] and set(used[6:]) == {chosen}


def test_held_rates_fall_in_the_last_fifth_or_earlier_when_nothing_gets_better():
    hold = TrainingOptions(budget="60s", schedule="hold", patience=2)
    turns, _, _ = simulate(ClockLog(None), options=hold)
    decay = next(turn for turn in turns if turn.kind == "decay")
    assert 0.75 * 60 < decay.spent < 0.82 * 60
    assert {turn.rate for turn in turns if turn.kind == "update" and 10 < turn.step < decay.step} <= {1.0} | {t.rate for t in turns if t.spent < 3.5}
    impatient, _, spent = simulate(ClockLog(None), options=hold, waits=2)
    assert next(turn for turn in impatient if turn.kind == "decay").spent < 15 and spent < 25  # it falls now, instead of ending at once


def test_a_training_that_brings_nothing_any_more_lets_its_rate_fall_before_it_ends():
    turns, _, spent = simulate(ClockLog(None), options=TrainingOptions(budget="60s", patience=2), waits=2)
    decay = next(turn for turn in turns if turn.kind == "decay")
    rates = [turn.rate for turn in turns if turn.kind == "update" and turn.step >= decay.step]
    assert decay.spent < 15 and spent < 25 and 0.7 < rates[0] <= decay.rate and rates[-1] < 0.1
    assert all(a >= b for a, b in itertools.pairwise(rates))


@pytest.mark.parametrize("schedule", ["linear", "hold"])
def test_a_limit_of_steps_holds_in_the_decay_too(schedule):
    turns, state, _ = simulate(ClockLog(None), options=TrainingOptions(budget="60s", schedule=schedule), steps=100)
    assert state.step == 100 and [turn.kind for turn in turns].count("decay") == (schedule == "hold")


def test_a_log_is_replayed_without_the_clock_and_then_time_goes_on(tmp_path):
    first = ClockLog(tmp_path)
    simulate(first, stop_after=200)
    with (tmp_path / clock.CLOCK_LOG).open("a") as file:
        file.write('{"kind": "upd')  # a kill cut it short
    again = ClockLog(tmp_path)
    assert again.actions == first.actions == read_log(tmp_path / clock.CLOCK_LOG)
    turns, _, _ = simulate(again, update=0.2)  # replaying costs time that does not count
    assert turns[: len(first.actions)] == first.actions and turns[-1].kind == "end"
    assert turns[len(first.actions)].spent == pytest.approx(first.actions[-1].spent)


# For real


def bits(out):
    """All that must be equal; what the clock showed is not."""
    found = outcome(out)
    for line in found["lines"]:
        line.pop("seconds_by_phase", None)
    return found


def replayed(nursery, out, copy, step, **given):
    """A run that nobody disturbs, with the clock of another."""
    assert nursery.train(copy, step, plans_from=str(out), **given) == 0, nursery.said(copy)
    return bits(copy)


@pytest.mark.parametrize(("step", "schedule"), [("gpt", "linear"), ("bert", "hold"), ("transformer", "linear"), ("tuned", "hold")])
def test_kills_change_no_bit_of_a_training_by_the_clock(nursery, tmp_path, step, schedule):
    kill(nursery, tmp_path, step, schedule, 3)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["gpt", "bert", "nnlm", "elmo", "seq2seq", "transformer", "tuned"])
@pytest.mark.parametrize("schedule", ["linear", "hold"])
def test_twenty_kills_change_no_bit_of_a_training_by_the_clock(nursery, tmp_path, step, schedule):
    kill(nursery, tmp_path, step, schedule, 20)


def kill(nursery, tmp_path, step, schedule, times):
    out, given = tmp_path / "run", {**TIMED, "budget": "4s" if times < 10 else "12s", "schedule": schedule, "save_every": 5}
    hit = 0
    for instant in range(times):
        number = nursery.start(out, step, **given)
        time.sleep(0.4 + 0.07 * (instant % 9))
        os.kill(number, signal.SIGKILL)
        hit += nursery.wait(number) == -signal.SIGKILL
    assert nursery.train(out, step, **given) == 0, nursery.said(out)
    assert hit >= times // 2
    assert [turn.kind for turn in read_log(out / clock.CLOCK_LOG)].count("decay") == (schedule == "hold")
    assert replayed(nursery, out, tmp_path / "copy", step, **given) == bits(out)


def test_killed_in_the_decay_it_ends_with_the_same_bits(nursery, tmp_path):
    out, given = tmp_path / "run", {**TIMED, "budget": "4s", "schedule": "hold", "save_every": 5}
    number = nursery.start(out, "gpt", **given)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not any(turn.kind == "decay" for turn in read_log(out / clock.CLOCK_LOG)):
        time.sleep(0.02)
    os.kill(number, signal.SIGKILL)
    assert nursery.wait(number) == -signal.SIGKILL
    assert nursery.train(out, "gpt", **given) == 0, nursery.said(out)
    assert replayed(nursery, out, tmp_path / "copy", "gpt", **given) == bits(out)


def test_a_finished_run_with_a_held_rate_is_made_longer_from_before_its_decay(train, tmp_path, said):
    given = {**TIMED, "schedule": "hold", "save_every": 1000}
    short = train(budget="2s", **given)
    decay = next(turn for turn in read_log(tmp_path / "run" / clock.CLOCK_LOG) if turn.kind == "decay")
    assert decay.step in checkpoint.checkpoint_steps(tmp_path / "run")  # never pruned
    long = train(budget="5s", **given)
    assert any(f"made longer, from step {decay.step}" in line for line in said)
    assert long["step"] > short["step"] and long["seconds"] > 3.5
    turns = read_log(tmp_path / "run" / clock.CLOCK_LOG)
    assert [turn.kind for turn in turns].count("decay") == 1 and [turn.kind for turn in turns].count("end") == 1
    steps = [line["step"] for line in Run(tmp_path / "run").metrics() if "loss_hex" in line]
    assert steps == list(range(1, long["step"] + 1))  # every update once
    assert train(budget="5s", **given) == Run(tmp_path / "run").metrics()[-1] and said[-1].endswith("is finished; nothing to do")


def test_a_run_whose_rate_has_fallen_says_why_it_cannot_be_made_longer(train):
    train(budget="2s", **TIMED)
    with pytest.raises(BadInput, match=r"--schedule linear.*begun with --schedule hold.*--init-from"):
        train(budget="5s", **TIMED)


def test_a_budget_in_which_nothing_can_be_learnt_is_refused_and_leaves_nothing(train, tmp_path, monkeypatch):
    from stairs.training.gradients import GradientUpdater

    monkeypatch.setattr(GradientUpdater, "rehearse", lambda self, step: time.sleep(0.1))
    with pytest.raises(BadInput, match=r"--budget 1s is too short.*an update takes 0.1\d s.*give --budget \ds or more"):
        train(budget="1s", **TIMED)
    assert not (tmp_path / "run").exists()


def test_most_of_the_time_is_spent_learning(train, tmp_path):
    measured = train(budget="4s", **TIMED)
    assert measured["seconds_by_phase"]["updates"] > 0.6 * 4  # 0.75 on a machine that is not testing other things
    assert measured["finished"] == measured["step"] == Run(tmp_path / "run").settings["probed_plan"]["steps"]
    assert Run(tmp_path / "run").settings["machine"]["kind"] in ("bf16", "avx512", "avx2", "other")


def test_a_log_that_cannot_be_written_is_said_and_training_goes_on(train, tmp_path, monkeypatch, said):
    add = ClockLog.add

    def full(self, turn):
        if turn.step == 3 and self.path is not None:
            (tmp_path / "run" / clock.CLOCK_LOG).unlink(missing_ok=True)
            (tmp_path / "run" / clock.CLOCK_LOG).mkdir(exist_ok=True)
        add(self, turn)

    monkeypatch.setattr(ClockLog, "add", full)
    monkeypatch.setattr(ClockLog, "sync", lambda self: None)
    monkeypatch.setattr(clock, "say", said.append)
    train(budget="2s", **TIMED)
    assert len([line for line in said if "will not go on to the same bits" in line]) == 1


def test_turns_are_lines_of_json():
    turn = Action("update", 3, spent=1.5, rate=0.1 + 0.2, threads=2)
    assert Action(**json.loads(turn.line())) == turn and "positions" not in turn.line()
    assert budgets.EVALUATION_SHARE + budgets.FINAL_SHARE <= 0.15
