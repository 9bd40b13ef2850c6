"""Training under a time budget: most of it is spent on updates, and a run that is killed or suspended ends with the bits that its log determines."""

import itertools
import json
import os
import signal
import time

import pytest

from stairs.errors import BadInput
from stairs.training import checkpoint, clock, time_budget
from stairs.training.checkpoint import TrainingState
from stairs.training.clock import Action, ClockLog, read_log
from stairs.training.options import TrainingOptions
from stairs.training.run import Run
from stairs.training.time_budget import TimeBudget
from tests.training.training_server import outcome

TIMED = {"steps": None, "evaluate_every": None, "save_every": None}


def simulate(log, *, update=0.1, position=1e-5, sentence=0.01, options=None, positions=100_000, stop_after=None, waits=0, **more):
    """Perform the actions of a time budget, on a clock that advances by what each would cost. Returns the actions, the state and the time."""
    options = options or TrainingOptions(budget="60s")
    time_now = [0.0]
    clock.now = lambda: time_now[0]
    try:
        budget = TimeBudget(log, options, positions=positions, **more)
        state, actions = TrainingState(), []
        for count in itertools.count():
            action = budget.next(state)
            actions.append(action)
            if action.kind == "end" or count == stop_after:
                return actions, state, time_now[0]
            spends = {"update": update(action) if callable(update) else update, "decay": 0.0}
            evaluates = action.kind in ("evaluate", "time_evaluation") and not action.sentences
            evaluation = (action.positions or positions) * position if evaluates else 0.0
            time_now[0] += spends.get(action.kind, evaluation + action.sentences * sentence)
            state.step += action.kind == "update"
            state.actions_taken += 1
            if action.kind == "evaluate":
                state.evaluated_step = state.step
                state.evaluations_since_best = waits
    finally:
        clock.now = time.monotonic


@pytest.mark.parametrize("update", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("position", [1e-6, 1e-4, 2e-3])
@pytest.mark.parametrize("generates", [False, True])
def test_three_quarters_of_a_budget_are_updates_whatever_evaluation_costs(update, position, generates):
    actions, state, spent = simulate(ClockLog(None), update=update, position=position, generates=generates)
    end = actions[-1]
    last = (end.positions or 100_000) * position + end.sentences * 0.01
    assert state.step * update >= 0.75 * 60
    assert 0.85 * 60 <= spent + last <= 1.05 * 60 + update
    evaluations = [action for action in actions if action.kind == "evaluate"]
    assert 1 <= len(evaluations) <= 9 and evaluations[-1].step == state.step and len({action.positions for action in evaluations}) == 1
    assert evaluations[0].step * update >= 0.1 * 60 or len(evaluations) == 1  # not before anything has been learnt


def test_the_learning_rate_follows_the_clock_when_the_machine_gets_slower():
    actions, _, _ = simulate(ClockLog(None), update=lambda action: 0.05 if action.spent < 20 else 0.5)
    rates = [action for action in actions if action.kind == "update"]
    half = min(rates, key=lambda action: abs(action.spent - 30))
    assert 0.4 < half.lr_factor < 0.6 and rates[-1].lr_factor < 0.05


def test_a_suspended_process_does_not_lose_its_budget():
    actions, state, _ = simulate(ClockLog(None), update=lambda action: 3600.0 if action.step == 100 else 0.1)
    assert state.step > 300
    rates = [action.lr_factor for action in actions if action.kind == "update"]
    assert rates[101] > 0.5 * rates[100]


def test_a_limit_of_steps_ends_it_before_the_time_is_over():
    actions, state, spent = simulate(ClockLog(None), steps=50)
    assert state.step == 50 and spent < 10 and [action.lr_factor for action in actions if action.kind == "update"][-1] < 0.1


@pytest.mark.parametrize(("one_thread", "two_threads", "chosen"), [(0.1, 0.06, 2), (0.1, 0.3, 1)])
def test_threads_are_chosen_once_by_the_first_updates(one_thread, two_threads, chosen):
    actions, _, _ = simulate(ClockLog(None), threads=(2, 1), update=lambda action: two_threads if action.threads == 2 else one_thread)
    threads = [action.threads for action in actions if action.kind == "update"]
    assert threads[:6] == [2, 2, 2, 1, 1, 1] and set(threads[6:]) == {chosen}


def test_a_held_learning_rate_falls_in_the_last_fifth_or_when_nothing_improves():
    hold = TrainingOptions(budget="60s", schedule="hold", patience=2)
    actions, _, _ = simulate(ClockLog(None), options=hold)
    decay = next(action for action in actions if action.kind == "decay")
    assert 0.75 * 60 < decay.spent < 0.82 * 60
    early = {action.lr_factor for action in actions if action.spent < 3.5}
    assert {action.lr_factor for action in actions if action.kind == "update" and 10 < action.step < decay.step} <= {1.0} | early
    impatient, _, spent = simulate(ClockLog(None), options=hold, waits=2)
    assert next(action for action in impatient if action.kind == "decay").spent < 15 and spent < 25  # it falls now instead of ending at once


def test_without_improvement_the_learning_rate_falls_before_the_training_ends():
    actions, _, spent = simulate(ClockLog(None), options=TrainingOptions(budget="60s", patience=2), waits=2)
    decay = next(action for action in actions if action.kind == "decay")
    rates = [action.lr_factor for action in actions if action.kind == "update" and action.step >= decay.step]
    assert decay.spent < 15 and spent < 25 and 0.7 < rates[0] <= decay.lr_factor and rates[-1] < 0.1
    assert all(a >= b for a, b in itertools.pairwise(rates))


@pytest.mark.parametrize("schedule", ["linear", "hold"])
def test_a_limit_of_steps_holds_in_the_decay_too(schedule):
    actions, state, _ = simulate(ClockLog(None), options=TrainingOptions(budget="60s", schedule=schedule), steps=100)
    assert state.step == 100 and [action.kind for action in actions].count("decay") == (schedule == "hold")


def test_a_log_is_replayed_without_the_clock_and_then_time_counts(tmp_path):
    first = ClockLog(tmp_path)
    simulate(first, stop_after=200)
    with (tmp_path / clock.CLOCK_LOG).open("a") as file:
        file.write('{"kind": "upd')  # cut short by a kill
    again = ClockLog(tmp_path)
    assert again.actions == first.actions == read_log(tmp_path / clock.CLOCK_LOG)
    actions, _, _ = simulate(again, update=0.2)  # replaying takes time that does not count
    assert actions[: len(first.actions)] == first.actions and actions[-1].kind == "end"
    assert actions[len(first.actions)].spent == pytest.approx(first.actions[-1].spent)


# Real trainings


def bits(out):
    """Everything that must be equal; measured times are not."""
    result = outcome(out)
    for row in result["rows"]:
        row.pop("seconds_by_phase", None)
    return result


def replay(server, out, copy, model, **settings):
    """An undisturbed run with the clock of another."""
    assert server.train(copy, model, plans_from=str(out), **settings) == 0, server.messages(copy)
    return bits(copy)


@pytest.mark.parametrize(("model", "schedule"), [("gpt", "linear"), ("bert", "hold"), ("transformer", "linear"), ("tuned", "hold")])
def test_kills_change_no_bit_of_a_training_by_the_clock(server, tmp_path, model, schedule):
    kill(server, tmp_path, model, schedule, 3)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt", "bert", "nnlm", "elmo", "seq2seq", "transformer", "tuned"])
@pytest.mark.parametrize("schedule", ["linear", "hold"])
def test_twenty_kills_change_no_bit_of_a_training_by_the_clock(server, tmp_path, model, schedule):
    kill(server, tmp_path, model, schedule, 20)


def kill(server, tmp_path, model, schedule, times):
    out, settings = tmp_path / "run", {**TIMED, "budget": "4s" if times < 10 else "12s", "schedule": schedule, "save_every": 5}
    hit = 0
    for instant in range(times):
        number = server.start(out, model, **settings)
        time.sleep(0.4 + 0.07 * (instant % 9))
        os.kill(number, signal.SIGKILL)
        hit += server.wait(number) == -signal.SIGKILL
    assert server.train(out, model, **settings) == 0, server.messages(out)
    assert hit >= times // 2
    assert [action.kind for action in read_log(out / clock.CLOCK_LOG)].count("decay") == (schedule == "hold")
    assert replay(server, out, tmp_path / "copy", model, **settings) == bits(out)


def test_killed_in_the_decay_it_ends_with_the_same_bits(server, tmp_path):
    out, settings = tmp_path / "run", {**TIMED, "budget": "4s", "schedule": "hold", "save_every": 5}
    number = server.start(out, "gpt", **settings)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not any(action.kind == "decay" for action in read_log(out / clock.CLOCK_LOG)):
        time.sleep(0.02)
    os.kill(number, signal.SIGKILL)
    assert server.wait(number) == -signal.SIGKILL
    assert server.train(out, "gpt", **settings) == 0, server.messages(out)
    assert replay(server, out, tmp_path / "copy", "gpt", **settings) == bits(out)


def test_a_finished_run_with_a_held_learning_rate_is_extended_from_before_its_decay(train, tmp_path, messages):
    settings = {**TIMED, "schedule": "hold", "save_every": 1000}
    short = train(budget="2s", **settings)
    decay = next(action for action in read_log(tmp_path / "run" / clock.CLOCK_LOG) if action.kind == "decay")
    assert decay.step in checkpoint.checkpoint_steps(tmp_path / "run")  # never pruned
    long = train(budget="5s", **settings)
    assert any(f"extended from step {decay.step}" in line for line in messages)
    assert long["step"] > short["step"] and long["seconds"] > 3.5
    actions = read_log(tmp_path / "run" / clock.CLOCK_LOG)
    assert [action.kind for action in actions].count("decay") == 1 and [action.kind for action in actions].count("end") == 1
    steps = [row["step"] for row in Run(tmp_path / "run").metrics() if "loss_hex" in row]
    assert steps == list(range(1, long["step"] + 1))  # every update once
    assert train(budget="5s", **settings) == Run(tmp_path / "run").metrics()[-1] and messages[-1].endswith("is finished; nothing to do")


def test_a_run_whose_learning_rate_has_fallen_cannot_be_extended(train):
    train(budget="2s", **TIMED)
    with pytest.raises(BadInput, match=r"--schedule linear.*started with --schedule hold.*--init-from"):
        train(budget="5s", **TIMED)


def test_a_budget_that_is_too_short_is_refused_and_leaves_nothing(train, tmp_path, monkeypatch):
    from stairs.training.gradients import GradientUpdater

    monkeypatch.setattr(GradientUpdater, "rehearse", lambda self, step: time.sleep(0.1))
    with pytest.raises(BadInput, match=r"--budget 1s is too short.*an update takes 0.1\d s.*give --budget \ds or more"):
        train(budget="1s", **TIMED)
    assert not (tmp_path / "run").exists()


def test_most_of_the_time_is_spent_on_updates(train, tmp_path):
    measured = train(budget="4s", **TIMED)
    assert measured["seconds_by_phase"]["updates"] > 0.6 * 4  # 0.75 on a machine that is not testing other things
    assert measured["trained_steps"] == measured["step"] == Run(tmp_path / "run").settings["probed_plan"]["steps"]
    assert Run(tmp_path / "run").settings["machine"]["kind"] in ("bf16", "avx512", "avx2", "other")


def test_training_continues_when_the_log_cannot_be_written(train, tmp_path, monkeypatch, messages):
    add = ClockLog.add

    def full(self, action):
        if action.step == 3 and self.path is not None and not self.path.is_dir():  # on a busy machine, step 3 may have more than one action
            self.path.unlink(missing_ok=True)
            self.path.mkdir()
        add(self, action)

    monkeypatch.setattr(ClockLog, "add", full)
    monkeypatch.setattr(ClockLog, "sync", lambda self: None)
    train(budget="2s", **TIMED)
    assert len([line for line in messages if "will not give the same bits" in line]) == 1


def test_actions_are_lines_of_json():
    action = Action("update", 3, spent=1.5, lr_factor=0.1 + 0.2, threads=2)
    assert Action(**json.loads(action.line())) == action and "positions" not in action.line()
    assert time_budget.EVALUATION_SHARE + time_budget.FINAL_SHARE <= 0.15
