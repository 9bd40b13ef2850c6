"""A step of a climb reads the text: the size and the number of steps that its time allows."""

from typing import Any

from stairs.climb.ground import Ground
from stairs.climb.judging import cost
from stairs.models import MODELS
from stairs.models.configs import configured
from stairs.models.sizes import SIZES
from stairs.tasks import TASKS, BothWays, NextToken, Task
from stairs.text.shards import Shards
from stairs.training.fit import fit, plan
from stairs.training.options import TrainingOptions
from stairs.training.run import Run

LARGER_FROM = 1800.0  # seconds of reading for which a larger size than mini is thought of
LARGER = ("small", "base")
TOKENS_PER_WEIGHT = 5  # that a size should have time to read


def read(ground: Ground, step: str, seconds: float, **settings: Any) -> dict[str, Any]:
    """Pretrain a step; what it costs, and where it predicts, how well."""
    shards = ground.shards_for(step)
    folder = ground.out / f"{MODELS[step].pretrains_with}-{step}"
    planned = ground.plans.of(folder.name, lambda: chosen(step, shards, seconds, ground.seed))
    task = untrained(step, shards, **{**SIZES[step][planned["size"]], **settings})
    measured = fit(task, shards, folder, TrainingOptions(**planned["training"], seed=ground.seed), planned.get("decided"))
    planned["decided"] = Run(folder).settings.get("decided")
    predicts = MODELS[step].pretrains_with in (NextToken.name, BothWays.name)  # the bits of other tasks are of another kind
    quality: dict[str, Any] = {name: measured[name] for name in ("bits_per_character", "perplexity") if predicts}
    return {"size": planned["size"], "run": folder.name, "seconds": measured["seconds"], **quality, **cost(folder)}


def chosen(step: str, shards: Shards, seconds: float, seed: int) -> dict[str, Any]:
    """The size, and how long: as long as there is time, or the usual epochs of a step that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[step].learns_by == "sweeping":  # always to the same numbers, or a climb could not be done again
        needed = plan(untrained(step, shards, **SIZES[step]["mini"]), shards, TrainingOptions(seed=seed, deterministic=True))["minutes"] * 60
        return {"size": "mini", "training": {"deterministic": True, **(budget if needed > seconds else {})}}
    size = "mini"
    for larger in LARGER if seconds >= LARGER_FROM else ():
        planned = plan(untrained(step, shards, **SIZES[step][larger]), shards, TrainingOptions(**budget, seed=seed))
        if planned["tokens_per_second"] * seconds < TOKENS_PER_WEIGHT * planned["parameters"]:
            break
        size = larger
    return {"size": size, "training": budget}


def untrained(step: str, shards: Shards, **settings: Any) -> Task:
    """The task on which a step learns from plain text, with weights that know nothing."""
    kind = MODELS[step]
    return TASKS[kind.pretrains_with](kind(configured(step, shards.tokenizer.roles, **settings)), shards.tokenizer)
