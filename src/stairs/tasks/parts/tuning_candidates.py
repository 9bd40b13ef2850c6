"""Which ways to learn a task are worth trying, cheapest first. `training/tuning.py` trains them and keeps what does best on validation examples.

Few examples are often learnt better by a head on vectors that stay as they are than by all weights, and nobody knows beforehand; many are learnt
better by all weights. Scores of pairs are learnt through the cosine of two vectors, which a sentence encoder was made for, or by reading both texts
at once; an encoder whose cosine says nothing yet tries both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from stairs.errors import BadInput
from stairs.models.transfer_options import TransferOptions
from stairs.progress import say
from stairs.tasks.baseline_comparison import cosine_correlation
from stairs.tasks.bi_encoder import BiEncoder
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.parts.supervised import Supervised

Head = Literal["auto", "bi-encoder", "cross-encoder"]
FEW_EXAMPLES = 1000  # examples, below which features are tried as well
GOOD_COSINE = 0.5  # Spearman's correlation of untuned cosines with scores, from which on reading both texts at once is not tried


@dataclass(frozen=True)
class TuningCandidate:
    """One of them: a task and how much of the encoder learns."""

    task_class: Any  # a class of Supervised
    transfer: TransferOptions

    @property
    def name(self) -> str:
        return f"{self.transfer.transfer}-{self.task_class.name}" if self.task_class is BiEncoder else self.transfer.transfer

    @property
    def cost(self) -> int:
        """In shares of a budget."""
        return 3 if self.transfer.trains_encoder else 1


def tuning_candidates(kind: Any, source: Any, train: Sequence[Any], validation: Sequence[Any], transfer: TransferOptions, head: Head,
    forked: bool) -> list[TuningCandidate]:
    """What was asked for, or what is worth trying."""
    kinds = [kind] if kind is not Compare else task_classes(source, train, validation, head)
    if kind is not Compare and head != "auto":
        raise BadInput(f"--head {head} is for scores of pairs, and these are examples for {kind.example_kind}; leave it out")
    found = [(own, way) for own in kinds for way in transfers(own, transfer, train, forked)]
    return [TuningCandidate(own, with_sentence_vectors(way, source) if own is BiEncoder else way) for own, way in found]


def transfers(kind: Any, transfer: TransferOptions, train: Sequence[Any], forked: bool) -> list[TransferOptions]:
    if transfer.transfer != "auto":
        return [transfer]
    if transfer.whiten:
        return [replace(transfer, transfer="features")]
    # the cosine as it is costs next to nothing
    several = transfer.insert == "head" and not forked and (len(train) < FEW_EXAMPLES or kind is BiEncoder)
    return [replace(transfer, transfer=way) for way in (("features", "full") if several else ("full",))]


def task_classes(source: Any, train: Sequence[Any], validation: Sequence[Any], head: Head) -> list[type[Supervised]]:
    scores = train[0].score is not None
    if not scores or head != "auto":
        return [BiEncoder if head == "bi-encoder" else Compare]
    if isinstance(source, Encode):
        say("--head auto: a sentence encoder learns scores through its cosine")
        return [BiEncoder]
    untuned = cosine_correlation(source, validation)["value"]
    good = untuned >= GOOD_COSINE
    say(f"--head auto: its cosine has a rank correlation of {untuned:.3f} untuned, so {'that learns' if good else 'both heads are tried'}")
    return [BiEncoder] if good else [BiEncoder, Compare]


def with_sentence_vectors(transfer: TransferOptions, source: Any) -> TransferOptions:
    """The vector of a text as the sentence encoder makes it, unless something else was asked for."""
    if not isinstance(source, Encode):
        return transfer
    return replace(transfer, pooling=transfer.pooling or source.pooling, max_length=transfer.max_length or source.max_length)
