"""climb: the steps on the same text and the same labels, judged on the same held-out data, and the cheapest one that is good enough.

`report.json` is written after every step, and whenever it is decided how a run is trained. A climb that was stopped and begun again takes the rows
and the plans it has from there, and its runs go on where they stand.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stairs import machine
from stairs.climb.experiment import SHOWN, Experiment, Plans, digest, told
from stairs.climb.messages import FORMAT, message
from stairs.climb.models import ClimbModel, models_for
from stairs.climb.recommendation import recommend
from stairs.climb.time_shares import SWEEPING_SHARE, allot, models_within, time_of
from stairs.errors import BadInput, StairsError
from stairs.files import write_json
from stairs.progress import say
from stairs.tasks.metrics import choose_metric
from stairs.training.records import refuse_changes
from stairs.training.run import check_writable

REPORT = "report.json"
LONGEST = 300  # letters of an example that is shown
MIN_UPDATES = 50  # a model that made fewer has not been trained


class Observer:
    """Hears how a climb goes."""

    def on_start(self, models: list[str]) -> None:
        """What there is to climb."""

    def on_model_begin(self, model: str) -> None: ...

    def on_model_end(self, row: dict[str, Any]) -> None: ...


def climb(
    experiment: Experiment, *, budget: float, models: Sequence[str] | None = None, adopted: Sequence[str] = (), command: str = "",
    observer: Observer | None = None, began: float | None = None, cost: str = "train",
) -> dict[str, Any]:  # fmt: skip
    """Train and judge each model within `budget` seconds, counted from `began`; one that fails is listed with the reason and never stops the rest.
    `cost` is what is compared first among those that are as good as the best: "train", "latency", "size" or "memory"."""
    check_writable(experiment.out)
    began = time.monotonic() if began is None else began
    if experiment.example_kind and not experiment.metric:
        experiment = replace(experiment, metric=choose_metric(experiment.example_kind, experiment.train))
    found = models_for(experiment.example_kind, adopted)
    strangers = [model for model in models or [] if model not in [own.name for own in found]]
    if strangers:
        more = "" if experiment.example_kind else "; with labels there are more"
        raise BadInput(f"there is no step {strangers[0]!r} to climb; there are {', '.join(own.name for own in found)}{more}")
    found = [own for own in found if not models or own.name in models or own.name in map(name_of, adopted)]
    report = {"command": command, **begun(experiment, budget)}
    rows = {row["model"]: row for row in report["rows"] if "run" in row}
    fitting, left_out = models_within(found, budget, experiment.megabytes) if not rows else (found, "")
    if left_out:
        say(left_out)
        rows |= {model.name: {"model": model.name, "not_tried": left_out} for model in found if model not in fitting}
    used, compared = report["used"], set[str]()
    observer = observer or Observer()
    observer.on_start([model.name for model in found])

    def keep() -> None:
        report["rows"] = [rows[model.name] for model in found if model.name in rows]
        if rows.keys() - compared:  # a comparison of many models on many examples takes seconds
            report["recommendation"] = recommend(report["rows"], experiment, cost)
            compared.update(rows)
        report["used"] = round(used + time.monotonic() - began, 3)
        write_json(experiment.out / REPORT, report)

    experiment = replace(experiment, plans=Plans(report["plans"], keep), peaks=report["peaks"])
    for model in fitting:
        if model.name not in rows:
            if model.learns_by == "gradient" and not report["shares"]:
                tokenize_corpus(experiment, fitting)  # all of it now: whoever came first would pay for the others
                report["shares"] = allot([own for own in fitting if own.name not in rows], budget - used - (time.monotonic() - began))
            observer.on_model_begin(model.name)
            rows[model.name] = row_of(model, experiment, report["shares"].get(model.name) or SWEEPING_SHARE * budget)
        keep()
        observer.on_model_end(rows[model.name])
    return report


def tokenize_corpus(experiment: Experiment, models: Sequence[ClimbModel]) -> None:
    """Cut the text in all the ways the models want it."""
    for model in models:
        if model.reads_corpus and model.learns_by == "gradient":  # the others have cut it for themselves, by now
            experiment.shards_for(model.name)


def load_plans(folder: Path) -> Plans:
    """How the runs of another climb were trained."""
    path = folder / REPORT if folder.is_dir() else folder
    try:
        plans = json.loads(path.read_text("utf-8"))["plans"]
        return Plans({run: dict(plan) for run, plan in plans.items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{folder} holds no report.json of a climb whose plans could be followed; name the folder of one") from None


def name_of(run: str) -> str:
    return Path(run).name


def begun(experiment: Experiment, budget: float) -> dict[str, Any]:
    """The report as it stands, if it is of a climb on the same ground; else one without rows."""
    shown = [{"text": own.asked.replace("\t", " | ")[:LONGEST], "right": own.right} for own in map(told, experiment.test[:SHOWN])]
    labelled = digest((*experiment.train, *experiment.dev, *experiment.test))
    settings = {
        "seed": experiment.seed, "order": experiment.order, "text": experiment.corpus_hash, "task": experiment.example_kind, "labelled": labelled,
            "metric": experiment.metric,
    }  # fmt: skip
    fresh = {
        "format": FORMAT, "settings": settings, "rows": [], "recommendation": None, "budget": budget, "used": 0.0, "shares": {}, "peaks": {},
        "test": shown, "plans": dict(experiment.plans.known), "removed_text": dict(experiment.removed_text),
        "examples": {name: len(getattr(experiment, name)) for name in ("train", "dev", "test")}, "versions": machine.versions(),
    }  # fmt: skip
    try:
        before = json.loads((experiment.out / REPORT).read_text("utf-8"))
        came = before.get("format")
        begun_with, kept = before["settings"], {name: before[name] for name in ("rows", "used", "plans", "shares", "peaks")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return fresh
    if came != FORMAT:
        raise BadInput(f"{experiment.out / REPORT} has the format {came}, and this version writes {FORMAT}; choose another folder with --out")
    refuse_changes(begun_with, settings, experiment.out)
    return {**fresh, **kept}


def row_of(model: ClimbModel, experiment: Experiment, share: float) -> dict[str, Any]:
    """The row of one model: what it measured, or why it did not, and what became of its share of the time."""
    row: dict[str, Any] = {"model": model.name}
    began = time.monotonic()
    try:
        row |= model.climb(experiment, share)
    except StairsError as error:
        return row | {"failed": str(error)}
    except Exception as error:  # a bug in one model is not to cost the others
        return row | {"failed": f"a bug: {type(error).__name__}: {error}; train it by itself with --debug and report it", "bug": True}
    training = row.pop("training", [])
    if model.learns_by == "gradient":
        row["time"] = time_of(share, time.monotonic() - began, training)
    reason = why_not_learnt(row, experiment)
    return row | ({"not_learnt": reason} if reason else {})


def why_not_learnt(row: dict[str, Any], experiment: Experiment) -> dict[str, str] | None:
    """Why a model cannot be recommended although it was trained, in every language."""
    made = [row[name] for name in ("updates", "finetuning_updates") if name in row and not row.get("adopted")]  # what was learnt elsewhere is learnt
    if made and min(made) < MIN_UPDATES:
        return message("few_updates", updates=min(made))
    level = majority(experiment) if row.get("metric") == "accuracy" else 0.0
    if "score" in row and row["score"]["value"] <= level:
        return message("like_majority", level=level)
    if "score" not in row and row.get("unigram_bits", math.inf) <= row.get("bits_per_character", {"value": 0.0})["value"]:
        return message("like_unigram", level=row["unigram_bits"])
    return None


def majority(experiment: Experiment) -> float:
    """What one scores who always gives the commonest answer of the training examples."""
    if experiment.example_kind not in ("classify", "compare"):
        return 0.0
    commonest = Counter(example.label for example in experiment.train).most_common(1)[0][0]
    return sum(example.label == commonest for example in experiment.test) / len(experiment.test)
