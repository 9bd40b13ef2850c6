"""How a climb divides its time: every model that learns by gradients has a share of the clock, allotted before the first of them begins."""

import math
from collections.abc import Sequence
from typing import Any

from stairs import machine
from stairs.climb.experiment import MAX_HELD_OUT_PAIRS
from stairs.climb.models import ClimbModel
from stairs.errors import BadInput

SPARE = 0.02  # of the time left, for what no model is charged with: the report, and a machine that is not always alone
FEWEST_TRANSLATED = 50  # test sentences, however short the time
SWEEPING_SHARE = 0.05  # of a budget, at most, for each model that sweeps over the text
# What a climb needs before it makes sense, on an ordinary core; a slower machine needs more.
ORDINARY = 60.0  # billions of float32 operations a second
LEAST_LEARNING = 9.0  # seconds for a model to make 50 updates on the text, and as many on the labels, and to be judged
LEAST_SWEEPING = 3.0
LEAST_COUNTING = 1.0
START = 4.0  # seconds to read the labels and to begin
PER_MEGABYTE = 0.8  # seconds to cut a megabyte of text in the ways the models want it, and to count it


def needed(models: Sequence[ClimbModel], megabytes: float) -> float:
    """Seconds in which all of these have time to learn something."""
    slower = max(1.0, ORDINARY / machine.gigaflops())
    each = {"gradient": LEAST_LEARNING, "sweeping": LEAST_SWEEPING, "counting": LEAST_COUNTING}
    return (START + PER_MEGABYTE * megabytes + sum(each[model.learns_by] for model in models)) * slower / (1 - SPARE)


def models_within(models: Sequence[ClimbModel], budget: float, megabytes: float) -> tuple[list[ClimbModel], str]:
    """The models for which there is time, the cheapest first, and a sentence on those that are left out."""
    fitting = list(models)
    while fitting and needed(fitting, megabytes) > budget:
        fitting.pop()
    if not fitting:
        least = needed(list(models)[:1], megabytes)
        raise BadInput(
            f"a budget of {budget:g} s is too short to read the text and to train anything on it; {models[0].name} alone needs about "
            f"{math.ceil(least)} s, all models {whole_minutes(needed(models, megabytes))}"
        )
    out = [model.name for model in models if model not in fitting]
    if not out:
        return fitting, ""
    names = out[0] if len(out) == 1 else f"{', '.join(out[:-1])} and {out[-1]}"
    return fitting, f"{budget:g} s leave no time for {names}; all models take --budget {whole_minutes(needed(models, megabytes))}"


def whole_minutes(seconds: float) -> str:
    return f"{math.ceil(seconds / 60)}m"


def allot(models: Sequence[ClimbModel], left: float) -> dict[str, float]:
    """Equal shares of the time that is left, for those that learn by gradients."""
    learning = [model.name for model in models if model.learns_by == "gradient"]
    return {name: round(left * (1 - SPARE) / len(learning), 3) for name in learning}


def max_held_out_pairs(budget: float) -> int:
    """Sentences of the test part, and of the one that decides when to stop: to translate takes longer than to learn."""
    return int(min(max(budget, FEWEST_TRANSLATED), MAX_HELD_OUT_PAIRS))


def time_of(given: float, used: float, training: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a row says of its time: the share that was given and used, and how much of that was updates."""
    inside = [found["seconds_by_phase"] for found in training if "seconds_by_phase" in found]
    return {
        "given": round(given, 3),
        "used": round(used, 3),
        "updates": round(sum(found["updates"] for found in inside), 3),
        "evaluation": round(sum(found["evaluation"] for found in inside), 3),
        "encoding": round(sum(found.get("encoding", 0.0) for found in inside), 3),
    }
