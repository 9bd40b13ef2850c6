"""What `stairs tune` trains on top of a run: some more pretraining on the texts of the examples, a task with a new head, and the best of several.

What is worth trying. Few examples are often learnt better by a head on frozen features than by training all weights, and nobody knows beforehand;
many are learnt better by training all weights. Scores of pairs are learnt through the cosine of two vectors, which a sentence encoder was made for,
or by reading both texts at once; an encoder whose cosine does not follow the scores yet tries both.

With `--sweep` each of these is tried with every combination of `grid.py`.

With several candidates each is a run beside OUT, OUT-CANDIDATE, trained and resumed by `fit` as any other. The best on the validation examples is
then renamed OUT, with selection.json in it, and the others are deleted. Wherever a process is killed, the same command continues and ends with the
same bits.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast

from stairs.errors import BadInput
from stairs.files import os_errors_as_sentences, write_json
from stairs.models.base import Model
from stairs.models.transfer_options import TransferMode, TransferOptions
from stairs.progress import say
from stairs.tasks.baselines import cosine_correlation
from stairs.tasks.bi_encoder import BiEncoder
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.measurements import interval
from stairs.tasks.parts.adapt import adaptation_task, unique_texts
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task
from stairs.text.examples import Example, TextPair
from stairs.training.fit import fit
from stairs.training.grid import GridPoint, GridResult, grid_points, has_time, point_name
from stairs.training.new_encoder import initial_word_vectors
from stairs.training.options import TrainingOptions
from stairs.training.run import RUN_FILE, check_run, load

SELECTION_FILE = "selection.json"
Head = Literal["auto", "bi-encoder", "cross-encoder"]
FEW_EXAMPLES = 1000  # below which features are tried as well
GOOD_COSINE = 0.5  # Spearman's correlation of untuned cosines with scores, from which on a cross-encoder is not tried


@dataclass(frozen=True)
class Candidate:
    name: str
    cost: int  # in shares of a budget
    task: Callable[[], Supervised]  # makes a new one, with the pretrained encoder
    point: GridPoint | None = None  # of a sweep


class Selection(TypedDict):
    """selection.json."""

    selected: str  # name of the best candidate
    validation_errors: dict[str, float]  # of every candidate
    sweep: NotRequired[dict[str, GridResult]]  # of every candidate of a sweep that there was time for
    untried: NotRequired[list[str]]  # the others


def fit_best(candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, object]:
    """`fit` the candidate with the lowest validation error into `out`; of equal ones the cheaper, which comes first."""
    if len(candidates) == 1:
        return fit(candidates[0].task(), data, out, options)
    selection = read_selection(out)
    if (out / RUN_FILE).exists():
        name = selection["selected"] if selection else ""
        best = next((candidate for candidate in candidates if candidate.name == name), candidates[-1])
        measurements = fit(best.task(), data, out, candidate_options(best, candidates, options) if selection else options)
    else:
        measurements = train_candidates(candidates, data, out, options)
    if measurements:
        for candidate in candidates:
            shutil.rmtree(candidate_folder(out, candidate), ignore_errors=True)
        measurements = {**measurements, "selection": read_selection(out)}
    return measurements


def train_candidates(candidates: Sequence[Candidate], data: LabelledSplits, out: Path, options: TrainingOptions) -> dict[str, object]:
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
        results.append((candidate, task.monitor, fit(task, data, folder, candidate_options(candidate, candidates, options))))
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
        sweep = {"sweep": dict(values["sweep"]), "untried": list(values["untried"])} if "sweep" in values else {}
        return cast(Selection, {"selected": values["selected"], "validation_errors": dict(values["validation_errors"]), **sweep})
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(f"{path} does not name the selected candidate ({error}); delete {run} to start again") from None


@dataclass(frozen=True)
class TuningCandidate:
    """A task, and how much of the encoder is trained."""

    task_class: type[Supervised]
    transfer: TransferOptions

    @property
    def name(self) -> str:
        return f"{self.transfer.transfer}-{self.task_class.name}" if self.task_class is BiEncoder else self.transfer.transfer

    @property
    def cost(self) -> int:
        """In shares of a budget."""
        return 3 if self.transfer.trains_encoder else 1


def tuning_candidates(
    task_class: type[Task], source: Task, train: Sequence[Example], validation: Sequence[Example], transfer: TransferOptions, head: Head,
    starts_from_run: bool,
) -> list[TuningCandidate]:  # fmt: skip
    """What the options name, or what is worth trying. `starts_from_run`: training starts from a head that was trained before (--init-from)."""
    if task_class is not Compare and head != "auto":
        raise BadInput(f"--head {head} is for scores of pairs, and these are examples for {task_class.example_kind}; leave it out")
    assert issubclass(task_class, Supervised)
    if transfer.both_orders and head == "bi-encoder":
        raise BadInput("--both-orders reads two texts in one row, and --head bi-encoder each alone; give one of the two")
    task_classes: list[type[Supervised]] = [task_class]
    if task_class is Compare and not transfer.both_orders:
        pairs = cast(Sequence[TextPair], train), cast(Sequence[TextPair], validation)
        task_classes = compare_classes(source, *pairs, head, is_pretrained=transfer.transfer != "scratch")
    candidates = []
    for own in task_classes:
        for options in transfers(own, transfer, train, starts_from_run):
            candidates.append(TuningCandidate(own, with_sentence_pooling(options, source) if own is BiEncoder else options))
    return candidates


def transfers(task_class: type[Supervised], transfer: TransferOptions, train: Sequence[Example], starts_from_run: bool) -> list[TransferOptions]:
    if transfer.transfer != "auto":
        return [transfer]
    if transfer.whiten:
        return [replace(transfer, transfer="features")]
    is_cheap = len(train) < FEW_EXAMPLES or task_class is BiEncoder  # the cosine of the untuned encoder costs next to nothing
    trains_encoder = transfer.structural_positions or transfer.both_orders
    tries_features = transfer.insert == "head" and not starts_from_run and is_cheap and not trains_encoder
    modes: tuple[TransferMode, ...] = ("features", "full") if tries_features else ("full",)
    return [replace(transfer, transfer=mode) for mode in modes]


def compare_classes(
    source: Task, train: Sequence[TextPair], validation: Sequence[TextPair], head: Head, is_pretrained: bool
) -> list[type[Supervised]]:
    """The tasks that can learn pairs."""
    if train[0].score is None or head != "auto":
        return [BiEncoder if head == "bi-encoder" else Compare]
    if not is_pretrained:
        return [BiEncoder, Compare]
    if isinstance(source, Encode):
        say("--head auto: a sentence encoder learns scores through its cosine")
        return [BiEncoder]
    correlation = cosine_correlation(source, validation)["value"]
    is_good = correlation >= GOOD_COSINE
    decision = "the cosine is tuned" if is_good else "both heads are tried"
    say(f"--head auto: the untuned cosine has a rank correlation of {correlation:.3f} with the scores, so {decision}")
    return [BiEncoder] if is_good else [BiEncoder, Compare]


def with_sentence_pooling(transfer: TransferOptions, source: Task) -> TransferOptions:
    """The pooling and length of a sentence encoder, unless the options name others."""
    if not isinstance(source, Encode):
        return transfer
    return replace(transfer, pooling=transfer.pooling or source.pooling, max_length=transfer.max_length or source.max_length)


def build_task(candidate: TuningCandidate, load_source: Callable[[], Task], train: list[Example], metric: str) -> Supervised:
    """The candidate's task, with the encoder of a run."""
    run = load_source()
    if candidate.transfer.insert == "head":
        return candidate.task_class.for_examples(train, run, candidate.transfer, metric=metric)
    words = sorted({run.tokenizer.token(i) for ids in run.tokenizer.encode_batch(unique_texts(train)) for i in ids})
    vectors = None if candidate.transfer.word_vectors is None else initial_word_vectors(candidate.transfer.word_vectors, words)
    transfer = candidate.transfer if vectors is None else replace(candidate.transfer, word_width=vectors.shape[1])
    task = candidate.task_class.for_examples(train, run, transfer, metric=metric, words=words)
    task.word_vectors = vectors
    return task


def adapt(source: Task, data: LabelledSplits, out: Path, options: TrainingOptions, epochs: float) -> Task | None:
    """The task after some more pretraining on the texts of the examples, saved beside `out`; None on all ranks but rank 0."""
    folder = adapted_folder(out)
    check_run(folder)
    own = replace(options, epochs=epochs, steps=None, budget=None, learning_rate=None, patience=0)
    measurements = fit(adaptation_task(source), data, folder, own)
    return load(folder) if measurements else None


def adapted_folder(out: Path) -> Path:
    return out.with_name(f"{out.name}-adapted")


def sweep_candidates(
    ways: Sequence[TuningCandidate], model: Model, options: TrainingOptions, new_task: Callable[[TuningCandidate], Supervised]
) -> list[Candidate]:
    """Every combination of the grid with every way to learn."""
    columns = [[(way, point) for point in grid_points(options, model, way.transfer)] for way in ways]
    pairs = [pair for row in zip(*columns, strict=True) for pair in row]
    return [Candidate(f"{way.name}-{point_name(point)}", way.cost, partial(new_task, way), point) for way, point in pairs]
