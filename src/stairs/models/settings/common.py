"""What the settings of all models share. Nothing in this folder imports torch, so that `--help` answers at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stairs.errors import BadInput

LARGEST = 1 << 20
Values = dict[str, Any]
Range = tuple[float, float]


def bounds(*positive: str, **others: Range) -> Mapping[str, Range]:
    """The lowest and the highest value of fields of a config; of those that are only named, 1 and `LARGEST`."""
    return {**dict.fromkeys(positive, (1, LARGEST)), **others}


@dataclass(frozen=True)
class ModelConfig:
    """What the settings of all models share."""

    vocab_size: int  # number of ids of the tokenizer
    ranges: ClassVar[Mapping[str, Range]] = {}  # made by `bounds`; None is always allowed

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadInput(f"{name} {value} is not between {low} and {high}")

    @classmethod
    def complete(cls, given: Values) -> Values:
        """These settings, with what follows from them for others that were not given."""
        return given

    @property
    def context(self) -> int:
        """Tokens of a row; 0 for any number."""
        return 0

    @property
    def reads_beyond_context(self) -> bool:
        """Whether a text may be longer than the context, although none was in training."""
        return False

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
    tokenizer: str | None = None  # kind of tokenizer unless another is given; None: `stairs train` does not train it
    min_count: int = 1  # words seen less often are unknown
    is_climbed_by_default: bool = True  # part of a climb for which no models were named

