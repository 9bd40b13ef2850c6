"""A climb: models trained on the same text and labels within one budget, evaluated on the same held-out data, and the cheapest that is good enough.

Every model that learns by gradients has an equal share of the clock, allotted before the first of them begins. `report.json` is written after every
model, and whenever it is decided how a run is trained: a climb that was stopped takes its rows and plans from there, and its runs resume.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from stairs import machine
from stairs.comparison.experiment import SHOWN_EXAMPLES, Experiment, Plans, example_text
from stairs.comparison.label_curves import add_label_curves
from stairs.comparison.messages import message
from stairs.comparison.models import ClimbModel, models_for
from stairs.comparison.recommendation import recommend
from stairs.comparison.schema import (
    FORMAT,
    CostCriterion,
    LastLine,
    LocalizedText,
    Report,
    ReportBaseline,
    ReportSettings,
    Row,
    RowTime,
    ShownExample,
)
from stairs.errors import BadInput, StairsError
from stairs.files import check_writable, write_json
from stairs.progress import say
from stairs.tasks.baselines import simple_baseline
from stairs.tasks.metrics import choose_metric
from stairs.tasks.multilabel_metrics import frequent_labels, multilabel_metrics
from stairs.tasks.outcomes import score_with_interval
from stairs.text.examples import MultiLabelText, MultipleChoice
from stairs.training.records import refuse_changes
from stairs.training.run_folder import REPORT_FILE
from stairs.training.run_plans import RunPlan

MAX_CHARACTERS = 300  # of an example that is shown
LIKE_GUESSING = {"choose": "like_guessing", "multilabel": "like_frequent_labels", "regress": "like_mean"}  # messages, by the kind of examples
MIN_UPDATES = 50  # a model that made fewer has not been trained
SPARE_SHARE = 0.02  # of the time left, for what no model is charged with: the report, and a machine that is not always alone
LABEL_CURVE_SHARE = 0.03  # of a budget, at most, to say how many more labels would help
SWEEPING_SHARE = 0.05  # of a budget, at most, for each model that sweeps over the text
# What a climb needs before it makes sense, on an ordinary core; a slower machine needs more.
ORDINARY_GIGAFLOPS = 60.0
MIN_SECONDS = {"gradient": 9.0, "sweeping": 3.0, "counting": 1.0}  # by gradients: 50 updates on the text, as many on the labels, and the evaluation
START_SECONDS = 4.0  # to read the labels and to start
SECONDS_PER_MEGABYTE = 0.8  # to tokenize a megabyte of text for all models, and to count it


class Observer:
    """Is told how a climb goes; does nothing."""

    def on_start(self, models: list[str]) -> None: ...

    def on_model_begin(self, model: str) -> None: ...

    def on_model_end(self, row: Row) -> None: ...


def run_climb(
    experiment: Experiment, *, budget: float, models: Sequence[str] | None = None, adopted: Sequence[str] = (), command: str = "",
    observer: Observer | None = None, began: float | None = None, cost: CostCriterion = "train",
) -> Report:  # fmt: skip
    """Train and evaluate each model within `budget` seconds, counted from `began`; one that fails is listed with the reason and never stops the rest.
    `cost` is compared first among the models that are as good as the best."""
    check_writable(experiment.out)
    began = time.monotonic() if began is None else began
    if experiment.example_kind and not experiment.metric:
        experiment = replace(experiment, metric=choose_metric(experiment.example_kind, experiment.train))
    chosen = choose_models(models_for(experiment.example_kind, adopted, bool(experiment.pairs.train)), models, adopted, bool(experiment.example_kind))
    report = open_report(experiment, budget, command)
    rows: dict[str, Row] = {row["model"]: row for row in report["rows"] if "run" in row}
    fitting, reason = models_within(chosen, budget, experiment.megabytes) if not rows else (chosen, "")
    if reason:
        say(reason)
        rows |= {model.name: {"model": model.name, "not_tried": reason} for model in chosen if model not in fitting}
    used, compared = report["seconds_used"], set[str]()
    observer = observer or Observer()
    observer.on_start([model.name for model in chosen])

    def save() -> None:
        report["rows"] = [rows[model.name] for model in chosen if model.name in rows]
        if rows.keys() - compared:  # a comparison of many models on many examples takes seconds
            report["recommendation"] = recommend(report["rows"], experiment, cost)
            compared.update(rows)
        report["seconds_used"] = round(used + time.monotonic() - began, 3)
        write_json(experiment.out / REPORT_FILE, report)

    experiment = replace(experiment, plans=Plans(report["plans"], save), peak_memory_mb=report["peak_memory_mb"])
    for model in fitting:
        if model.name not in rows:
            if model.learns_by == "gradient" and not report["time_shares"]:
                add_label_curves(report, experiment, LABEL_CURVE_SHARE * budget)  # of what is recommended so far
                tokenize_corpus(experiment, fitting)  # for all now: the first model would pay for the others
                report["time_shares"] = allot([own for own in fitting if own.name not in rows], budget - used - (time.monotonic() - began))
            observer.on_model_begin(model.name)
            rows[model.name] = run_model(model, experiment, report["time_shares"].get(model.name) or SWEEPING_SHARE * budget)
        save()
        observer.on_model_end(rows[model.name])
    if baseline := baseline_of(experiment):
        report["baseline"] = baseline
        add_label_curves(report, experiment, budget - used - (time.monotonic() - began))
        save()
    return report


def baseline_of(experiment: Experiment) -> ReportBaseline | None:
    """The prediction that needs no learning, on the test examples; None where the task has none."""
    found = simple_baseline(experiment.train) if experiment.train and experiment.test else None
    if found is None:
        return None
    name, predict = found
    score = score_with_interval(experiment.metric, experiment.example_kind, experiment.test, predict(experiment.test))
    return {"name": name, "metric": experiment.metric, "score": score}


def choose_models(models: list[ClimbModel], wanted: Sequence[str] | None, adopted: Sequence[str], has_labels: bool) -> list[ClimbModel]:
    """Those that were asked for, and the adopted ones; if none was named, all but the variants of another one."""
    names = [model.name for model in models]
    unknown = [name for name in wanted or () if name not in names]
    if unknown:
        more = "" if has_labels else "; with labels there are more"
        raise BadInput(f"there is no model {unknown[0]!r} to climb; there are {', '.join(names)}{more}")
    always = {Path(run).name for run in adopted}
    return [model for model in models if (model.name in wanted if wanted else model.is_default) or model.name in always]


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
    training = sum(MIN_SECONDS[model.learns_by] for model in models)
    return (START_SECONDS + SECONDS_PER_MEGABYTE * megabytes + training) * slowdown / (1 - SPARE_SHARE)


def allot(models: Sequence[ClimbModel], seconds_left: float) -> dict[str, float]:
    """Equal shares of the time that is left, for the models that learn by gradients."""
    by_gradients = [model.name for model in models if model.learns_by == "gradient"]
    return {name: round(seconds_left * (1 - SPARE_SHARE) / len(by_gradients), 3) for name in by_gradients}


def tokenize_corpus(experiment: Experiment, models: Sequence[ClimbModel]) -> None:
    for model in models:
        if model.reads_corpus and model.learns_by == "gradient":  # the others have done it for themselves by now
            experiment.shards_for(model.name)


def load_plans(folder: Path) -> Plans:
    """How the runs of another climb were trained."""
    path = folder / REPORT_FILE if folder.is_dir() else folder
    try:
        plans: dict[str, RunPlan] = json.loads(path.read_text("utf-8"))["plans"]
        return Plans({run: cast(RunPlan, dict(plan)) for run, plan in plans.items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{folder} has no report.json of a climb whose plans could be followed; name the folder of one") from None


def open_report(experiment: Experiment, budget: float, command: str) -> Report:
    """The report of the climb to resume, or a new one without rows. A report of other data or settings is refused."""
    texts = map(example_text, experiment.test[:SHOWN_EXAMPLES])
    shown: list[ShownExample] = [{"text": own.question.replace("\t", " | ")[:MAX_CHARACTERS], "gold": own.gold} for own in texts]
    settings: ReportSettings = {
        "seed": experiment.seed, "order": experiment.order, "text": experiment.corpus_hash, "task": experiment.example_kind,
        "labelled": experiment.fingerprint, "metric": experiment.metric,
    }  # fmt: skip
    counts = {"train": len(experiment.train), "dev": len(experiment.dev), "test": len(experiment.test)}
    new: Report = {
        "format": FORMAT, "command": command, "settings": settings, "rows": [], "recommendation": None, "budget": budget, "seconds_used": 0.0,
        "time_shares": {}, "peak_memory_mb": {}, "test": shown, "plans": dict(experiment.plans.known),
        "removed_text": dict(experiment.removed_text), "examples": counts, "versions": machine.versions(),
    }  # fmt: skip
    path = experiment.out / REPORT_FILE
    try:
        before = json.loads(path.read_text("utf-8"))
        if (number := before.get("format")) == FORMAT:
            kept = {name: before[name] for name in ("rows", "seconds_used", "plans", "time_shares", "peak_memory_mb")}
            begun_with = before["settings"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return new
    if number != FORMAT:
        raise BadInput(f"{path} has the format {number}, and this version writes {FORMAT}; choose another folder with --out")
    refuse_changes(begun_with, settings, experiment.out)
    return {**new, **kept}  # type: ignore[typeddict-item]


def run_model(model: ClimbModel, experiment: Experiment, share: float) -> Row:
    """The row of one model: what was measured, or why it failed, and what became of its share of the time."""
    row: Row = {"model": model.name}
    began = time.monotonic()
    try:
        row |= model.train(experiment, share)
    except StairsError as error:
        return {**row, "failed": str(error)}
    except Exception as error:  # a bug in one model is not to cost the others
        sentence = f"a bug: {type(error).__name__}: {error}; train it by itself with --debug and report it"
        return {**row, "failed": sentence, "is_bug": True}
    training = row.pop("training", [])
    if model.learns_by == "gradient":
        row["time"] = time_report(share, time.monotonic() - began, training)
    if reason := why_not_learnt(row, experiment):
        row["not_learnt"] = reason
    return row


def time_report(given: float, used: float, training: Sequence[LastLine]) -> RowTime:
    """The share of the time that was given and used, and how much of it was updates."""
    phases = [own["seconds_by_phase"] for own in training if "seconds_by_phase" in own]
    updates, evaluation, encoding = (round(sum(own.get(name, 0.0) for own in phases), 3) for name in ("updates", "evaluation", "encoding"))
    return {"given": round(given, 3), "used": round(used, 3), "updates": updates, "evaluation": evaluation, "encoding": encoding}


def why_not_learnt(row: Row, experiment: Experiment) -> LocalizedText | None:
    """Why a model cannot be recommended although it was trained."""
    made = [row[name] for name in ("updates", "finetuning_updates") if name in row and not row.get("is_adopted")]
    if made and min(made) < MIN_UPDATES:
        return message("few_updates", updates=min(made))
    level = constant_score(experiment) if row.get("metric") in ("accuracy", "micro_f1") else 0.0
    if "score" in row and row["score"]["value"] <= level:
        return message(LIKE_GUESSING.get(experiment.example_kind, "like_majority"), level=level)
    bits = row["bits_per_character"]["value"] if "bits_per_character" in row else 0.0
    if "score" not in row and row.get("unigram_bits", math.inf) <= bits:
        return message("like_unigram", level=row["unigram_bits"])
    return None


def constant_score(experiment: Experiment) -> float:
    """The accuracy of always predicting the most frequent label of the training examples; of guessing among several choices; the micro F1 of always
    predicting the most frequent labels."""
    if experiment.example_kind == "multilabel":
        splits = (experiment.train, experiment.test)
        learnt, gold = ([example.labels for example in split if isinstance(example, MultiLabelText)] for split in splits)
        return multilabel_metrics(gold, [frequent_labels(learnt)] * len(gold))["micro_f1"]["value"]
    choices = [len(example.choices) for example in experiment.test if isinstance(example, MultipleChoice)]
    if choices:
        return sum(1 / count for count in choices) / len(choices)
    if experiment.example_kind not in ("classify", "compare"):
        return 0.0
    train, test = ([getattr(example, "label", None) for example in split] for split in (experiment.train, experiment.test))
    majority = Counter(train).most_common(1)[0][0]
    return test.count(majority) / len(test)
