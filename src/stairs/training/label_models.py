"""What can be asked of a model that learns from labelled examples alone. Free of torch, so that nonsense is refused at once."""

from collections.abc import Callable, Mapping
from dataclasses import fields

from stairs.errors import BadInput
from stairs.models.settings import CONFIGS, FROM_TOKENIZER, LABEL_MODELS, SIZES, ModelConfig
from stairs.models.transfer_options import TransferMode


def settings_of(model: str) -> list[str]:
    """The settings that its config leaves to whoever trains it."""
    return [own.name for own in fields(CONFIGS[model]) if own.name not in FROM_TOKENIZER]


def check_source(run: str, transfer: TransferMode, adapt: float, size: str | None, settings: Mapping[str, object]) -> None:
    """Refuse what an encoder without pretraining cannot do, and what only that can."""
    if transfer == "scratch" and adapt:
        raise BadInput("--adapt continues the pretraining that --transfer scratch leaves out; give one of the two")
    if run not in LABEL_MODELS:
        if size is not None:
            raise BadInput(f"--size {size} is for models that learn from labels alone ({', '.join(LABEL_MODELS)}); a run has its size: leave it out")
        return
    if transfer not in ("auto", "scratch"):
        raise BadInput(f"--transfer {transfer} needs a pretrained encoder, and {run} learns all of it from the labels; leave it out")
    if adapt:
        raise BadInput(f"--adapt continues the pretraining of a run, and {run} has none: it learns from the labels alone; leave it out")
    if size not in (None, *SIZES[run]):
        raise BadInput(f"{run} has no size {size}; it has {', '.join(SIZES[run])}")
    kind: Callable[..., ModelConfig] = CONFIGS[run]
    kind(vocab_size=0, **{**SIZES[run][size or "mini"], **settings})
