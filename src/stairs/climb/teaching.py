"""A step of a climb learns what the labels ask: at once, by gradients through all of it, or as a head on vectors that are computed once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stairs.climb.ground import Ground
from stairs.climb.judging import judged
from stairs.climb.reading import trained
from stairs.models.transfer import TAUGHT, Transfer
from stairs.progress import say
from stairs.tasks import TASKS
from stairs.tasks.feature_cache import weights_hash
from stairs.tasks.supervised import Examples, Supervised
from stairs.training.at_once import learn_at_once
from stairs.training.fit import plan
from stairs.training.options import TrainingOptions
from stairs.training.run import load

EPOCHS, LEAST_STEPS = 3.0, 800  # as often as is usual; more often where examples are few
FEWEST_STEPS = 150  # or one epoch, if that is less: with fewer, the vectors as they are do better
NEW_RATE = 4.0  # an encoder that has read for minutes learns faster than one that has read for days


def at_once(ground: Ground, step: str, learn: Callable[[], Any]) -> dict[str, Any]:
    """A classifier that needs no gradients."""
    folder = ground.out / f"{ground.asks}-{step}"
    measured = learn_at_once(folder, ground.taught, learn, lambda task: {})
    return judged(ground, folder, measured["seconds"])


def taught(ground: Ground, step: str, source: Path, seconds: float, new: bool = True) -> dict[str, Any]:
    """By gradients. The mean of its vectors stands for a text: the vector of one token has to be learnt first, which takes more examples."""
    folder = ground.out / f"{ground.asks}-{step}"
    kind: Any = TASKS[TAUGHT[ground.asks]]
    encoder = load(source).model
    examples = Examples(ground.train, ground.dev, weights_hash(encoder))
    settings = kind.learned_from(ground.train)
    pooling: dict[str, Any] = {"pooling": "mean"} if ground.asks == "classify" else {}

    def task_with(way: str) -> Supervised:
        fresh = load(source)
        transfer = Transfer(transfer=way, whitened=way == "features", **pooling)  # type: ignore[arg-type]
        return kind(fresh.model, fresh.tokenizer, transfer, **settings)

    def decided() -> dict[str, Any]:
        if encoder.mixes:  # ELMo stays as it is, as in its paper: a mix of its layers learns with the head
            return {"transfer": "features", "training": {}}
        return chosen(step, task_with, examples, seconds, ground.seed, new)

    planned = ground.plans.of(folder.name, decided)
    measured = trained(ground, folder, planned, task_with(planned["transfer"]), examples)
    return {"transfer": planned["transfer"], **judged(ground, folder, measured["seconds"])}


def chosen(step: str, task_with: Callable[[str], Supervised], examples: Examples, seconds: float, seed: int, new: bool) -> dict[str, Any]:
    """All of the encoder, for as many epochs as are worth it or as there is time for; else a head on its vectors."""
    task = task_with("full")
    rate: dict[str, Any] = {"learning_rate": task.learning_rate * NEW_RATE} if new and hasattr(task.model, "blocks") else {}
    epoch = -(-len(examples.train) // task.usual["batch_examples"])
    epochs = max(EPOCHS, round(LEAST_STEPS / epoch, 1))
    needed = plan(task, examples, TrainingOptions(epochs=epochs, seed=seed))["minutes"] * 60
    if needed <= seconds:
        return {"transfer": "full", "training": {"epochs": epochs, **rate}}
    if epochs * epoch * seconds / needed >= min(FEWEST_STEPS, epoch):
        return {"transfer": "full", "training": {"budget": f"{seconds:.3f}s", **rate}}
    say(f"{step}: to teach all of it would take {needed:.0f} s and {seconds:.0f} are left; a head on its vectors learns instead")
    return {"transfer": "features", "training": {}}
