"""The settings, sizes and default training of the n-gram model."""

from dataclasses import dataclass

from stairs.errors import BadInput
from stairs.models.settings.common import ModelConfig, ModelSettings, bounds


@dataclass(frozen=True)
class NGramConfig(ModelConfig):
    begin: int = 2  # the id before every sentence
    end: int = 3  # the id after every sentence
    unknown: int = 1  # the id of a word outside the vocabulary
    order: int = 3  # n, the order of the n-grams: words of context plus the predicted one
    prune: tuple[int, ...] = (0,)  # prune n-grams that occur no more often than this: a number for each order, the last for all longer ones
    impossible_ids: tuple[int, ...] = (0, 2, 4)  # ids that never occur in a text: padding, begin, mask
    ranges = bounds(order=(1, 32))

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.prune) != sorted(self.prune) or not self.prune or self.prune[0] != 0:
            thresholds = " ".join(map(str, self.prune))
            raise BadInput(f"prune {thresholds} must start with 0, since words are never pruned, and not decrease, as in --prune 0 0 1")

SETTINGS = ModelSettings(
    config=NGramConfig,
    model="stairs.models.ngram:NGram",
    tokenizer="words",
    sizes={
        "mini": {},
        "small": {"order": 4},
        "base": {"order": 5},
        "paper": {"order": 5},
    },
)
