"""What `stairs tune` trains on top of a run: some more pretraining on the texts of the examples, a task with a new head, and the best of several.

With several candidates each is a run beside OUT, OUT-CANDIDATE, trained and resumed by `fit` as any other. The best on the validation examples is
then renamed OUT, with selection.json in it, and the others are deleted. Wherever a process is killed, the same command continues and ends with the
same bits.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from stairs.errors import BadInput
from stairs.files import os_errors_as_sentences, write_json
from stairs.models.transfer_options import TransferOptions
from stairs.progress import say
from stairs.tasks.parts.adapt import adaptation_task, unique_texts
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.parts.tuning_candidates import TuningCandidate
from stairs.tasks.task import Task
from stairs.tasks.word_vectors import WordVectors
from stairs.text.examples import Example
from stairs.text.tokenizers.tokenizer import Tokenizer
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import RUN_FILE, check_run, load

SELECTION_FILE = "selection.json"


@dataclass(frozen=True)
class Candidate:
    name: str
    cost: int  # in shares of a budget
    task: Callable[[], Supervised]  # makes a new one, with the pretrained encoder


class Selection(TypedDict):
    """selection.json."""

    selected: str  # name of the best candidate
    validation_errors: dict[str, float]  # of every candidate


def fit_best(candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """`fit` the candidate with the lowest validation error into `out`; of equal ones the cheaper, which comes first."""
    if len(candidates) == 1:
        return fit(candidates[0].task(), data, out, options)
    selection = read_selection(out)
    if (out / RUN_FILE).exists():
        name = selection["selected"] if selection else ""
        best = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
        measurements = fit(best.task(), data, out, share_budget(best, candidates, options) if selection else options)
    else:
        measurements = train_candidates(candidates, data, out, options)
    if measurements:
        for candidate in candidates:
            shutil.rmtree(candidate_folder(out, candidate), ignore_errors=True)
        measurements = {**measurements, "selection": read_selection(out)}
    return measurements


def train_candidates(candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, Any]:
    """Train every candidate, and rename the run of the best to `out`."""
    for candidate in candidates:
        check_run(candidate_folder(out, candidate))
    results = []
    for candidate in candidates:
        say(f"trying {candidate.name}")
        task = candidate.task()
        results.append((candidate, task.monitor, fit(task, data, candidate_folder(out, candidate), share_budget(candidate, candidates, options))))
    if not results[0][2]:  # only rank 0 has measurements
        return {}
    errors = {candidate.name: measurements[monitor]["value"] for candidate, monitor, measurements in results}
    best, _, measurements = min(results, key=lambda result: errors[result[0].name])
    write_json(candidate_folder(out, best) / SELECTION_FILE, {"selected": best.name, "validation_errors": errors})
    with os_errors_as_sentences(out):
        check_run(out)
        if out.is_dir() and not (out / RUN_FILE).exists():
            shutil.rmtree(out)  # empty but for what a killed process left
        candidate_folder(out, best).rename(out)
    error_list = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    say(f"error on {len(data.validation)} validation examples: {error_list}; {best.name} is kept")
    return measurements


def share_budget(candidate: Candidate, candidates: Sequence[Candidate], options: TrainingOptions) -> TrainingOptions:
    """The candidate's share of the budget, which is for all of them together."""
    if options.budget is None:
        return options
    share = candidate.cost / sum(other.cost for other in candidates)
    return replace(options, budget=f"{options.budget_seconds * share:.3f}s")


def candidate_folder(out: Path, candidate: Candidate) -> Path:
    return out.with_name(f"{out.name}-{candidate.name}")


def read_selection(run: Path) -> Selection | None:
    """Which candidate a run was selected from; None if there was only one."""
    path = run / SELECTION_FILE
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text("utf-8"))
        return {"selected": values["selected"], "validation_errors": dict(values["validation_errors"])}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(f"{path} does not name the selected candidate ({error}); delete {run} to start again") from None


def build_task(candidate: TuningCandidate, source: str | Path, train: list[Example], metric: str) -> Supervised:
    """The candidate's task, with the encoder of the run `source`."""
    run = load(source)
    settings, transfer, vectors = {**candidate.task_class.settings_from(train), "metric": metric}, candidate.transfer, None
    if transfer.insert != "head":
        settings, transfer, vectors = add_words(settings, transfer, train, run.tokenizer)
    task: Supervised = candidate.task_class(run.model, run.tokenizer, transfer, **settings)
    task.word_vectors = vectors
    return task


def add_words(
    settings: dict[str, Any], transfer: TransferOptions, train: list[Example], tokenizer: Tokenizer
) -> tuple[dict[str, Any], TransferOptions, np.ndarray | None]:
    """The settings with the words of the examples, for a BiLSTM over words, and the vectors it starts from if they come from a run."""
    words = sorted({tokenizer.token(i) for ids in tokenizer.encode_batch(unique_texts(train)) for i in ids})
    settings = {**settings, "words": words}
    if transfer.word_vectors is None:
        return settings, transfer, None
    source = load(transfer.word_vectors)
    if not isinstance(source, WordVectors):
        advice = "which has no static word vectors; give a run of cbow, skipgram or glove"
        raise BadInput(f"--word-vectors {transfer.word_vectors} is a run of {source.model_name}, {advice}")
    own = source.tokenizer
    ids = [own.id(word) for word in ("", *words)]
    ids = [own.id(word.lower()) if i == own.unknown else i for i, word in zip(ids, ("", *words), strict=True)]
    vectors = source.rows(np.array(ids)) * (np.array(ids) != own.unknown)[:, None]
    return settings, replace(transfer, word_width=vectors.shape[1]), vectors.astype(np.float32)


def adapt(source: Task, data: LabelledSplits, out: Path, options: TrainingOptions, epochs: float) -> Task | None:
    """The task after some more pretraining on the texts of the examples, saved beside `out`; None on all ranks but rank 0."""
    folder = adapted_folder(out)
    check_run(folder)
    changes: dict[str, Any] = {"epochs": epochs, "steps": None, "budget": None, "learning_rate": None, "patience": 0}
    measurements = fit(adaptation_task(source), data, folder, replace(options, **changes))
    return load(folder) if measurements else None


def adapted_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}-adapted")
