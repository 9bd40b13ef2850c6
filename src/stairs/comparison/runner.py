"""A climb: models trained on the same text and labels within one budget, evaluated on the same held-out data, and the cheapest that is good enough.

The models that take seconds come first, and the best of them on the validation examples is a first recommendation. Then every model that learns by
gradients has an equal share of the clock (`cnn` half of one, and what it leaves goes to the others), allotted before the first of them begins. The
test examples stay closed until all are trained, or until Ctrl-C ends the climb with those that are. `report.json` is written after every model, and
whenever it is decided how a run is trained: a climb that was stopped takes its rows and plans from there, and its runs resume.
"""

import gc
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from stairs import machine
from stairs.comparison.beside_words import evaluate_parts
from stairs.comparison.evaluation import baseline_of, evaluate_run, recommend_first, why_not_learnt
from stairs.comparison.experiment import LABEL_ANSWERS, SHOWN_EXAMPLES, Experiment, Plans, example_text
from stairs.comparison.label_curves import add_label_curves
from stairs.comparison.messages import describe_first
from stairs.comparison.models import ClimbModel, models_for
from stairs.comparison.recommendation import recommend
from stairs.comparison.schema import FORMAT, CostCriterion, LastLine, Report, ReportSettings, Row, RowTime, ShownExample
from stairs.comparison.time_shares import ClimbClock, allot, hand_on, models_within
from stairs.errors import BadInput, StairsError
from stairs.files import check_writable, write_json
from stairs.peak_memory import freeze_heap
from stairs.progress import say
from stairs.tasks.metrics import choose_metric
from stairs.training.records import refuse_changes
from stairs.training.run_folder import REPORT_FILE
from stairs.training.run_plans import RunPlan

MAX_CHARACTERS = 300  # of an example that is shown
LABEL_CURVE_SHARE = 0.03  # of a budget, at most, to say how many more labels would help
SWEEPING_SHARE = 0.05  # of a budget, at most, for each model that sweeps over the text
FIRST_SECONDS = 20.0  # after which there is a first recommendation, though not all of the quick models are trained
STOPPED = "the climb was stopped before it was trained; the same command goes on"


class Observer:
    """Is told how a climb goes; does nothing."""

    def on_start(self, models: list[str]) -> None: ...

    def on_model_begin(self, model: str) -> None: ...

    def on_model_end(self, row: Row) -> None: ...

    def on_first_recommendation(self, sentence: str) -> None: ...

    def on_evaluation(self, row: Row) -> None: ...


def run_climb(
    experiment: Experiment, *, budget: float, models: Sequence[str] | None = None, adopted: Sequence[str] = (), command: str = "",
    observer: Observer | None = None, began: float | None = None, cost: CostCriterion = "train",
    prepare: Callable[[Sequence[ClimbModel]], None] = lambda models: None, publish: Callable[[Report], object] = lambda report: None,
) -> Report:  # fmt: skip
    """Train and evaluate each model within `budget` seconds, counted from `began`; one that fails is listed with the reason and never stops the rest.
    `cost` is compared first among the models that are as good as the best. `prepare` is called with models before the first of them is trained, and
    its time is not counted; `publish` with the report when there is a first recommendation, and at the end."""
    check_writable(experiment.out)
    clock = ClimbClock(time.monotonic() if began is None else began)
    if experiment.example_kind and not experiment.metric:
        experiment = replace(experiment, metric=choose_metric(experiment.example_kind, experiment.train))
    chosen = choose_models(models_for(experiment.example_kind, adopted, bool(experiment.pairs.train)), models, adopted, bool(experiment.example_kind))
    report = open_report(experiment, budget, command)
    rows: dict[str, Row] = {row["model"]: row for row in report["rows"]}
    fitting, reason = models_within(chosen, budget, experiment.megabytes) if not rows else (chosen, "")
    if reason:
        say(reason)
        rows |= {model.name: {"model": model.name, "not_tried": reason} for model in chosen if model not in fitting}
    used = report["seconds_used"]
    observer = observer or Observer()
    observer.on_start([model.name for model in chosen])

    def save() -> None:
        report["rows"] = [rows[model.name] for model in chosen if model.name in rows]
        report["seconds_used"] = round(used + clock.budget_seconds(), 3)
        write_json(experiment.out / REPORT_FILE, report)

    def train(models: Sequence[ClimbModel]) -> None:
        waiting = [model for model in models if model.name not in rows]
        with clock.pause():
            prepare(waiting)
            freeze_heap()
        for number, model in enumerate(waiting):
            if model.learns_by == "gradient" and not report["time_shares"]:
                add_label_curves(report, experiment, LABEL_CURVE_SHARE * budget)  # of what is recommended so far
                tokenize_corpus(experiment, fitting)  # for all now: the first model would pay for the others
                report["time_shares"] = allot(waiting, budget - used - clock.budget_seconds(), evaluated=len(fitting) if experiment.test else 0)
            observer.on_model_begin(model.name)
            rows[model.name] = run_model(model, experiment, report["time_shares"].get(model.name) or SWEEPING_SHARE * budget)
            hand_on(report["time_shares"], model, rows[model.name], waiting[number + 1 :])
            save()
            observer.on_model_end(rows[model.name])
            is_last = model.learns_by != "gradient" and model is waiting[-1]
            if is_last or (model.learns_by != "gradient" and clock.seconds() > FIRST_SECONDS and "first_recommendation" not in report):
                recommend_so_far()

    def recommend_so_far() -> None:
        found = recommend_first(rows.values(), experiment, clock.seconds())
        if found is None or report.get("first_recommendation", {}).get("scores") == found["scores"]:
            return
        report["first_recommendation"] = found
        save()
        if slow:  # or the last recommendation follows at once
            observer.on_first_recommendation(describe_first(found)["en"])
            publish(report)

    experiment = replace(experiment, plans=Plans(report["plans"], save), peak_memory_mb=report["peak_memory_mb"])
    quick, slow = ([model for model in fitting if (model.learns_by == "gradient") == by_gradients] for by_gradients in (False, True))
    try:
        train(sorted(quick, key=lambda model: model.reads_corpus))  # a large corpus takes long to read
        train(slow)
    except KeyboardInterrupt:
        report["is_stopped"] = True
        say("stopped; the models that are done are evaluated on the test examples, and a second Ctrl-C ends at once")
        rows |= {model.name: {"model": model.name, "not_tried": STOPPED} for model in fitting if model.name not in rows}
    evaluate_rows([rows[model.name] for model in chosen], experiment, observer, save)
    gc.unfreeze()
    report["recommendation"] = recommend([rows[model.name] for model in chosen], experiment, cost)
    if baseline := baseline_of(experiment):
        report["baseline"] = baseline
        if not report.get("is_stopped"):  # who stops a climb does not wait for more
            add_label_curves(report, experiment, budget - used - clock.budget_seconds())
    save()
    publish(report)
    return report


def evaluate_rows(rows: Sequence[Row], experiment: Experiment, observer: Observer, save: Callable[[], None]) -> None:
    """On the test examples, the models that have learnt from the labels; the report is saved after each of them."""
    waiting = [row for row in rows if "metric" in row and "score" not in row and "run" in row]
    words = next((row for row in rows if row["model"] == "skipgram"), Row())
    if waiting:
        say(f"evaluating {len(waiting)} model{'s' if len(waiting) > 1 else ''} on {len(experiment.test):,} test examples")
    for row in waiting:
        measured = guard(partial(evaluate_run, experiment, experiment.out / row["run"]))
        if "alone_run" in row and "score" in measured and "outcomes" in words:
            measured |= guard(partial(evaluate_parts, experiment, {**row, **measured}, words))
        if "failed" in measured:
            row.pop("run")
        row.update(measured)
        if "failed" not in measured and (reason := why_not_learnt(row, experiment)):
            row["not_learnt"] = reason
        save()
        observer.on_evaluation(row)


def choose_models(models: list[ClimbModel], wanted: Sequence[str] | None, adopted: Sequence[str], has_labels: bool) -> list[ClimbModel]:
    """Those that were asked for, and the adopted ones; if none was named, all but the variants of another one."""
    names = [model.name for model in models]
    unknown = [name for name in wanted or () if name not in names]
    if unknown:
        more = "" if has_labels else "; with labels there are more"
        raise BadInput(f"there is no model {unknown[0]!r} to climb; there are {', '.join(names)}{more}")
    always = {Path(run).name for run in adopted}
    return [model for model in models if (model.name in wanted if wanted else model.is_default) or model.name in always]


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
    if experiment.no_texts:
        locations = [Path(example.where).name for example in experiment.test[:SHOWN_EXAMPLES]]
        has_label_answers = experiment.example_kind in LABEL_ANSWERS
        shown = [{"text": location, "gold": own["gold"] if has_label_answers else ""} for location, own in zip(locations, shown, strict=True)]
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
            kept = {name: before[name] for name in ("seconds_used", "plans", "time_shares", "peak_memory_mb")}
            is_final = before["budget"] == budget  # what there was no time for then
            kept["rows"] = [row for row in before["rows"] if "run" in row or (is_final and row.get("not_tried", STOPPED) != STOPPED)]
            kept |= {"first_recommendation": before["first_recommendation"]} if "first_recommendation" in before else {}
            begun_with = before["settings"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return new
    if number != FORMAT:
        raise BadInput(f"{path} has the format {number}, and this version writes {FORMAT}; choose another folder with --out")
    refuse_changes(begun_with, settings, experiment.out)
    return {**new, **kept}  # type: ignore[typeddict-item]


def run_model(model: ClimbModel, experiment: Experiment, share: float) -> Row:
    """The row of one model: what was measured, or why it failed, and what became of its share of the time."""
    began = time.monotonic()
    row: Row = {"model": model.name, **guard(lambda: model.train(experiment, share))}
    if "failed" in row:
        return row
    training = row.pop("training", [])
    if model.learns_by == "gradient":
        row["time"] = time_report(share, time.monotonic() - began, training)
    if reason := why_not_learnt(row, experiment):
        row["not_learnt"] = reason
    return row


def guard(measure: Callable[[], Row]) -> Row:
    """What is measured, or why that failed: a bug in one model is not to cost the others."""
    try:
        return measure()
    except StairsError as error:
        return {"failed": str(error)}
    except Exception as error:
        return {"failed": f"a bug: {type(error).__name__}: {error}; train it by itself with --debug and report it", "is_bug": True}


def time_report(given: float, used: float, training: Sequence[LastLine]) -> RowTime:
    """The share of the time that was given and used, and how much of it was updates."""
    phases = [own["seconds_by_phase"] for own in training if "seconds_by_phase" in own]
    updates, evaluation, encoding = (round(sum(own.get(name, 0.0) for own in phases), 3) for name in ("updates", "evaluation", "encoding"))
    return {"given": round(given, 3), "used": round(used, 3), "updates": updates, "evaluation": evaluation, "encoding": encoding}
