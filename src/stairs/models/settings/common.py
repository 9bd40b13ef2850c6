"""What the settings of all models share. Nothing in this folder imports torch, so that `--help` answers at once."""

from dataclasses import dataclass, field
from typing import Any

from stairs.errors import BadInput

LARGEST = 1 << 20
Values = dict[str, Any]


@dataclass(frozen=True)
class ModelConfig:
    """What the settings of all models share."""

    vocab_size: int  # number of ids of the tokenizer

    @property
    def context(self) -> int:
        """Tokens of a row; 0 for any number."""
        return 0

    @property
    def width(self) -> int:
        """Of a token's vector; 0 without one."""
        return 0

    @property
    def layers(self) -> int:
        return 0


@dataclass(frozen=True)
class ModelSettings:
    """What is known of a model before it is imported."""

    config: type[ModelConfig]
    model: str  # where its class is, as module:class
    sizes: dict[str, Values]  # named sets of config values; mini is the config's defaults
    training: dict[str, Values] = field(default_factory=dict)  # training options of a size that the usual ones do not fit
    tokenizer: str | None = None  # kind of tokenizer unless another is given; None: it can only be adopted
    min_count: int = 1  # words seen less often are unknown


def check_range(config: ModelConfig, name: str, low: float, high: float) -> None:
    value = getattr(config, name)
    if not low <= value <= high:
        raise BadInput(f"{name} {value} is not between {low} and {high}")
