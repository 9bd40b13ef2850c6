"""A step of a climb reads the text: the size and the number of steps that its time allows."""

from pathlib import Path
from typing import Any

from stairs.climb.ground import Ground
from stairs.climb.judging import cost
from stairs.models import MODELS
from stairs.models.configs import configured
from stairs.models.sizes import SIZES
from stairs.tasks import TASKS, BothWays, NextToken, Task
from stairs.text.shards import Shards
from stairs.text.tokenizer import Tokenizer
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
    measured = trained(ground, folder, planned, untrained(step, shards.tokenizer, planned["size"], **settings), shards)
    predicts = MODELS[step].pretrains_with in (NextToken.name, BothWays.name)  # the bits of other tasks are of another kind
    quality: dict[str, Any] = {name: measured[name] for name in ("bits_per_character", "perplexity") if predicts}
    return {"size": planned["size"], "run": folder.name, "seconds": measured["seconds"], **quality, **cost(folder)}


def trained(ground: Ground, folder: Path, planned: dict[str, Any], task: Task, examples: Any) -> dict[str, Any]:
    """As it was planned; what a probe found belongs to the plan."""
    measured = fit(task, examples, folder, TrainingOptions(**planned["training"], seed=ground.seed), planned.get("decided"))
    planned["decided"] = Run(folder).settings.get("decided")
    return measured


def chosen(step: str, shards: Shards, seconds: float, seed: int) -> dict[str, Any]:
    """The size, and how long: as long as there is time, or the usual epochs of a step that sweeps, if those take less."""
    if not seconds:
        return {"size": "mini", "training": {}}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[step].learns_by == "sweeping":  # always to the same numbers, or a climb could not be done again
        needed = plan(untrained(step, shards.tokenizer, "mini"), shards, TrainingOptions(seed=seed, deterministic=True))["minutes"] * 60
        return {"size": "mini", "training": {"deterministic": True, **(budget if needed > seconds else {})}}
    size = "mini"
    for larger in LARGER if seconds >= LARGER_FROM else ():
        planned = plan(untrained(step, shards.tokenizer, larger), shards, TrainingOptions(**budget, seed=seed))
        if planned["tokens_per_second"] * seconds < TOKENS_PER_WEIGHT * planned["parameters"]:
            break
        size = larger
    return {"size": size, "training": budget}


def untrained(step: str, tokenizer: Tokenizer, size: str, **settings: Any) -> Task:
    """The task on which a step learns from plain text, or from pairs, with weights that know nothing."""
    kind = MODELS[step]
    return TASKS[kind.pretrains_with](kind(configured(step, tokenizer.roles, **{**SIZES[step][size], **settings})), tokenizer)
