"""What is worth trying to learn a task, cheapest first. `training/tuning.py` trains the candidates and keeps the best on validation examples.

Few examples are often learnt better by a head on frozen features than by training all weights, and nobody knows beforehand; many are learnt better by
training all weights. Scores of pairs are learnt through the cosine of two vectors, which a sentence encoder was made for, or by reading both texts at
once; an encoder whose cosine does not follow the scores yet tries both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferMode, TransferOptions
from stairs.progress import say
from stairs.tasks.baselines import cosine_correlation
from stairs.tasks.bi_encoder import BiEncoder
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.task import Task

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
    task_class: type[Task], source: Task, train: Sequence[Any], validation: Sequence[Any], transfer: TransferOptions, head: Head,
    starts_from_run: bool,
) -> list[TuningCandidate]:  # fmt: skip
    """What the options name, or what is worth trying. `starts_from_run`: training starts from a head that was trained before (--init-from)."""
    if task_class is not Compare and head != "auto":
        raise BadInput(f"--head {head} is for scores of pairs, and these are examples for {task_class.example_kind}; leave it out")
    assert issubclass(task_class, Supervised)
    task_classes = compare_classes(source, train, validation, head) if task_class is Compare else [task_class]
    candidates = []
    for own in task_classes:
        for options in transfers(own, transfer, train, starts_from_run):
            candidates.append(TuningCandidate(own, with_sentence_pooling(options, source) if own is BiEncoder else options))
    return candidates


def transfers(task_class: type[Supervised], transfer: TransferOptions, train: Sequence[Any], starts_from_run: bool) -> list[TransferOptions]:
    if transfer.transfer != "auto":
        return [transfer]
    if transfer.whiten:
        return [replace(transfer, transfer="features")]
    is_cheap = len(train) < FEW_EXAMPLES or task_class is BiEncoder  # the cosine of the untuned encoder costs next to nothing
    tries_features = transfer.insert == "head" and not starts_from_run and is_cheap
    modes: tuple[TransferMode, ...] = ("features", "full") if tries_features else ("full",)
    return [replace(transfer, transfer=mode) for mode in modes]


def compare_classes(source: Task, train: Sequence[Any], validation: Sequence[Any], head: Head) -> list[type[Supervised]]:
    """The tasks that can learn pairs."""
    if train[0].score is None or head != "auto":
        return [BiEncoder if head == "bi-encoder" else Compare]
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
