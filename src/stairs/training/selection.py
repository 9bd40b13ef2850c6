"""The best of several trainings, by the validation examples.

With several candidates each is a run beside OUT, OUT-CANDIDATE, trained and resumed by `fit` as any other. The best on the validation examples is
then renamed OUT, with selection.json and what each of them took in it, and the others are deleted. Wherever a process is killed, the same command
continues and ends with the same bits.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from stairs.errors import BadInput
from stairs.files import os_errors_as_sentences, write_json
from stairs.progress import say
from stairs.tasks.measurements import interval
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.training.fit import fit
from stairs.training.grid import GridPoint, GridResult, has_time
from stairs.training.options import TrainingOptions
from stairs.training.run import RUN_FILE, check_run

SELECTION_FILE = "selection.json"
COSTS_FILE = "candidates.json"  # the last measurement of every candidate, as far as it says what the training took
COSTS = ("step", "seconds", "cpu_seconds", "seconds_by_phase")


@dataclass(frozen=True)
class Candidate:
    name: str
    cost: int  # in shares of a budget
    task: Callable[[], Supervised]  # makes a new one, with the pretrained encoder
    point: GridPoint | None = None  # of a sweep
    options: Mapping[str, Any] = field(default_factory=dict)  # training options in which it differs from the others


class Selection(TypedDict):
    """selection.json."""

    selected: str  # name of the best candidate
    validation_errors: dict[str, float]  # of every candidate
    sweep: NotRequired[dict[str, GridResult]]  # of every candidate of a sweep that there was time for
    untried: NotRequired[list[str]]  # the others


def fit_best(
    candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions, plans_from: Path | None = None,
    refuse_short: bool = True,
) -> dict[str, object]:  # fmt: skip
    """`fit` the candidate with the lowest validation error into `out`; of equal ones the cheaper, which comes first. Of those that another run was
    selected from, whose plan and clock this one follows, only the selected one is trained."""
    if len(candidates) == 1:
        return fit(candidates[0].task(), data, out, replace(options, **candidates[0].options), plans_from, refuse_short)
    if plans_from is not None:
        return follow_selection(candidates, data, out, options, plans_from)
    selection = read_selection(out)
    if (out / RUN_FILE).exists():
        name = selection["selected"] if selection else ""
        best = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
        own = candidate_options(best, candidates, options) if selection else options
        measurements = fit(best.task(), data, out, own, refuse_short=refuse_short)
    else:
        measurements = train_candidates(candidates, data, out, options, refuse_short)
    if measurements:
        for candidate in candidates:
            shutil.rmtree(candidate_folder(out, candidate), ignore_errors=True)
        measurements = {**measurements, "selection": read_selection(out)}
    return measurements


def follow_selection(
    candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions, plans_from: Path
) -> dict[str, object]:
    """`fit` the candidate that was selected in `plans_from`, by its clock."""
    name = (read_selection(plans_from) or {"selected": ""})["selected"]
    best = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
    measurements = fit(best.task(), data, out, candidate_options(best, candidates, options), plans_from, refuse_short=False)
    for file in (SELECTION_FILE, COSTS_FILE):
        if measurements and (plans_from / file).exists():
            write_json(out / file, json.loads((plans_from / file).read_text("utf-8")))
    return measurements


def train_candidates(
    candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions, refuse_short: bool = True
) -> dict[str, object]:
    """Train every candidate, and rename the run of the best to `out`."""
    for candidate in candidates:
        check_run(candidate_folder(out, candidate))
    results: list[tuple[Candidate, str, dict[str, object]]] = []
    sweep: dict[str, GridResult] = {}
    for candidate in candidates:
        budget = None if options.budget is None else options.budget_seconds
        if candidate.point is not None and not has_time(candidate.point, list(sweep.values()), budget):
            continue
        say(f"trying {candidate.name}")
        task, folder = candidate.task(), candidate_folder(out, candidate)
        own = candidate_options(candidate, candidates, options)
        results.append((candidate, task.monitor, fit(task, data, folder, own, refuse_short=refuse_short)))
        measurements = results[-1][2]
        if candidate.point is not None and measurements:
            sweep[candidate.name] = grid_result(candidate.point, measurements, task.monitor)
            delete_checkpoints(folder)
    if not results[0][2]:  # only rank 0 has measurements
        return {}
    errors = {candidate.name: interval(measurements, monitor)["value"] for candidate, monitor, measurements in results}
    best, _, measurements = min(results, key=lambda result: errors[result[0].name])
    selection: Selection = {"selected": best.name, "validation_errors": errors}
    if sweep:
        selection |= {"sweep": sweep, "untried": [candidate.name for candidate in candidates if candidate.name not in errors]}
    costs = {candidate.name: {name: measured[name] for name in COSTS if name in measured} for candidate, _, measured in results}
    write_json(candidate_folder(out, best) / COSTS_FILE, costs)
    write_json(candidate_folder(out, best) / SELECTION_FILE, selection)
    with os_errors_as_sentences(out):
        check_run(out)
        if out.is_dir() and not (out / RUN_FILE).exists():
            shutil.rmtree(out)  # empty but for what a killed process left
        candidate_folder(out, best).rename(out)
    error_list = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    say(f"error on {len(data.validation)} validation examples: {error_list}; {best.name} is kept")
    return measurements


def grid_result(point: GridPoint, measurements: Mapping[str, object], monitor: str) -> GridResult:
    return {**point, "error": interval(measurements, monitor)["value"], "seconds": float(str(measurements["seconds"]))}


def delete_checkpoints(folder: Path) -> None:
    """A finished run of a sweep is not trained further, and the checkpoints of all of them would fill a disk."""
    for path in folder.glob("step-*"):
        shutil.rmtree(path, ignore_errors=True)


def candidate_options(candidate: Candidate, candidates: Sequence[Candidate], options: TrainingOptions) -> TrainingOptions:
    """A combination of a sweep is trained for its epochs, however long that takes; other candidates share the budget."""
    if candidate.point is None:
        return share_budget(candidate, candidates, options)
    return replace(options, budget=None, **candidate.point)


def share_budget(candidate: Candidate, candidates: Sequence[Candidate], options: TrainingOptions) -> TrainingOptions:
    """The candidate's share of the budget, which is for all of them together."""
    if options.budget is None:
        return replace(options, **candidate.options)
    share = candidate.cost / sum(other.cost for other in candidates)
    return replace(options, budget=f"{options.budget_seconds * share:.3f}s", **candidate.options)


def candidate_folder(out: Path, candidate: Candidate) -> Path:
    return out.with_name(f"{out.name}-{candidate.name}")


def read_selection(run: Path) -> Selection | None:
    """Which candidate a run was selected from; None if there was only one."""
    path = run / SELECTION_FILE
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text("utf-8"))
        sweep = {"sweep": dict(values["sweep"]), "untried": list(values["untried"])} if "sweep" in values else {}
        return cast(Selection, {"selected": values["selected"], "validation_errors": dict(values["validation_errors"]), **sweep})
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(f"{path} does not name the selected candidate ({error}); delete {run} to start again") from None


def candidate_costs(run: Path) -> dict[str, dict[str, Any]]:
    """What the training of every candidate took; empty if there was only one."""
    path = run / COSTS_FILE
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}
