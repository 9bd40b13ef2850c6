"""What `stairs tune` trains on top of a run: some more pretraining on the texts of the examples, a task with a new head, and the best of several.

What is worth trying. Few examples are often learnt better by a head on frozen features than by training all weights, and nobody knows beforehand;
many are learnt better by training all weights. Scores of pairs are learnt through the cosine of two vectors, which a sentence encoder was made for,
or by reading both texts at once; an encoder whose cosine does not follow the scores yet tries both.

With `--sweep` each of these is tried with every combination of `grid.py`. `selection.py` trains them and keeps the best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from stairs.errors import BadInput
from stairs.models.base import Model
from stairs.models.transfer_options import TransferMode, TransferOptions
from stairs.progress import say
from stairs.tasks.baselines import cosine_correlation
from stairs.tasks.bi_encoder import BiEncoder
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.parts.adapt import adaptation_task, known_words
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task
from stairs.text.examples import Example, TextPair
from stairs.training.fit import fit
from stairs.training.grid import grid_points, point_name
from stairs.training.new_encoder import initial_word_vectors
from stairs.training.options import TrainingOptions
from stairs.training.run import check_run, load
from stairs.training.selection import Candidate

Head = Literal["auto", "bi-encoder", "cross-encoder"]
FEW_EXAMPLES = 1000  # below which features are tried as well
GOOD_COSINE = 0.5  # Spearman's correlation of untuned cosines with scores, from which on a cross-encoder is not tried


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
    words = known_words(train, run.tokenizer)
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
