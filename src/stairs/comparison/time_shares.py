"""The time of a climb: what has passed of its budget, which models there is time for, and the share of each that learns by gradients."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stairs import machine
from stairs.comparison.models import ClimbModel
from stairs.comparison.schema import Row
from stairs.errors import BadInput

SPARE_SHARE = 0.02  # of the time left, for what no model is charged with: the report, and a machine that is not always alone
# What evaluating takes besides the test examples, for each model, at most this share of the time left: it is loaded, and timed for a second.
EVALUATION_SECONDS, EVALUATIONS_SHARE = 1.5, 0.1
# What a climb needs before it makes sense, on an ordinary core; a slower machine needs more.
ORDINARY_GIGAFLOPS = 60.0
MIN_SECONDS = {"gradient": 9.0, "sweeping": 3.0, "counting": 1.0}  # by gradients: 50 updates on the text, as many on the labels, and the evaluation
START_SECONDS = 4.0  # to read the labels and to start
SECONDS_PER_MEGABYTE = 0.8  # to tokenize a megabyte of text for all models, and to count it


class ClimbClock:
    """Seconds since a climb began: all of them, and those that count for its budget."""

    def __init__(self, began: float) -> None:
        self.began, self.paused = began, 0.0

    @contextmanager
    def pause(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.paused += time.monotonic() - started

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def budget_seconds(self) -> float:
        return self.seconds() - self.paused


def models_within(models: Sequence[ClimbModel], budget: float, megabytes: float) -> tuple[list[ClimbModel], str]:
    """The models for which there is time, the cheapest first, and a sentence on those that are left out."""
    fitting = list(models)
    while fitting and seconds_needed(fitting, megabytes) > budget:
        fitting.pop()
    all_minutes = f"{math.ceil(seconds_needed(models, megabytes) / 60)}m"
    if not fitting:
        least = math.ceil(seconds_needed(list(models)[:1], megabytes))
        short = f"a budget of {budget:g} s is too short to read the text and to train anything on it"
        raise BadInput(f"{short}; {models[0].name} alone needs about {least} s, all models {all_minutes}")
    out = [model.name for model in models if model not in fitting]
    if not out:
        return fitting, ""
    names = out[0] if len(out) == 1 else f"{', '.join(out[:-1])} and {out[-1]}"
    return fitting, f"{budget:g} s leave no time for {names}; all models take --budget {all_minutes}"


def seconds_needed(models: Sequence[ClimbModel], megabytes: float) -> float:
    """In which all of these have time to learn something."""
    slowdown = max(1.0, ORDINARY_GIGAFLOPS / machine.gigaflops())
    training = sum(max(MIN_SECONDS[model.learns_by], model.min_seconds) for model in models)
    return (START_SECONDS + SECONDS_PER_MEGABYTE * megabytes + training) * slowdown / (1 - SPARE_SHARE)


def allot(models: Sequence[ClimbModel], seconds_left: float, evaluated: int = 0) -> dict[str, float]:
    """Shares of the time that is left, for the models that learn by gradients: equal ones for all that read the text. `evaluated` models are
    evaluated at the end."""
    shares = {model.name: model.share for model in models if model.learns_by == "gradient"}
    seconds = seconds_left * (1 - SPARE_SHARE) - min(EVALUATION_SECONDS * evaluated, EVALUATIONS_SHARE * seconds_left)
    return {name: round(seconds * share / sum(shares.values()), 3) for name, share in shares.items()}


def hand_on(shares: dict[str, float], model: ClimbModel, row: Row, later: Sequence[ClimbModel]) -> None:
    """What a model that reads no corpus leaves of its share is divided equally among the later ones; the others need what they have."""
    if model.reads_corpus or "time" not in row:
        return
    names = [other.name for other in later if other.name in shares]
    left = max(row["time"]["given"] - row["time"]["used"], 0.0)
    shares.update({name: round(shares[name] + left / len(names), 3) for name in names})
