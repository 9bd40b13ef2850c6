"""One of several ways to learn, by what each does on validation examples.

Each is a run beside the one that is asked for, OUT-WAY, trained and taken up again by `fit` as any other. The best of them is then renamed OUT, with
choice.json in it, and the others are deleted. Whenever a process is killed, the same command finds what is done and comes to the same bits.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stairs.errors import BadInput
from stairs.files import said_plainly, write_json
from stairs.progress import say
from stairs.tasks.parts.supervised import LabelledSplits, Supervised
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run_lock import RUN, check_run

CHOICE = "choice.json"


@dataclass(frozen=True)
class Candidate:
    name: str
    cost: int  # in shares of a budget
    task: Callable[[], Supervised]  # a new one, with the encoder as it was


def fit_best(candidates: Sequence[Candidate], examples: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """`fit` into `out` what does best on the validation examples; at a draw the cheaper, which stands before the others."""
    if len(candidates) == 1:
        return fit(candidates[0].task(), examples, out, options)
    known = choice_of(out)
    if (out / RUN).exists():
        name = known["kept"] if known else ""
        kept = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
        measured = fit(kept.task(), examples, out, with_share(kept, candidates, options) if known else options)
    else:
        measured = choose_best(candidates, examples, out, options)
    if measured:
        for candidate in candidates:
            shutil.rmtree(beside(out, candidate), ignore_errors=True)
        measured = {**measured, "choice": choice_of(out)}
    return measured


def choose_best(candidates: Sequence[Candidate], examples: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """Train each, and give the best the name of the run."""
    for candidate in candidates:
        check_run(beside(out, candidate))
    found = []
    for candidate in candidates:
        say(f"trying {candidate.name}")
        task = candidate.task()
        found.append((candidate, task.monitor, fit(task, examples, beside(out, candidate), with_share(candidate, candidates, options))))
    if not found[0][2]:  # a worker that only computed
        return {}
    errors = {candidate.name: measured[watched]["value"] for candidate, watched, measured in found}
    best, _, measured = min(found, key=lambda own: errors[own[0].name])
    write_json(beside(out, best) / CHOICE, {"kept": best.name, "validation_error": errors})
    with said_plainly(out):
        check_run(out)
        if out.is_dir() and not (out / RUN).exists():
            shutil.rmtree(out)  # empty but for what a killed process left
        beside(out, best).rename(out)
    told = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    say(f"error on {len(examples.validation)} validation examples: {told}; {best.name} is kept")
    return measured


def with_share(candidate: Candidate, candidates: Sequence[Candidate], options: TrainingOptions) -> TrainingOptions:
    """All of them together have the budget."""
    if options.budget is None:
        return options
    share = candidate.cost / sum(other.cost for other in candidates)
    return replace(options, budget=f"{options.budget_seconds * share:.3f}s")


def beside(out: Path, candidate: Candidate) -> Path:
    return out.with_name(f"{out.name}-{candidate.name}")


def choice_of(run: Path) -> dict[str, Any] | None:
    """What was chosen for a run, and the errors of all that were tried; None if there was no choice."""
    path = run / CHOICE
    if not path.exists():
        return None
    try:
        known = json.loads(path.read_text("utf-8"))
        return {"kept": known["kept"], "validation_error": dict(known["validation_error"])}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(f"{path} does not say which way of learning was chosen ({error}); delete {run} to begin again") from None
