"""How each step climbs: first it reads the text, then it learns what the labels ask, each within its share of the time."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from stairs.climb.ground import SHOWN, Ground, metric_of, told
from stairs.models import MODELS
from stairs.models.configs import configured
from stairs.models.sizes import SIZES, TRANSLATING, USUAL_TOKENIZER
from stairs.models.transfer import TAUGHT, Transfer
from stairs.progress import say
from stairs.tasks import TASKS, BothWays, ByNGram, ByVectors, ByWords, NextToken, Task, Window
from stairs.tasks.feature_cache import weights_hash
from stairs.tasks.supervised import Examples, Supervised
from stairs.text.shards import Shards
from stairs.text.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.at_once import learn_at_once
from stairs.training.fit import fit, plan
from stairs.training.folder import RUN
from stairs.training.options import TrainingOptions
from stairs.training.run import MODEL, Run, load

READING_SHARE = 0.75  # of a step's time, if there are labels to learn as well
EXAMPLES_TIMED = 200
LARGER_FROM = 1800.0  # seconds of reading for which a larger size than mini is thought of
LARGER = ("small", "base")
TOKENS_PER_WEIGHT = 5  # that a size should have time to read


@dataclass(frozen=True)
class Step:
    name: str
    climb: Callable[[Ground, float], dict[str, Any]]  # within so many seconds; its row
    learns: bool  # for as long as it may; steps that count take what they take


def steps_for(asks: str, adopted: Sequence[str]) -> list[Step]:
    """All that can be climbed, what costs little first, should the budget be used up."""
    found = [Step("ngram", ngram, False)]
    if asks == "classify":
        found.append(Step("words", words, False))
    counted = [step for step in USUAL_TOKENIZER if MODELS[step].learns_by == "sweeping"]
    learnt = [step for step in USUAL_TOKENIZER if MODELS[step].learns_by == "gradient" and step not in TRANSLATING]
    found += [Step(step, reader(step), True) for step in (*counted, *learnt) if asks or MODELS[step].pretrains_with != Window.name]
    return found + [Step(Path(run).name, adopted_run(run), True) for run in adopted if asks]


def ngram(ground: Ground, seconds: float) -> dict[str, Any]:
    row = read(ground, "ngram", 0.0, order=ground.order)
    if ground.asks != "classify":
        return row
    tokenizer = words_of(ground)
    return together(row, at_once(ground, "ngram", lambda: ByNGram.learned((*ground.train, *ground.dev), tokenizer, ground.order)))


def words(ground: Ground, seconds: float) -> dict[str, Any]:
    return at_once(ground, "words", lambda: ByWords.learned((*ground.train, *ground.dev), words_of(ground)))


def words_of(ground: Ground) -> Tokenizer:
    return Tokenizer.train(TokenizerSpec(kind="words"), lambda: ([example.text] for example in ground.train))


def reader(step: str) -> Callable[[Ground, float], dict[str, Any]]:
    """A step that reads the text, and then learns from the examples with what it has read."""

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        began = time.monotonic()
        row = read(ground, step, seconds * (READING_SHARE if ground.asks else 1.0))
        if not ground.asks:
            return row
        source = ground.out / row["run"]
        if MODELS[step].pretrains_with == Window.name and ground.asks == "classify":
            learnt = at_once(ground, step, lambda: ByVectors.learned((*ground.train, *ground.dev), window_in(source)))
        else:
            learnt = taught(ground, step, source, max(seconds - (time.monotonic() - began), seconds * (1 - READING_SHARE)))
        return together(row, learnt)

    return climb


def adopted_run(run: str) -> Callable[[Ground, float], dict[str, Any]]:
    """A run that has read other text before; what that cost, nobody counts here."""

    def climb(ground: Ground, seconds: float) -> dict[str, Any]:
        name, source = Path(run).name, Path(run)
        if ground.asks == "classify" and isinstance(load(source), Window):
            return {**at_once(ground, name, lambda: ByVectors.learned((*ground.train, *ground.dev), window_in(source))), "adopted": True}
        return {**taught(ground, name, source, seconds), "adopted": True}

    return climb


def window_in(folder: Path) -> Window:
    found = load(folder)
    assert isinstance(found, Window)
    return found


def together(reading: dict[str, Any], learnt: dict[str, Any]) -> dict[str, Any]:
    return {**reading, **learnt, "seconds": round(reading["seconds"] + learnt["seconds"], 3), "read_by": reading["run"]}


# Reading the text


def read(ground: Ground, step: str, seconds: float, **settings: Any) -> dict[str, Any]:
    """Pretrain a step; what it costs, and where it predicts, how well."""
    shards = ground.shards_for(step)
    folder = ground.out / f"{MODELS[step].pretrains_with}-{step}"
    asked = begun(folder)
    size, asked = chosen(step, shards, seconds, ground.seed) if asked is None else (size_begun(folder, step), asked)
    task = untrained(step, shards, **{**SIZES[step][size], **settings})
    measured = fit(task, shards, folder, TrainingOptions(**asked, seed=ground.seed))
    predicts = MODELS[step].pretrains_with in (NextToken.name, BothWays.name)  # the bits of other tasks are of another kind
    quality: dict[str, Any] = {name: measured[name] for name in ("bits_per_character", "perplexity") if predicts}
    return {"size": size, "run": folder.name, "seconds": measured["seconds"], **quality, **cost(folder)}


def size_begun(folder: Path, step: str) -> str:
    """Of a run that stands there: the largest whose settings it has."""
    config = {name: tuple(value) if isinstance(value, list) else value for name, value in Run(folder).settings["config"].items()}
    fits = [size for size in LARGER if all(config.get(name) == value for name, value in SIZES[step][size].items())]
    return fits[-1] if fits else "mini"


def chosen(step: str, shards: Shards, seconds: float, seed: int) -> tuple[str, dict[str, Any]]:
    """The size, and how long: as long as there is time, or the usual epochs of a step that sweeps, if those take less."""
    if not seconds:
        return "mini", {}
    budget: dict[str, Any] = {"budget": f"{seconds:.3f}s"}
    if MODELS[step].learns_by == "sweeping":
        needed = plan(untrained(step, shards, **SIZES[step]["mini"]), shards, TrainingOptions(seed=seed))["minutes"] * 60
        return "mini", budget if needed > seconds else {}
    size = "mini"
    for larger in LARGER if seconds >= LARGER_FROM else ():
        planned = plan(untrained(step, shards, **SIZES[step][larger]), shards, TrainingOptions(**budget, seed=seed))
        if planned["tokens_per_second"] * seconds < TOKENS_PER_WEIGHT * planned["parameters"]:
            break
        size = larger
    return size, budget


def untrained(step: str, shards: Shards, **settings: Any) -> Task:
    """The task on which a step learns from plain text, with weights that know nothing."""
    kind = MODELS[step]
    return TASKS[kind.pretrains_with](kind(configured(step, shards.tokenizer.roles, **settings)), shards.tokenizer)


def begun(folder: Path) -> dict[str, Any] | None:
    """How long a run that was begun was to be trained: it goes on only with the same."""
    if not (folder / RUN).exists():
        return None
    asked = Run(folder).settings.get("training", {})
    return {name: asked.get(name) for name in ("epochs", "budget")}


# Learning from the examples


def at_once(ground: Ground, step: str, learn: Callable[[], Any]) -> dict[str, Any]:
    """A classifier that needs no gradients."""
    folder = ground.out / f"{ground.asks}-{step}"
    measured = learn_at_once(folder, ground.taught, learn, lambda task: {})
    return judged(ground, folder, measured["seconds"])


def taught(ground: Ground, step: str, source: Path, seconds: float) -> dict[str, Any]:
    """By gradients: all of the encoder if there is time for it, else a head on vectors that are computed once."""
    folder = ground.out / f"{ground.asks}-{step}"
    kind: Any = TASKS[TAUGHT[ground.asks]]
    examples = Examples(ground.train, ground.dev, weights_hash(load(source).model))
    settings = kind.learned_from(ground.train)

    def task_with(transfer: str) -> Supervised:
        fresh = load(source)
        return kind(fresh.model, fresh.tokenizer, Transfer(transfer=transfer), **settings)  # type: ignore[arg-type]

    asked = begun(folder)
    if asked is None:
        needed = plan(task_with("full"), examples, TrainingOptions(seed=ground.seed))["minutes"] * 60
        way, asked = ("full", {}) if needed <= seconds else ("features", {})
        if way == "features":
            say(f"{step}: to teach all of it would take {needed:.0f} s and {seconds:.0f} are left; a head on its vectors learns instead")
    else:
        way = Run(folder).settings["transfer"]["transfer"]
    measured = fit(task_with(way), examples, folder, TrainingOptions(**asked, seed=ground.seed))
    return {"transfer": way, **judged(ground, folder, measured["seconds"])}


def judged(ground: Ground, folder: Path, seconds: float) -> dict[str, Any]:
    """What a run says of the test part, and how fast."""
    task: Any = load(folder)
    measured = task.evaluate(ground.test)
    timed = list(ground.test[:EXAMPLES_TIMED])
    started = time.monotonic()
    task.said(task.rows(timed)) if isinstance(task, Supervised) else task.guesses([example.text for example in timed])
    per_text = (time.monotonic() - started) / len(timed) * 1000
    metric = metric_of(measured)
    intervals = {name: found for name, found in measured.items() if isinstance(found, dict) and "value" in found and name != "error"}
    return {
        "run": folder.name,
        "metric": metric,
        "score": measured[metric],
        **intervals,
        "said": [brief(task.answer(told(example).asked)) for example in ground.test[:SHOWN]],
        "seconds": round(seconds, 3),
        "ms_per_text": round(per_text, 3),
        **cost(folder),
    }


def brief(answer: dict[str, Any]) -> str:
    """An answer in a word or a few."""
    if "tags" in answer:
        return " ".join(answer["tags"])
    if "label" in answer:
        return str(answer["label"])
    return f"{answer['score']:.2f}" if "score" in answer else str(answer.get("answer", ""))


def cost(folder: Path) -> dict[str, Any]:
    """How many numbers the model is made of, and how large it is on the disk."""
    files = list((folder / MODEL).iterdir())
    numbers = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, "np") as held:
                shapes = [held.get_slice(name).get_shape() for name in held.keys()]  # noqa: SIM118
            numbers += sum(map(math.prod, shapes))
    return {"parameters": numbers, "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2)}
