"""One of several ways to learn, by what each does on validation examples.

Each is a run beside the one that is asked for, OUT-WAY, trained and taken up again by `fit` as any other. The best of them is then renamed OUT, with
selection.json in it, and the others are deleted. Whenever a process is killed, the same command finds what is done and comes to the same bits.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.files import os_errors_as_sentences, write_json
from stairs.progress import say
from stairs.tasks.parts.supervised import LabelledSplits, Supervised
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run_lock import RUN_FILE, check_run

SELECTION_FILE = "selection.json"


@dataclass(frozen=True)
class Candidate:
    name: str
    cost: int  # in shares of a budget
    task: Callable[[], Supervised]  # a new one, with the encoder as it was


def fit_best(candidates: Sequence[Candidate], examples: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """`fit` into `out` what does best on the validation examples; at a draw the cheaper, which stands before the others."""
    if len(candidates) == 1:
        return fit(candidates[0].task(), examples, out, options)
    known = read_selection(out)
    if (out / RUN_FILE).exists():
        name = known["selected"] if known else ""
        kept = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
        measured = fit(kept.task(), examples, out, share_budget(kept, candidates, options) if known else options)
    else:
        measured = train_candidates(candidates, examples, out, options)
    if measured:
        for candidate in candidates:
            shutil.rmtree(candidate_folder(out, candidate), ignore_errors=True)
        measured = {**measured, "selection": read_selection(out)}
    return measured


def train_candidates(candidates: Sequence[Candidate], examples: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """Train each, and give the best the name of the run."""
    for candidate in candidates:
        check_run(candidate_folder(out, candidate))
    found = []
    for candidate in candidates:
        say(f"trying {candidate.name}")
        task = candidate.task()
        found.append((candidate, task.monitor, fit(task, examples, candidate_folder(out, candidate), share_budget(candidate, candidates, options))))
    if not found[0][2]:  # a worker that only computed
        return {}
    errors = {candidate.name: measured[watched]["value"] for candidate, watched, measured in found}
    best, _, measured = min(found, key=lambda own: errors[own[0].name])
    write_json(candidate_folder(out, best) / SELECTION_FILE, {"selected": best.name, "validation_errors": errors})
    with os_errors_as_sentences(out):
        check_run(out)
        if out.is_dir() and not (out / RUN_FILE).exists():
            shutil.rmtree(out)  # empty but for what a killed process left
        candidate_folder(out, best).rename(out)
    told = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    say(f"error on {len(examples.validation)} validation examples: {told}; {best.name} is kept")
    return measured


def share_budget(candidate: Candidate, candidates: Sequence[Candidate], options: TrainingOptions) -> TrainingOptions:
    """All of them together have the budget."""
    if options.budget is None:
        return options
    share = candidate.cost / sum(other.cost for other in candidates)
    return replace(options, budget=f"{options.budget_seconds * share:.3f}s")


def candidate_folder(out: Path, candidate: Candidate) -> Path:
    return out.with_name(f"{out.name}-{candidate.name}")


def read_selection(run: Path) -> dict[str, Any] | None:
    """What was chosen for a run, and the errors of all that were tried; None if there was no choice."""
    path = run / SELECTION_FILE
    if not path.exists():
        return None
    try:
        known = json.loads(path.read_text("utf-8"))
        return {"selected": known["selected"], "validation_errors": dict(known["validation_errors"])}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(f"{path} does not say which way of learning was chosen ({error}); delete {run} to begin again") from None
